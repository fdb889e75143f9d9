package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drover/cmd/drover/access"
	"drover/core"
)

// The components whose processor time is told apart.
const (
	partVMs    = "VMs: agent, job, kernel's work for them"
	partMaker  = "vmfactory"
	partRunner = "testrunner"
	partWatch  = "overseer"
	partRedis  = "redis-server"
	partSite   = "web"
	partClient = "this command: submits, follows, store"
	partTotal  = "sum"
	partKernel = "kernel's own tasks, of the whole machine"
)

// parts are the components in the order in which they are shown.
func parts() []string {
	return []string{partVMs, partMaker, partRunner, partWatch, partRedis, partSite, partClient}
}

// cpu is processor time, in user mode and in the kernel.
type cpu struct{ user, system time.Duration }

func (c cpu) plus(o cpu) cpu  { return cpu{c.user + o.user, c.system + o.system} }
func (c cpu) minus(o cpu) cpu { return cpu{c.user - o.user, c.system - o.system} }

// balanced gives a difference of coarse and fine times no negative part.
func (c cpu) balanced() cpu {
	if c.user < 0 {
		c = cpu{0, c.system + c.user}
	}
	if c.system < 0 {
		c = cpu{c.user + c.system, 0}
	}
	return c
}

// usage is the processor time of components until a moment.
type usage map[string]cpu

func (u usage) since(before usage) usage {
	out := usage{}
	for name, c := range u {
		if was, ok := before[name]; ok {
			out[name] = c.minus(was).balanced()
		}
	}
	return out
}

// perJob divides by the number of jobs: each component, all together, and the kernel's own tasks.
func (u usage) perJob(jobs float64) (each []component, total, kernel component) {
	of := func(name string, c cpu) component {
		const ms = float64(time.Millisecond)
		return component{name, float64(c.user) / ms / jobs, float64(c.system) / ms / jobs, float64(c.user+c.system) / ms / jobs}
	}
	var sum cpu
	for _, name := range parts() {
		if c, ok := u[name]; ok {
			each, sum = append(each, of(name, c)), sum.plus(c)
		}
	}
	return each, of(partTotal, sum), of(partKernel, u[partKernel])
}

// usageMeter reads processor times.
type usageMeter interface {
	read(ctx context.Context) (usage, error)
	sameClock() bool // the cluster has this machine's clock
}

// runningMeter is of a cluster that runs already: of its Redis, if that can be asked, and this process.
type runningMeter struct{ session *access.Session }

func meterOf(d access.Backend) usageMeter {
	s, _ := d.(*access.Session) // a site does not say what its Redis does
	return runningMeter{s}
}

func (m runningMeter) sameClock() bool { return false }

func (m runningMeter) read(ctx context.Context) (usage, error) {
	u := usage{}
	var err error
	if u[partClient], err = ownTime(); err != nil || m.session == nil {
		return u, err
	}
	text, err := m.session.Redis.Client().Info(ctx, "cpu").Result()
	if err != nil {
		return u, nil //nolint:nilerr // an embedded Redis does not know
	}
	var c cpu
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		seconds, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil:
		case name == "used_cpu_user":
			c.user = time.Duration(seconds * float64(time.Second))
		case name == "used_cpu_sys":
			c.system = time.Duration(seconds * float64(time.Second))
		}
	}
	if c != (cpu{}) {
		u[partRedis] = c
	}
	return u, nil
}

// ownTime is the time of this process.
func ownTime() (cpu, error) {
	var r unix.Rusage
	err := unix.Getrusage(unix.RUSAGE_SELF, &r)
	return cpu{time.Duration(r.Utime.Nano()), time.Duration(r.Stime.Nano())}, core.Wrap(err, core.CodeUnavailable, "", "the kernel does not tell the processor time of this process")
}

// processTime is the time of a process, and of its children that were waited for.
func processTime(pid int) (own, children cpu, err error) {
	at := fmt.Sprintf("/proc/%d/stat", pid)
	text, err := os.ReadFile(at)
	if err != nil {
		return own, children, core.Wrap(err, core.CodeUnavailable, at, "a component's processor time cannot be read")
	}
	const utime = 11 // of the fields behind the name, which may have blanks and brackets in it
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < utime+4 {
		return own, children, core.Errorf(core.CodeUnavailable, at, "%s has %d fields", at, len(fields))
	}
	const tick = 10 * time.Millisecond // of Linux' interfaces, whatever the kernel's own is
	for i, into := range []*time.Duration{&own.user, &own.system, &children.user, &children.system} {
		n, err := strconv.ParseInt(fields[utime+i], 10, 64)
		if err != nil {
			return own, children, core.Wrap(err, core.CodeUnavailable, at, "%s cannot be read", at)
		}
		*into = time.Duration(n) * tick
	}
	return own, children, nil
}

// childrenOf are the processes that a process has started and that run.
func childrenOf(pid int) []int {
	var all []int
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is good
	for _, at := range lists {
		text, _ := os.ReadFile(at) // a thread that ended has none
		for _, word := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				all = append(all, child)
			}
		}
	}
	slices.Sort(all)
	return all
}

// kernelTime is the time of all tasks of the kernel's own, which work for whatever runs on the machine.
func kernelTime() cpu {
	var sum cpu
	for _, pid := range childrenOf(2) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
		if err != nil { // it ended, or this kernel keeps none
			continue
		}
		ran, _, _ := strings.Cut(string(text), " ")
		if ns, err := strconv.ParseInt(ran, 10, 64); err == nil {
			sum.system += time.Duration(ns)
		}
	}
	return sum
}

// load is the machine's load of the last minute; "" if it is not known.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg") // a container may hide it
	word, _, _ := strings.Cut(string(text), " ")
	return word
}
