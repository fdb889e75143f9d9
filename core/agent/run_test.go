package agent_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/agent/wire"
)

func TestExitIsTheCommandsOwn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		v := assigned(t, kind, nil)
		for _, c := range []struct {
			script, signal string
			code           int
		}{
			{"exit 0", "", 0},
			{"exit 3", "", 3},
			{"exit 255", "", 255},
			{"kill -TERM $$", "SIGTERM", 128 + 15},
			{"kill -SEGV $$", "SIGSEGV", 128 + 11},
			{"kill -KILL $$", "SIGKILL", 128 + 9},
			{"kill -40 $$", "SIG40", 128 + 40},
			{"sh -c 'kill -KILL $$'; exit 5", "", 5},
			{"(exit 9) & (sleep 60) & exit 4", "", 4},
		} {
			exit, _ := v.sh(t, c.script, nil)
			assert.Equal(t, c.code, exit.Code, c.script)
			assert.Equal(t, c.signal, exit.Signal, c.script)
			assert.Empty(t, exit.Limit(), c.script)
		}
	})
}

// A program may use its memory as its stack, also where it has less than the usual stack.
func TestTheStackMayTakeAllMemory(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		for memory, want := range map[int64]string{64 << 20: "65536\n", 4 << 20: "8192\n", 4 << 30: "1048576\n"} {
			v := assigned(t, kind, nil)
			_, o := v.sh(t, "ulimit -s", func(r *agent.Run) { r.Limits.Memory = memory })
			assert.Equal(t, want, string(o.out))
		}
	})
}

// What a command may not have: privileges, descriptors, an environment, the
// agent's own place in the kernel's favour.
func TestCommandIsUnprivileged(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		v := assigned(t, kind, func(c *agent.Config) { c.Env = []string{"LANG=xx", "POOL=p"} })
		_, o := v.sh(t, `
			cat /proc/self/status | grep -E '^(Uid|Gid|Groups|CapPrm|CapEff|CapAmb|NoNewPrivs):' | tr '\t' ' '
			ls -m /proc/$$/fd
			echo oom $(cat /proc/self/oom_score_adj)
			echo umask $(umask) nice $(nice)
			echo core $(ulimit -c) files $(ulimit -n) locked $(ulimit -l) size $(ulimit -f)
			echo pwd $(pwd)
			echo session $(cut -d' ' -f6 /proc/self/stat) $$
			echo owner $(stat -c %u:%a .)
			cat /proc/$$/environ | tr '\0' '\n' | sort`,
			func(r *agent.Run) {
				r.Env = []string{"A=b", "LANG=C"}
				r.Limits = core.Limits{FileSize: 1 << 20, OpenFiles: 100}
			})
		ids := fmt.Sprint(v.uid, v.uid, v.uid, v.uid)
		lines := strings.Split(strings.TrimSpace(string(o.out)), "\n")
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " ")
		}
		var pid string
		for _, l := range lines {
			if rest, ok := strings.CutPrefix(l, "session "); ok {
				pid = strings.Fields(rest)[0]
			}
		}
		want := []string{
			"Uid: " + ids, "Gid: " + ids, "Groups:",
			"CapPrm: 0000000000000000", "CapEff: 0000000000000000", "CapAmb: 0000000000000000", "NoNewPrivs: 1",
			"0, 1, 2", "oom 1000", "umask 0022 nice 10",
			"core 0 files 100 locked 64 size 2048",
			"pwd " + v.home + "/work", "session " + pid + " " + pid, fmt.Sprintf("owner %d:700", v.uid),
			"A=b", "HOME=" + v.home, "LANG=C", "PATH=/usr/local/bin:/usr/bin:/bin:/run/drover", "POOL=p",
		}
		// A test that is not root keeps its own groups where nobody may drop them.
		if os.Getuid() != 0 {
			lines[2] = "Groups:"
		}
		require.Equal(t, want, lines, string(o.err))
	})
}

