package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/terminal"
	"drover/core/coretest/tier"
	"drover/core/service"
)

// elastic starts the demo in a folder for temporary files of its own, by whose name what it leaves is found.
func elastic(t *testing.T, args ...string) (p *process, left func() []string) {
	t.Helper()
	h := newTestCluster(t, neverLate)
	scratch, err := service.NewScratch("drover-elastic-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, scratch.Remove()) })
	h.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + scratch.Dir, "TMPDIR=" + scratch.Dir, "DROVER_POLL=200ms"}
	p = &process{h: h, cmd: exec.Command(h.path, append([]string{"demo", "--elastic"}, args...)...), out: &output{}, done: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = h.env, p.out, p.out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait() // how it ended, the test asks
		close(p.done)
	}()
	t.Cleanup(func() {
		p.signal(syscall.SIGKILL)
		<-p.done
		if t.Failed() {
			t.Logf("the demo said:\n%s", p.out)
			logs, _ := filepath.Glob(filepath.Join(scratch.Dir, "*", "machines", "*", "*.log"))
			for _, log := range logs {
				text, _ := os.ReadFile(log)
				t.Logf("%s:\n%s", filepath.Base(log), text)
			}
		}
	})
	return p, func() []string { return usersOf(scratch.Dir) }
}

// usersOf lists the processes that have a folder in their arguments or environment.
func usersOf(dir string) []string {
	var all []string
	found, _ := filepath.Glob("/proc/[0-9]*")
	for _, proc := range found {
		env, _ := os.ReadFile(filepath.Join(proc, "environ")) // of a process that has ended it is empty
		line, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
		if strings.Contains(string(env)+string(line), dir) {
			all = append(all, fmt.Sprintf("%s: %q", filepath.Base(proc), line))
		}
	}
	return all
}

// The demo grows, shrinks, ends by itself, and leaves nothing.
func TestElasticDemo(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	p, left := elastic(t, "--json")
	p.await()
	require.Zero(t, p.cmd.ProcessState.ExitCode(), p.said())
	var sum struct {
		Requests  int
		MostHosts int `json:"most_hosts"`
		Hosts     int
	}
	require.NoError(t, json.Unmarshal([]byte(p.said()), &sum), p.said())
	require.Positive(t, sum.Requests)
	require.Greater(t, sum.MostHosts, 1)
	require.Equal(t, 1, sum.Hosts)
	require.Empty(t, left())
}

// However the demo ends, its hosts and their VMs end, too.
func TestElasticDemoLeavesNothing(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			p, left := elastic(t)
			await(t, "it has more than one host", func() bool { return strings.Count(p.said(), " is joined") > 1 })
			require.Greater(t, len(left()), 2, "the demo, and its hosts")
			p.signal(s)
			p.await()
			if s == syscall.SIGINT {
				require.Equal(t, terminal.ExitStopped, p.cmd.ProcessState.ExitCode(), p.said())
				require.Empty(t, left())
				return
			}
			await(t, "what it made ends", func() bool { return len(left()) == 0 })
		})
	}
}

// Two demos at once are refused.
func TestElasticDemoOrKeep(t *testing.T) {
	t.Parallel()
	var out, errs output
	code := typeIn(context.WithoutCancel(t.Context()), []string{"drover", "demo", "--elastic", "--keep"}, strings.NewReader(""), &out, &errs)
	require.Equal(t, terminal.ExitUsage, code, errs.String())
	require.Contains(t, errs.String(), "choose one")
}
