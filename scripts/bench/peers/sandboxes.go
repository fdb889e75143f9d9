package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// bareName counts the processes of bareJobs, which have cgroups of these names.
var bareName atomic.Int64

// bareJobs does what the kernel needs at least: a process in namespaces and cgroups of its own, and its end. The
// process reads until its input ends, so that it is in its cgroups before it does anything.
func bareJobs(clients, jobs int) func(context.Context) (figures, error) {
	return func(ctx context.Context) (figures, error) {
		return timed(ctx, clients, jobs, 2*clients, func(ctx context.Context, _ int) error { return bare(ctx) })
	}
}

func bare(ctx context.Context) (err error) {
	made, err := cgroupsFor(fmt.Sprintf("drover-bare-%d-%d", os.Getpid(), bareName.Add(1)))
	defer func() { err = errors.Join(err, removeAll(made)) }()
	if err != nil {
		return err
	}
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 100_000, Size: 65_536}}
	cmd := exec.CommandContext(ctx, "/bin/cat")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		UidMappings: ids, GidMappings: ids, GidMappingsEnableSetgroups: true, Credential: &syscall.Credential{},
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	for _, at := range made {
		err = errors.Join(err, os.WriteFile(filepath.Join(at, "cgroup.procs"), []byte(strconv.Itoa(cmd.Process.Pid)), 0))
	}
	return errors.Join(err, in.Close(), cmd.Wait())
}

// judgeJobs has a go-judge of its own run a command for each request of its HTTP API.
func judgeJobs(program string, clients, jobs int, args []string) func(context.Context) (figures, error) {
	return func(ctx context.Context) (f figures, err error) {
		j, err := startJudge(ctx, program)
		if err != nil {
			return f, err
		}
		defer func() { err = errors.Join(err, j.stop()) }()
		body, err := json.Marshal(map[string]any{"cmd": []any{map[string]any{
			"args": args, "env": []string{"PATH=/usr/bin:/bin"},
			"files":    []any{map[string]any{"content": ""}, map[string]any{"name": "stdout", "max": limitOutput}, map[string]any{"name": "stderr", "max": limitOutput}},
			"cpuLimit": limitTime.Nanoseconds(), "clockLimit": limitTime.Nanoseconds(), "memoryLimit": limitMemory, "procLimit": limitPids,
		}}})
		if err != nil {
			return f, err
		}
		return timed(ctx, clients, jobs, 2*clients, func(ctx context.Context, _ int) error { return j.run(ctx, body) })
	}
}

// judge is a running go-judge.
type judge struct {
	cmd    *exec.Cmd
	url    string
	dir    string
	prefix string // of its cgroups
	client http.Client
	said   bytes.Buffer
}

// judgeWorkers is how many runs it does at once: as many as drover has slots.
const judgeWorkers = "8"

func startJudge(ctx context.Context, program string) (*judge, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	j := &judge{url: "http://" + l.Addr().String() + "/", prefix: fmt.Sprintf("drover-judge-%d", os.Getpid())}
	j.client.Transport = &http.Transport{MaxIdleConnsPerHost: 64}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	if j.dir, err = os.MkdirTemp("", "drover-judge-"); err != nil {
		return nil, err
	}
	j.cmd = exec.CommandContext(ctx, program, "-http-addr", address, "-parallelism", judgeWorkers, "-pre-fork", judgeWorkers,
		"-cgroup-prefix", j.prefix, "-dir", filepath.Join(j.dir, "files"), "-release", "-silent")
	j.cmd.Dir, j.cmd.Stdout, j.cmd.Stderr = j.dir, &j.said, &j.said
	j.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := j.cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(j.dir))
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if err = j.ask(ctx, http.MethodGet, "version", nil, io.Discard); err == nil {
			return j, nil
		}
		if time.Since(began) > 30*time.Second || ctx.Err() != nil {
			err = errors.Join(err, j.stop())
			return nil, fmt.Errorf("go-judge does not answer: %w: %s", err, j.said.Bytes())
		}
	}
}

func (j *judge) ask(ctx context.Context, method, path string, body []byte, into io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, method, j.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := j.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(into, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	return nil
}

// run sends one request, whose command must end well.
func (j *judge) run(ctx context.Context, body []byte) error {
	var out bytes.Buffer
	if err := j.ask(ctx, http.MethodPost, "run", body, &out); err != nil {
		return fmt.Errorf("%w: %s", err, out.Bytes())
	}
	var results []struct {
		Status string `json:"status"`
	}
	if err := json.Unmarshal(out.Bytes(), &results); err != nil || len(results) != 1 || results[0].Status != "Accepted" {
		return fmt.Errorf("go-judge says %s", out.Bytes())
	}
	return nil
}

// stop ends it and removes what it leaves: its cgroups.
func (j *judge) stop() error {
	j.client.CloseIdleConnections()
	_ = j.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	_ = j.cmd.Wait()                          // by the signal
	var left []string
	for _, pattern := range []string{"/sys/fs/cgroup/" + j.prefix, "/sys/fs/cgroup/*/" + j.prefix} {
		tops, _ := filepath.Glob(pattern) // the pattern is good
		for _, top := range tops {
			inner, _ := filepath.Glob(filepath.Join(top, "*", "*"))
			outer, _ := filepath.Glob(filepath.Join(top, "*"))
			left = append(left, folders(append(append(inner, outer...), top))...)
		}
	}
	return errors.Join(removeAll(left), os.RemoveAll(j.dir))
}

// folders are those of the paths that are folders, each once: some hierarchies have two names.
func folders(paths []string) (all []string) {
	for _, at := range paths {
		if info, err := os.Stat(at); err == nil && info.IsDir() {
			if real, err := filepath.EvalSymlinks(at); err == nil && real == at {
				all = append(all, at)
			}
		}
	}
	return all
}