func TestCommandThatCannotStart(t *testing.T) {
	t.Parallel()
	v := assigned(t, plain, nil)
	require.NoError(t, os.WriteFile(v.home+"/text", []byte("#!/no/such/interpreter\n"), 0o755))
	require.NoError(t, os.WriteFile(v.home+"/plain", []byte("x"), 0o644))
	big := strings.Repeat("x", 300<<10)
	for name, c := range map[string]struct {
		run  agent.Run
		code core.Code
		text string
	}{
		"nothing":         {agent.Run{}, core.CodeInvalid, "no command"},
		"empty name":      {agent.Run{Args: []string{""}}, core.CodeInvalid, "no command"},
		"missing file":    {agent.Run{Args: []string{"/no/such"}}, core.CodeInvalid, "no such file"},
		"missing program": {agent.Run{Args: []string{"no-such-program"}}, core.CodeInvalid, "PATH"},
		"folder":          {agent.Run{Args: []string{"/tmp"}}, core.CodeInvalid, "permission"},
		"not executable":  {agent.Run{Args: []string{v.home + "/plain"}}, core.CodeInvalid, "permission"},
		"no interpreter":  {agent.Run{Args: []string{v.home + "/text"}}, core.CodeInvalid, "no such file"},
		"NUL":             {agent.Run{Args: []string{"/bin/true", "a\x00b"}}, core.CodeInvalid, "NUL"},
		"many words":      {agent.Run{Args: make([]string, 300)}, core.CodeInvalid, "no command"},
		"too many words":  {agent.Run{Args: append([]string{"true"}, make([]string, 300)...)}, core.CodeLimit, "301 words"},
		"large":           {agent.Run{Args: []string{"true", big}}, core.CodeLimit, "bytes"},
		"bad variable":    {agent.Run{Args: []string{"true"}, Env: []string{"=x"}}, core.CodeInvalid, "NAME=value"},
		"many variables":  {agent.Run{Args: []string{"true"}, Env: make([]string, 300)}, core.CodeLimit, "variables"},
		"relative folder": {agent.Run{Args: []string{"true"}, Dir: "tmp"}, core.CodeInvalid, "absolute"},
		"missing folder":  {agent.Run{Args: []string{"true"}, Dir: "/no/such"}, core.CodeInvalid, "/no/such"},
	} {
		_, err := v.client.Run(context.Background(), c.run, nil)
		require.Error(t, err, name)
		assert.Equal(t, c.code, core.CodeOf(err), "%s: %v", name, err)
		assert.ErrorContains(t, err, c.text, name)
	}
	exit, _ := v.sh(t, "exit 6", nil)
	assert.Equal(t, 6, exit.Code, "the VM is as good as before")
}

func TestOutputComesLive(t *testing.T) {
	t.Parallel()
	v := assigned(t, plain, nil)
	stdin, in := io.Pipe()
	var o output
	run := agent.Run{Args: []string{"sh", "-c", "echo first; read x; echo $x >&2"}, Stdin: stdin}
	exit, err := v.client.Run(context.Background(), run, func(stream string, data []byte) {
		o.sink(stream, data)
		if stream == agent.Stdout { // only now does the command get what it waits for
			_, err := io.WriteString(in, "second\n")
			assert.NoError(t, err)
			assert.NoError(t, in.Close())
		}
	})
	require.NoError(t, err)
	assert.Zero(t, exit.Code)
	assert.Equal(t, "first\n", string(o.out))
	assert.Equal(t, "second\n", string(o.err))
}

// The host hears when a command closes its output and goes on; not when it ends, however.
func TestOutputIsClosed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		v := assigned(t, kind, nil)
		for script, want := range map[string]int{
			"exec >&-; read x; echo $x >&2":                1,
			"exec 3>&1 >&-; read x; echo $x >&2; echo >&3": 0, // it has another descriptor
			"read x; echo $x >&2":                          0,
			"read x; echo $x >&2; kill -KILL $$":           0,
		} {
			stdin, in := io.Pipe()
			closed := 0
			if want == 0 {
				go func() { _, _ = io.WriteString(in, "word\n") }()
			}
			_, o := v.sh(t, script, func(run *agent.Run) {
				run.Stdin = stdin
				run.Closed = func() { // only now does the command get what it waits for
					closed++
					_, err := io.WriteString(in, "word\n")
					assert.NoError(t, err)
				}
			})
			assert.NoError(t, in.Close())
			assert.Equal(t, "word\n", string(o.err), script)
			assert.Equal(t, want, closed, script)
		}
	})
}

// endless is a standard input without end that counts what was taken of it.
type endless struct{ taken atomic.Int64 }

