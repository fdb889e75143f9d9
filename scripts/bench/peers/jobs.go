package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// What each job has around it.
const (
	ofDrover = "fresh VM; all namespaces, cgroups, seccomp, own users; queue and result on disk"
	ofJudge  = "reused container, emptied; all namespaces, fresh cgroup, rlimits; no queue"
	ofBwrap  = "fresh sandbox; all namespaces, read-only mounts; no limits; no queue"
	ofBare   = "fresh process; all namespaces but cgroup, two cgroups; no mounts; no queue"
)

// The limits of every job, where a system has such: those of a pool of drover's that nobody has set.
const (
	limitTime   = 10 * time.Second
	limitMemory = 256 << 20
	limitPids   = 64
	limitOutput = 1 << 20
)

// wholeJobs are the systems that run jobs, each with 1, 4 and 16 clients. Ratios are between the same numbers of
// clients.
func wholeJobs(drover string, jobs int, judge string) comparison {
	c := comparison{rivals: []string{"go-judge", "bare"}, last: []extra{{"processor ms/job", "%.1f", func(f figures) float64 { return f.CPUMillis }}}}
	root := os.Geteuid() == 0
	bwrap, missing := exec.LookPath("bwrap")
	switch {
	case judge == "":
		left("go-judge", "its program was not named")
	case !root:
		left("go-judge and the bare sequence", "they need root")
	}
	if missing != nil {
		left("bubblewrap", "there is no bwrap on this machine: apt-get install bubblewrap")
	}
	for _, n := range []int{1, 4, 16} {
		at := fmt.Sprintf(", %d at once", n)
		rivals := map[string]string{"go-judge": "go-judge, true" + at, "bare": "bare, true" + at}
		add := func(name, isolation string, run func(context.Context) (figures, error)) {
			c.systems = append(c.systems, system{name: name + at, isolation: isolation, rivals: rivals, run: run})
		}
		add("drover, true", ofDrover, droverJobs(drover, "true", n, jobs))
		if judge != "" && root {
			add("go-judge, true", ofJudge, judgeJobs(judge, n, jobs, []string{"/bin/true"}))
		}
		if missing == nil {
			add("bubblewrap, true", ofBwrap, bwrapJobs(bwrap, n, jobs))
		}
		if root {
			add("bare, true", ofBare, bareJobs(n, jobs))
		}
	}
	return c
}

func left(what, why string) { fmt.Fprintf(os.Stderr, "peers: %s: left out, %s\n", what, why) }

// droverJobs runs drover-lab bench jobs on a cluster of its own.
func droverJobs(program, kind string, atOnce, jobs int) func(context.Context) (figures, error) {
	return func(ctx context.Context) (figures, error) {
		cmd := exec.CommandContext(ctx, program, "bench", "jobs", "--own", "--json", "--only", kind, "--at-once", strconv.Itoa(atOnce), "--jobs", strconv.Itoa(jobs))
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		out, err := cmd.Output()
		if err != nil {
			return figures{}, errors.Join(err, said(err))
		}
		var r struct {
			Runs []struct {
				figures
				Total struct {
					Sum float64 `json:"ms"`
				} `json:"total"`
			} `json:"runs"`
		}
		if err := json.Unmarshal(out, &r); err != nil || len(r.Runs) != 1 {
			return figures{}, errors.Join(err, errors.New("drover did not say what it found"))
		}
		r.Runs[0].CPUMillis = r.Runs[0].Total.Sum
		return r.Runs[0].figures, nil
	}
}

// timed runs n jobs by so many clients, after some that are not counted.
func timed(ctx context.Context, clients, n, before int, job func(ctx context.Context, client int) error) (figures, error) {
	run := func(n int) error {
		var next atomic.Int64
		var all sync.WaitGroup
		errs := make([]error, clients)
		for client := range clients {
			all.Go(func() {
				for errs[client] == nil && int(next.Add(1)) <= n {
					errs[client] = job(ctx, client)
				}
			})
		}
		all.Wait()
		return errors.Join(errs...)
	}
	if err := run(before); err != nil {
		return figures{}, err
	}
	began := time.Now()
	err := run(n)
	return figures{JobsPerS: float64(n) / time.Since(began).Seconds()}, err
}

// bwrapJobs has shells start sandboxes in a loop, each shell its part of them.
func bwrapJobs(bwrap string, loops, jobs int) func(context.Context) (figures, error) {
	const script = `i=0
while [ $((i += 1)) -le "$2" ]; do
	"$1" --unshare-all --die-with-parent --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 \
		--proc /proc --dev /dev --tmpfs /tmp --tmpfs /home --chdir /tmp -- /bin/true || exit
done`
	return func(ctx context.Context) (figures, error) {
		each := (jobs + loops - 1) / loops
		loop := func(n int) func(context.Context, int) error {
			return func(ctx context.Context, _ int) error {
				out, err := exec.CommandContext(ctx, "sh", "-c", script, "sh", bwrap, strconv.Itoa(n)).CombinedOutput()
				if err != nil {
					return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
				}
				return nil
			}
		}
		if err := loop(1)(ctx, 0); err != nil { // so that its files are where they are in a loop
			return figures{}, err
		}
		f, err := timed(ctx, loops, loops, 0, loop(each))
		f.JobsPerS *= float64(each)
		return f, err
	}
}

// cgroupsFor makes the cgroups of one job with its limits. It returns their folders, by which they are removed.
func cgroupsFor(name string) ([]string, error) {
	files := map[string]map[string]int{
		"/sys/fs/cgroup/memory": {"memory.limit_in_bytes": limitMemory},
		"/sys/fs/cgroup/pids":   {"pids.max": limitPids},
	}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		files = map[string]map[string]int{"/sys/fs/cgroup": {"memory.max": limitMemory, "pids.max": limitPids}}
	}
	var made []string
	for top, limits := range files {
		at := filepath.Join(top, name)
		if err := os.Mkdir(at, 0o755); err != nil {
			return made, err
		}
		made = append(made, at)
		for file, value := range limits {
			if err := os.WriteFile(filepath.Join(at, file), []byte(strconv.Itoa(value)), 0); err != nil {
				return made, err
			}
		}
	}
	return made, nil
}

func removeAll(folders []string) error {
	var errs []error
	for _, at := range folders {
		err := os.Remove(at)
		for began := time.Now(); err != nil && time.Since(began) < time.Second; err = os.Remove(at) {
			time.Sleep(time.Millisecond) // the kernel empties it soon
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
