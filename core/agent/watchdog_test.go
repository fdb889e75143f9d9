package agent_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
)

func TestMemoryIsWatched(t *testing.T) {
	t.Parallel()
	const limit = 64 << 20
	bound := func(r *agent.Run) { r.Limits = core.Limits{Memory: limit, Timeout: time.Minute} }
	each(t, func(t *testing.T, kind string) {
		v := assigned(t, kind, nil)
		for name, script := range map[string]string{
			"one process": "tail /dev/zero",
			"a tree":      "for i in 1 2 3 4; do (x=$(head -c 18M /dev/zero | tr '\\0' a); sleep 3600; echo $x) & done; wait",
			"an orphan":   "(setsid tail /dev/zero &) ; sleep 3600",
		} {
			exit, _ := v.sh(t, script, bound)
			assert.True(t, exit.MemoryExceeded, "%s: %+v", name, exit)
			assert.Equal(t, core.LimitMemory, exit.Limit(), name)
			assert.Equal(t, "SIGKILL", exit.Signal, name)
			assert.Greater(t, exit.MemoryPeakBytes, int64(limit), name)
			assert.Equal(t, "watchdog", exit.HeldBy["memory"], name)
			v.requireEmpty(t)
		}
		exit, _ := v.sh(t, "x=$(head -c 20M /dev/zero | tr '\\0' a); sleep 0.2; exit 3", bound)
		assert.Equal(t, 3, exit.Code, "what stays under the limit may stay: %+v", exit)
		assert.Greater(t, exit.MemoryPeakBytes, int64(20<<20))
	})
}

// A command may have had its memory and be done before the watchdog comes to look.
// It has more than the agent itself, which the race detector makes large: less tells nothing.
func TestMemoryIsJudgedWhenNobodyLooked(t *testing.T) {
	t.Parallel()
	v := assigned(t, plain, nil)
	for name, c := range map[string]struct {
		size   string
		exceed bool
	}{"over": {"240M", true}, "under": {"24M", false}} {
		up := make(chan struct{}, 1)
		over := make(chan ended, 1)
		go func() {
			exit, err := v.client.Run(context.Background(), agent.Run{
				Args: []string{"sh", "-c", "echo up; while [ ! -e " + name + ".go ]; do :; done; dd if=/dev/zero of=/dev/null bs=" +
					c.size + " count=1; : >" + name + ".done; while [ ! -e " + name + ".end ]; do :; done"},
				Limits: core.Limits{Memory: 64 << 20, Timeout: time.Minute},
			}, func(string, []byte) {
				select {
				case up <- struct{}{}:
				default:
				}
			})
			over <- ended{exit, err}
		}()
		<-up
		stop(t, v)
		give(t, v, name+".go")
		require.Eventually(t, func() bool { return there(v, name+".done") }, eventually, time.Millisecond)
		require.NoError(t, v.cmd.Process.Signal(syscall.SIGCONT))
		give(t, v, name+".end")
		end := <-over
		require.NoError(t, end.err)
		assert.Zero(t, end.exit.Code, "%+v", end.exit)
		assert.Equal(t, c.exceed, end.exit.MemoryExceeded, "%s: %+v", name, end.exit)
		assert.Equal(t, c.exceed, end.exit.MemoryPeakBytes > 64<<20, "%s: %+v", name, end.exit)
		assert.Equal(t, "watchdog", end.exit.HeldBy["memory"])
	}
}

// stop stops a plain VM's agent, and returns once it does nothing any more.
func stop(t *testing.T, v *vm) {
	t.Helper()
	pid := v.cmd.Process.Pid
	require.NoError(t, v.cmd.Process.Signal(syscall.SIGSTOP))
	t.Cleanup(func() { _ = v.cmd.Process.Signal(syscall.SIGCONT) })
	require.Eventually(t, func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		require.NoError(t, err)
		for _, name := range threads {
			text, err := os.ReadFile(name)
			if err != nil || !strings.Contains(string(text), "State:\tT") {
				return false
			}
		}
		return len(threads) > 0
	}, eventually, time.Millisecond)
}

// give makes a file where a VM's commands run.
func give(t *testing.T, v *vm, name string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(v.home, "work", name), nil, 0o600))
}

func there(v *vm, name string) bool {
	_, err := os.Stat(filepath.Join(v.home, "work", name))
	return err == nil
}

// Memory that processes share is not counted once for each of them.
func TestSharedMemoryIsCountedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		v := assigned(t, kind, nil)
		exit, o := v.sh(t, "x=$(head -c 20M /dev/zero | tr '\\0' a); for i in 1 2 3 4 5 6; do (sleep 0.5; exit 0) & done; wait; exit 3",
			func(r *agent.Run) { r.Limits = core.Limits{Memory: 64 << 20, Timeout: time.Minute} })
		assert.Equal(t, 3, exit.Code, "%+v %s", exit, o.err)
		assert.Less(t, exit.MemoryPeakBytes, int64(64<<20))
	})
}