func (e *endless) Read(b []byte) (int, error) {
	e.taken.Add(int64(len(b)))
	return len(b), nil
}

func TestStdin(t *testing.T) {
	t.Parallel()
	v := assigned(t, plain, nil)
	big := bytes.Repeat([]byte("0123456789abcdef"), 200<<10)
	with := func(r io.Reader) func(*agent.Run) {
		return func(run *agent.Run) { run.Stdin, run.Limits.Output = r, 8<<20 }
	}
	t.Run("None", func(t *testing.T) {
		_, o := v.sh(t, "wc -c", nil)
		assert.Equal(t, "0\n", string(o.out))
	})
	t.Run("Large", func(t *testing.T) {
		_, o := v.sh(t, "cat", with(bytes.NewReader(big)))
		assert.True(t, bytes.Equal(big, o.out), "%d bytes came back of %d", len(o.out), len(big))
	})
	t.Run("NeverRead", func(t *testing.T) {
		var in endless
		exit, _ := v.sh(t, "sleep 0.2; exit 3", with(&in))
		assert.Equal(t, 3, exit.Code)
		assert.Less(t, in.taken.Load(), int64(8<<20), "what nobody reads is not taken from the host")
	})
	t.Run("ClosedEarly", func(t *testing.T) {
		exit, o := v.sh(t, "head -c 3 | wc -c; exec <&-; sleep 0.1; exit 4", with(&endless{}))
		assert.Equal(t, 4, exit.Code)
		assert.Equal(t, "3\n", string(o.out))
	})
	t.Run("NeverSent", func(t *testing.T) {
		r, w := io.Pipe()
		exit, _ := v.sh(t, "exit 5", with(r)) // the command ends while its input is still open
		assert.Equal(t, 5, exit.Code)
		require.NoError(t, w.Close())
	})
}

func TestTimeLimit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		v := assigned(t, kind, nil)
		for name, script := range map[string]string{
			"sleeps":                "sleep 3600",
			"ignores signals":       "trap '' TERM INT HUP; while :; do sleep 3600; done",
			"spins without streams": "exec <&- >&- 2>&-; while :; do :; done",
			"waits for children":    "for i in 1 2 3; do (setsid sh -c 'trap \"\" TERM; sleep 3600') & done; wait",
			"stopped itself":        "kill -STOP $$",
		} {
			exit, _ := v.sh(t, script, func(r *agent.Run) { r.Limits.Timeout = 150 * time.Millisecond })
			assert.True(t, exit.TimedOut, name)
			assert.Equal(t, core.LimitTime, exit.Limit(), name)
			assert.Equal(t, "SIGKILL", exit.Signal, name)
			assert.GreaterOrEqual(t, exit.WallMs, int64(150), name)
			v.requireEmpty(t)
		}
	})
}

// requireEmpty checks that nothing but the agent lives in the VM.
func (v *vm) requireEmpty(t *testing.T) {
	t.Helper()
	s, err := v.client.Status(context.Background())
	require.NoError(t, err)
	require.Zero(t, s.Processes)
}

func TestOutputLimit(t *testing.T) {
	t.Parallel()
	v := assigned(t, plain, nil)
	limit := func(n int64) func(*agent.Run) { return func(r *agent.Run) { r.Limits.Output = n } }
	t.Run("Under", func(t *testing.T) {
		exit, o := v.sh(t, "head -c 1000 /dev/zero; head -c 1000 /dev/zero >&2", limit(1000))
		assert.False(t, exit.Truncated)
		assert.Len(t, o.out, 1000)
		assert.Len(t, o.err, 1000)
	})
	t.Run("Over", func(t *testing.T) {
		exit, o := v.sh(t, "head -c 3000000 /dev/zero; head -c 10 /dev/zero >&2; exit 7", limit(1000))
		assert.Equal(t, 7, exit.Code, "who writes too much is not killed for it")
		assert.True(t, exit.Truncated)
		assert.False(t, exit.OutputExceeded)
		assert.Len(t, o.out, 1000)
		assert.Len(t, o.err, 10, "each stream has its own limit")
	})
	t.Run("Flood", func(t *testing.T) {
		before := v.resident(t)
		exit, o := v.sh(t, "yes >&2 & yes", limit(100_000))
		assert.True(t, exit.OutputExceeded)
		assert.True(t, exit.Truncated)
		assert.Equal(t, core.LimitOutput, exit.Limit())
		assert.Len(t, o.out, 100_000)
		assert.Less(t, v.resident(t)-before, int64(wire.OutputSlack/2), "the agent's memory stays flat")
		v.requireEmpty(t)
	})
}

