package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"drover/core"
	"drover/core/service/clock"
)

// Process is the profile of a group whose machines are processes of the overseer's machine.
type Process struct {
	Command []string          `json:"command"`       // with {{instance}} and the like filled in, but not {{secret}}
	Dir     string            `json:"dir"`           // where records and logs are
	Env     map[string]string `json:"env,omitempty"` // beside PATH, HOME, TMPDIR, DROVER_INSTANCE and DROVER_JOIN_SECRET
}

const (
	// mark is the variable by which a machine's processes are found, though its record was not written in time.
	mark = "DROVER_MACHINE"
	// grace is how long a machine's process has to end by itself, and then at most to be killed.
	grace = 5 * time.Second
	// keepRecord is how long a machine that has ended is listed.
	keepRecord = 24 * time.Hour
	poll       = 20 * time.Millisecond
)

type processes struct {
	Process

	cluster, group string
	grace          time.Duration // that a machine's process has to end by itself
}

// record is what is kept of a machine, in a file.
type record struct {
	Token   string `json:"instance"`
	Group   string `json:"group"`
	Created int64  `json:"created_ms"`
	PID     int    `json:"pid,omitempty"`   // 0: it is being started
	Start   string `json:"start,omitempty"` // of the process, by the kernel's clock, and this boot
}

func (r record) foreign() string { return strconv.Itoa(r.PID) + "@" + r.Start }

func processProfile(g core.HostGroup) (processes, error) {
	p := processes{group: g.Name, grace: grace}
	if err := profile(g, &p.Process); err != nil {
		return p, err
	}
	if len(p.Command) == 0 || !filepath.IsAbs(p.Command[0]) || !filepath.IsAbs(p.Dir) {
		return p, wrong(g, "command must begin with the absolute path of a program, and dir must be an absolute path")
	}
	if strings.Contains(strings.Join(p.Command, " "), "{{secret}}") {
		return p, wrong(g, "a secret in the arguments of a process can be seen by all users: read it from DROVER_JOIN_SECRET")
	}
	return p, nil
}

