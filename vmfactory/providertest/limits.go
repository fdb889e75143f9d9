package providertest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/guest"
	"drover/vmfactory/providertest/probe"
)

// limits is what user code gets at most, and that the VM survives its trying.
func (s suite) limits(t *testing.T) {
	t.Parallel()
	run := s.folder(t)
	p := s.provider(t, run)
	most := Pool().Limits
	writable := []string{"/tmp", "/var/tmp", "/dev/shm", guest.HomeDir, guest.WorkDir, "/", "/usr", "/run", "/dev", "/mnt"}
	for name, c := range map[string]struct {
		target probe.Target
		limit  string // the limit that may end the run, too
	}{
		"forks":          {probe.Target{Most: int64(3 * most.Pids)}, core.LimitPids},
		"memory":         {probe.Target{Most: 2 * most.Memory}, core.LimitMemory},
		"memory-by-many": {probe.Target{Most: 2 * most.Memory}, core.LimitMemory},
		"disk":           {probe.Target{Most: most.Disk, Folders: writable}, ""},
		"inodes":         {probe.Target{Most: most.Disk / 1024, Folders: writable}, ""},
		"file-size":      {probe.Target{Most: most.FileSize + 1}, ""},
		"open-files":     {probe.Target{Most: int64(most.OpenFiles)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := armed(t, p, run, Pool())
			o := v.probe(t, name, c.target)
			assert.NotContains(t, o.stdout, "got through", "%s", o)
			assert.True(t, o.stdout == probe.Held || c.limit != "" && (o.Limit() == c.limit || o.Signal == "SIGKILL"), "%s", o)
			alive(t, v)
		})
	}
	t.Run("fork bomb", func(t *testing.T) {
		t.Parallel()
		v := armed(t, p, run, Pool())
		peak := watch(t, v)
		o := v.do(t, core.Limits{Timeout: 5 * time.Second}, "/bin/sh", "-c", "b() { b | b & b; }; b")
		assert.LessOrEqual(t, peak(), 2*most.Pids, "the kernel stopped it, not somebody who came later")
		assert.Contains(t, []string{core.LimitPids, core.LimitTime, core.LimitMemory, ""}, o.Limit(), "%s", o)
		alive(t, v)
	})
	t.Run("output flood", func(t *testing.T) {
		t.Parallel()
		v := armed(t, p, run, Pool())
		o := v.shell(t, "yes & yes >&2")
		assert.True(t, o.OutputExceeded, "%s", o.Signal)
		assert.True(t, o.Truncated)
		assert.LessOrEqual(t, int64(len(o.stdout)), most.Output)
		assert.LessOrEqual(t, int64(len(o.stderr)), most.Output)
		alive(t, v)
	})
	t.Run("time", func(t *testing.T) {
		t.Parallel()
		v := armed(t, p, run, Pool())
		o := v.do(t, core.Limits{Timeout: 300 * time.Millisecond}, "/bin/sh", "-c", "trap '' TERM INT; while :; do :; done")
		assert.True(t, o.TimedOut, "%s", o)
		alive(t, v)
	})
	t.Run("orphans", func(t *testing.T) {
		t.Parallel()
		mark := "drover-" + strings.ReplaceAll(t.Name(), "/", "-") + name()
		v := armed(t, p, run, Pool())
		o := v.probe(t, "orphans", probe.Target{Marker: mark})
		require.Equal(t, probe.Held, o.stdout, "%s", o)
		assert.Empty(t, running(mark), "the run has ended, so what it started has, too")
		alive(t, v)
	})
}

// watch asks a VM's agent again and again how many processes there are, and
// returns the most when it is called.
func watch(t *testing.T, v vm) func() int {
	t.Helper()
	ctx, stop := context.WithCancel(patient(t))
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