// resident is the most memory that the agent ever had.
func (v *vm) resident(t *testing.T) int64 {
	t.Helper()
	return statusValue(t, v.cmd.Process.Pid, "VmHWM") << 10
}

// statusValue reads a number from a process's status file.
func statusValue(t *testing.T, pid int, key string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			var n int64
			_, err := fmt.Sscan(rest, &n)
			require.NoError(t, err)
			return n
		}
	}
	t.Fatalf("process %d has no %s", pid, key)
	return 0
}

func TestLimitsOfTheVMBindARun(t *testing.T) {
	t.Parallel()
	v := assigned(t, plain, func(c *agent.Config) {
		c.Limits = core.Limits{Timeout: 100 * time.Millisecond, Output: 10, OpenFiles: 80}
		c.HeldBy = map[string]string{core.LimitMemory: "cgroup", "network": "namespace"}
		c.Alone = false
	})
	exit, o := v.sh(t, "ulimit -n; echo 0123456789; sleep 3600", func(r *agent.Run) {
		r.Limits = core.Limits{Timeout: time.Hour, Output: 1 << 30, OpenFiles: 1 << 19, Memory: 1 << 30, Pids: 10}
	})
	assert.True(t, exit.TimedOut)
	assert.Equal(t, "80\n0123456", string(o.out))
	assert.Equal(t, map[string]string{
		"time": "agent", "output": "agent", "memory": "cgroup", "pids": "watchdog", "network": "namespace",
		"file_size": "rlimit", "open_files": "rlimit", "processes": "agent", "cpu": "", "disk": "",
	}, exit.HeldBy)
}

func TestUsageIsOfTheWholeTree(t *testing.T) {
	t.Parallel()
	v := assigned(t, plain, nil)
	// The work is done by a grandchild whose parent does not wait for it.
	exit, _ := v.sh(t, "(sh -c 'dd if=/dev/zero of=/dev/null bs=40M count=40; touch done' &); while [ ! -e done ]; do sleep 0.02; done", nil)
	assert.Positive(t, exit.WallMs)
	assert.GreaterOrEqual(t, exit.CPUMs, int64(50))
	assert.Greater(t, exit.MemoryPeakBytes, int64(40<<20))
}

// What a run needs of the agent it gives back.
func TestManyRunsLeakNothing(t *testing.T) {
	t.Parallel()
	v := assigned(t, plain, nil)
	held := func() (fds int, threads int64) {
		list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", v.cmd.Process.Pid))
		if os.Getuid() == 0 { // nobody else may look into an agent
			require.NoError(t, err)
		}
		return len(list), statusValue(t, v.cmd.Process.Pid, "Threads")
	}
	once := func() {
		exit, _ := v.sh(t, "echo x", nil)
		require.Zero(t, exit.Code)
		_, err := v.client.Run(context.Background(), agent.Run{Args: []string{"/no/such"}}, nil)
		require.Error(t, err)
	}
	once()
	fds, threads := held()
	for range 60 {
		once()
	}
	require.Eventually(t, func() bool { // the last connection ends a moment after its run
		now, _ := held()
		return now <= fds
	}, eventually, time.Millisecond)
	_, after := held()
	assert.LessOrEqual(t, after, threads+2)
}

// A command that prints piece by piece has the pieces gathered: each frame after the first ones takes a millisecond.
func TestSmallPiecesAreCarriedTogether(t *testing.T) {
	t.Parallel()
	v := start(t, plain, nil)
	require.NoError(t, v.client.Assign(t.Context(), "job"))
	frames, text := int64(0), 0
	exit, err := v.client.Run(t.Context(), agent.Run{Args: []string{"sh", "-c", "i=0; while [ $i -lt 20000 ]; do echo 1; i=$((i+1)); done"}}, func(_ string, data []byte) {
		frames++
		text += len(data)
	})
	require.NoError(t, err)
	require.Equal(t, 40_000, text)
	const first, slack = 100, 100
	require.LessOrEqual(t, frames, first+exit.WallMs+slack)
}