func openProcess(cluster string, g core.HostGroup) (Provider, error) {
	p, err := processProfile(g)
	p.cluster = cluster
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (p processes) folder() string           { return filepath.Join(p.Dir, p.cluster) }
func (p processes) file(token string) string { return filepath.Join(p.folder(), token+".json") }
func (p processes) marked(token string) string {
	return mark + "=" + filepath.Join(p.folder(), token)
}

// locked does something while no other process does so for the token.
func (p processes) locked(ctx context.Context, token string, do func() error) error {
	if err := core.CheckName("instance", token); err != nil {
		return err
	}
	if err := os.MkdirAll(p.folder(), 0o700); err != nil {
		return core.Wrap(err, core.CodeUnavailable, token, "the folder %s cannot be made", p.folder())
	}
	lock := flock.New(filepath.Join(p.folder(), token+".lock"), flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, poll); err != nil {
		return core.Wrap(err, core.CodeUnavailable, token, "the lock of instance %s cannot be taken", token)
	}
	defer func() { _ = lock.Close() }()
	return do()
}

// Create implements Provider.
func (p processes) Create(ctx context.Context, o Order) (foreign string, err error) {
	err = p.locked(ctx, o.Token, func() error {
		r, is, err := p.read(o.Token)
		if err != nil {
			return err
		}
		if !is {
			r = record{Token: o.Token, Group: o.Group, Created: time.Now().UnixMilli()}
			if err := p.write(r); err != nil {
				return err
			}
		}
		if r.PID == 0 {
			if r, err = p.start(r, o); err != nil {
				return err
			}
		}
		foreign = r.foreign()
		return nil
	})
	return foreign, err
}

// start starts the process of a record, unless one is there that was started before the record could say so.
func (p processes) start(r record, o Order) (record, error) {
	if found, err := p.adopt(r); err != nil || found.PID > 0 {
		return found, err
	}
	line := slices.Clone(p.Command)
	for i := range line {
		line[i] = filled(line[i], p.cluster, o)
	}
	log, err := os.OpenFile(filepath.Join(p.folder(), o.Token+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return r, core.Wrap(err, core.CodeUnavailable, o.Token, "the log of instance %s cannot be written", o.Token)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(line[0], line[1:]...) //nolint:noctx // it outlives this call
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = []string{p.marked(o.Token), "DROVER_INSTANCE=" + o.Token, "DROVER_JOIN_SECRET=" + o.Secret}
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		if value, is := os.LookupEnv(name); is {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	for name, value := range p.Env {
		cmd.Env = append(cmd.Env, name+"="+filled(value, p.cluster, o))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return r, core.Wrap(err, core.CodeInvalid, o.Token, "the program %s of host group %s cannot be started", line[0], p.group)
	}
	go func() { _ = cmd.Wait() }() // what has ended is no child of ours any more
	r.PID, r.Start = cmd.Process.Pid, started(cmd.Process.Pid)
	return r, p.write(r)
}

// adopt completes the record of a machine that was being started when the overseer died. Without a PID, there is none.
func (p processes) adopt(r record) (record, error) {
	for _, pid := range p.members(r.Token) {
		if group, err := syscall.Getpgid(pid); err == nil && group == pid {
			r.PID, r.Start = pid, started(pid)
			return r, p.write(r)
		}
	}
	return r, nil
}

// members are the processes that were started for a token.
func (p processes) members(token string) (pids []int) {
	want := []byte(p.marked(token))
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ")) // of a process that ends, it is empty
		if err != nil || !slices.ContainsFunc(bytes.Split(env, []byte{0}), func(one []byte) bool { return bytes.Equal(one, want) }) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// started names the moment at which a process was started; "" if it is none, or has ended.
func started(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(" "))
	fields := strings.Fields(string(rest))
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	const state, start = 0, 19 // fields 3 and 22 of the line
	if err != nil || len(fields) <= start || fields[state] == "Z" || fields[state] == "X" {
		return ""
	}
	return strings.TrimSpace(string(boot)) + ":" + fields[start]
}

func (r record) alive() bool { return r.PID > 0 && r.Start != "" && started(r.PID) == r.Start }

// Terminate implements Provider.
func (p processes) Terminate(ctx context.Context, token, foreign string) error {
	return p.locked(ctx, token, func() error {
		r, is, err := p.read(token)
		if err == nil && is && r.PID == 0 {
			r, err = p.adopt(r)
		}
		if err != nil || !is || r.PID > 0 && foreign != "" && foreign != r.foreign() {
			return err
		}
		if r.PID == 0 { // it was never started, and must not be
			r.PID, r.Start = -1, "never"
			return p.write(r)
		}
		if r.alive() {
			_ = syscall.Kill(-r.PID, syscall.SIGTERM)
			p.await(ctx, r)
		}
		return p.kill(ctx, r)
	})
}

// kill ends a machine's process and all that it started, also what these start meanwhile.
func (p processes) kill(ctx context.Context, r record) error {
	for end := time.Now().Add(grace); ; {
		pids := p.members(r.Token)
		if len(pids) == 0 && !r.alive() {
			return nil
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err := clock.Sleep(ctx, clock.Real{}, poll); err != nil || time.Now().After(end) {
			return core.Errorf(core.CodeUnavailable, r.Token, "process %d of instance %s does not end", r.PID, r.Token)
		}
	}
}

// await returns once a machine's process has ended, or its time is over.
func (p processes) await(ctx context.Context, r record) {
	for end := time.Now().Add(p.grace); r.alive() && time.Now().Before(end) && clock.Sleep(ctx, clock.Real{}, poll) == nil; {
	}
}

// List implements Provider.
func (p processes) List(context.Context) ([]core.Machine, error) {
	files, err := filepath.Glob(filepath.Join(p.folder(), "*.json"))
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, p.group, "the folder %s cannot be read", p.folder())
	}
	var all []core.Machine
	for _, name := range files {
		r, is, err := p.read(strings.TrimSuffix(filepath.Base(name), ".json"))
		if err != nil {
			return nil, err
		}
		if !is {
			continue
		}
		if r.PID == 0 {
			if r, err = p.adopted(r); err != nil || r.PID == 0 {
				continue // being started, or never started
			}
		}
		m := core.Machine{Foreign: r.foreign(), Token: r.Token, Cluster: p.cluster, Group: r.Group, Created: r.Created, Gone: !r.alive()}
		if m.Gone && time.Since(time.UnixMilli(r.Created)) > keepRecord {
			for _, old := range []string{".json", ".log", ".lock"} {
				_ = os.Remove(filepath.Join(p.folder(), r.Token+old))
			}
			continue
		}
		all = append(all, m)
	}
	return all, nil
}

// adopted is adopt without a wait: a record that another process works on is left alone.
func (p processes) adopted(r record) (record, error) {
	lock := flock.New(filepath.Join(p.folder(), r.Token+".lock"), flock.SetPermissions(0o600))
	if ok, err := lock.TryLock(); err != nil || !ok {
		return record{}, err
	}
	defer func() { _ = lock.Close() }()
	return p.adopt(r)
}

func (p processes) read(token string) (record, bool, error) {
	var r record
	text, err := os.ReadFile(p.file(token))
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return r, err == nil, core.Wrap(err, core.CodeUnavailable, token, "the record %s of a machine cannot be read", p.file(token))
}

// write replaces a record at once.
func (p processes) write(r record) error {
	text, err := json.Marshal(r)
	if err == nil {
		err = os.WriteFile(p.file(r.Token)+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(p.file(r.Token)+".new", p.file(r.Token))
	}
	return core.Wrap(err, core.CodeUnavailable, r.Token, "the record of instance %s cannot be written", r.Token)
}