func TestProcessesAreCounted(t *testing.T) {
	t.Parallel()
	bound := func(r *agent.Run) { r.Limits = core.Limits{Pids: 30, Timeout: time.Minute} }
	each(t, func(t *testing.T, kind string) {
		v := assigned(t, kind, nil)
		if !v.config.Alone {
			t.Skip("nothing would hold a bomb if the watchdog did not")
		}
		for name, script := range map[string]string{
			"bomb":      "f() { sleep 3600 & while :; do f & done; }; f",
			"many":      "i=0; while [ $i -lt 40 ]; do sleep 3600 & i=$((i+1)); done; wait",
			"failed":    "i=0; while [ $i -lt 40 ]; do sleep 3600 & i=$((i+1)); done; exit 2",
			"scattered": "i=0; while [ $i -lt 40 ]; do (setsid sleep 3600 &); i=$((i+1)); done; sleep 3600",
		} {
			exit, _ := v.sh(t, script, bound)
			v.requireEmpty(t)
			if name == "bomb" && exit.Code == 2 {
				continue // it failed for want of a process and fell in on itself
			}
			assert.True(t, exit.PidsExceeded, "%s: %+v", name, exit)
			assert.Equal(t, core.LimitPids, exit.Limit(), name)
		}
		exit, _ := v.sh(t, "i=0; while [ $i -lt 20 ]; do sleep 0.3 & i=$((i+1)); done; wait; exit 3", bound)
		assert.Equal(t, 3, exit.Code, "what stays under the limit may stay: %+v", exit)
	})
}

// In a user namespace of its own the kernel holds the number of processes
// between two looks of the watchdog.
func TestProcessesAreHeldByTheKernel(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{inside, single} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			v := assigned(t, kind, nil)
			exit, o := v.sh(t, "ulimit -p", func(r *agent.Run) { r.Limits = core.Limits{Pids: 30} })
			assert.Equal(t, "62\n", string(o.out))
			assert.Equal(t, "rlimit", exit.HeldBy["pids"])
		})
	}
}

// Where a cgroup holds the limits the agent takes its word, in either version's form.
func TestCgroupTells(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]struct{ peak, oom, cpu, pids string }{
		"v1": {"7340032\n", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", "5000000000\n", "max 1\n"},
		"v2": {"7340032\n", "low 0\nmax 12\noom 2\noom_kill 2\n", "usage_usec 5000000\nuser_usec 1\n", "max 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The command plays the kernel: it writes the files that the agent reads.
			v := assigned(t, plain, func(c *agent.Config) {
				for _, f := range []struct {
					at   *string
					text string
				}{{&c.Cgroup.MemoryPeak, "0\n"}, {&c.Cgroup.MemoryEvents, "oom_kill 1\n"}, {&c.Cgroup.CPU, "0\n"}, {&c.Cgroup.PidsEvents, "max 0\n"}} {
					file, err := os.CreateTemp(c.Home, "cgroup")
					require.NoError(t, err)
					_, err = file.WriteString(f.text)
					require.NoError(t, err)
					require.NoError(t, file.Chmod(0o666))
					require.NoError(t, file.Close())
					*f.at = file.Name()
				}
				c.HeldBy = map[string]string{"memory": "cgroup", "pids": "cgroup"}
			})
			files := v.config.Cgroup
			play := func(code string) func(*agent.Run) {
				return func(r *agent.Run) {
					r.Args = []string{
						"sh", "-c", `printf %s "$PEAK" >$1; printf %s "$OOM" >$2; printf %s "$CPU" >$3; printf %s "$PIDS" >$4; exit ` + code,
						"sh", files.MemoryPeak, files.MemoryEvents, files.CPU, files.PidsEvents,
					}
					r.Env = []string{"PEAK=" + text.peak, "OOM=" + text.oom, "CPU=" + text.cpu, "PIDS=" + text.pids}
				}
			}
			exit, o := v.sh(t, "", play("1"))
			assert.True(t, exit.PidsExceeded, "%+v %s", exit, o.err)
			assert.False(t, exit.MemoryExceeded, "a fork bomb meets both, and the process limit is why")
			assert.EqualValues(t, 7<<20, exit.MemoryPeakBytes)
			assert.EqualValues(t, 5000, exit.CPUMs)
			assert.Equal(t, []string{"memory", "pids"}, exit.Refused)
			text.oom, text.pids = text.oom[:len(text.oom)-2]+"3\n", "max 1\n"
			exit, _ = v.sh(t, "", play("1"))
			assert.True(t, exit.MemoryExceeded)
			assert.False(t, exit.PidsExceeded)
			text.pids = "max 2\n"
			exit, _ = v.sh(t, "", play("1"))
			assert.False(t, exit.MemoryExceeded)
			assert.Equal(t, []string{"pids"}, exit.Refused)
			assert.True(t, exit.PidsExceeded)
			text.pids = "max 3\n"
			exit, _ = v.sh(t, "", play("0"))
			assert.False(t, exit.PidsExceeded, "who copes with it ends well")
			assert.Equal(t, "cgroup", exit.HeldBy["memory"])
		})
	}
}
