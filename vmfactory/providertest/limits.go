package providertest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/agent/wire"
	"drover/vmfactory/providertest/probe"
)

// limits is what user code gets at most, and that the VM survives its trying.
func (s suite) limits(t *testing.T) {
	t.Parallel()
	run := s.folder(t)
	p := s.provider(t, run)
	most := Pool().Limits
	writable := []string{"/tmp", "/var/tmp", "/dev/shm", agent.HomeDir, agent.WorkDir, "/", "/usr", "/run", "/dev", "/mnt"}
	for name, c := range map[string]struct {
		target probe.Target
		limit  string // the limit that may end the run, too
	}{
		"forks":          {probe.Target{Most: int64(3 * most.Pids)}, core.LimitPids},
		"memory":         {probe.Target{Most: 2 * most.Memory}, core.LimitMemory},
		"shared-zero":    {probe.Target{Most: 2 * most.Memory}, core.LimitMemory},
		"memory-by-many": {probe.Target{Most: 2 * most.Memory}, core.LimitMemory},
		"disk":           {probe.Target{Most: most.Disk, Folders: writable}, ""},
		"inodes":         {probe.Target{Most: most.Disk / 1024, Folders: writable}, ""},
		"file-size":      {probe.Target{Most: most.FileSize + 1}, ""},
		"open-files":     {probe.Target{Most: int64(most.OpenFiles)}, ""},
		"watchers":       {probe.Target{Most: 16}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := armed(t, p, run, Pool())
			o := v.probe(t, name, c.target)
			bound(t, o, c.limit)
			assert.True(t, o.stdout == probe.Held || c.limit != "" && (o.Limit() == c.limit || o.Signal == "SIGKILL"), "%s", o)
			alive(t, v)
		})
	}
	for name, test := range map[string]func(*testing.T, vm){
		"fork bomb": forkBomb, "less than the pool's": lessThanPool, "output flood": outputFlood, "time": timeIsUp, "orphans": orphans,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := armed(t, p, run, Pool())
			test(t, v)
			alive(t, v)
		})
	}
}

func forkBomb(t *testing.T, v vm) {
	t.Helper()
	most := Pool().Limits
	peak := watch(t, v)
	o := v.do(t, core.Limits{Timeout: 5 * time.Second}, "/bin/sh", "-c", "b() { b | b & b; }; b")
	assert.LessOrEqual(t, peak(), 2*most.Pids, "the kernel stopped it, not somebody who came later")
	assert.Contains(t, []string{core.LimitPids, core.LimitTime, core.LimitMemory, ""}, o.Limit(), "%s", o)
}

func lessThanPool(t *testing.T, v vm) {
	t.Helper()
	most := Pool().Limits
	for name, c := range map[string]struct {
		limits core.Limits
		target probe.Target
		limit  string
	}{
		"memory":     {core.Limits{Memory: most.Memory / 4}, probe.Target{Most: most.Memory / 2}, core.LimitMemory},
		"forks":      {core.Limits{Pids: most.Pids / 4}, probe.Target{Most: int64(most.Pids)}, core.LimitPids},
		"file-size":  {core.Limits{FileSize: most.FileSize / 4}, probe.Target{Most: most.FileSize / 2}, ""},
		"open-files": {core.Limits{OpenFiles: most.OpenFiles / 2}, probe.Target{Most: int64(most.OpenFiles) - 8}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := v.do(t, c.limits, append([]string{agent.WorkDir + "/probe"}, probe.Args(name, c.target)...)...)
			bound(t, o, c.limit)
		})
	}
}

// bound sees that a probe did not get what it tried to have. A watchdog may come
// too late for a quick one, but then says what became of it.
func bound(t *testing.T, o outcome, limit string) {
	t.Helper()
	if limit != "" && o.Limit() == limit && o.HeldBy[limit] == wire.HeldByWatchdog {
		return
	}
	assert.NotContains(t, o.stdout, "got through", "%s", o)
}

func outputFlood(t *testing.T, v vm) {
	t.Helper()
	most := Pool().Limits
	o := v.shell(t, "yes & yes >&2")
	assert.True(t, o.OutputExceeded, "%s", o.Signal)
	assert.True(t, o.Truncated)
	assert.LessOrEqual(t, int64(len(o.stdout)), most.Output)
	assert.LessOrEqual(t, int64(len(o.stderr)), most.Output)
}

func timeIsUp(t *testing.T, v vm) {
	t.Helper()
	o := v.do(t, core.Limits{Timeout: 300 * time.Millisecond}, "/bin/sh", "-c", "trap '' TERM INT; while :; do :; done")
	assert.True(t, o.TimedOut, "%s", o)
}

func orphans(t *testing.T, v vm) {
	t.Helper()
	mark := "drover-" + strings.ReplaceAll(t.Name(), "/", "-") + name()
	o := v.probe(t, "orphans", probe.Target{Marker: mark})
	require.Equal(t, probe.Held, o.stdout, "%s", o)
	assert.Empty(t, running(mark), "the run has ended, so what it started has, too")
}

// watch asks a VM's agent again and again how many processes there are, and
// returns the most when it is called.
func watch(t *testing.T, v vm) func() int {
	t.Helper()
	ctx, stop := context.WithCancel(bounded(t))
	peak := make(chan int)
	go func() {
		most := 0
		for ctx.Err() == nil {
			if status, err := v.Status(ctx); err == nil {
				most = max(most, status.Processes)
			}
		}
		peak <- most
	}()
	return func() int {
		stop()
		return <-peak
	}
}
