package agent_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
)

// living counts the processes of this machine, in whichever namespace, that
// have the word among their arguments.
func living(t *testing.T, word string) int {
	t.Helper()
	procs, err := os.ReadDir("/proc")
	require.NoError(t, err)
	n := 0
	for _, p := range procs {
		line, err := os.ReadFile("/proc/" + p.Name() + "/cmdline") // gone, or not a process
		for arg := range bytes.SplitSeq(line, []byte{0}) {
			if err == nil && string(arg) == word {
				n++
				break
			}
		}
	}
	return n
}

// unique makes a number of seconds that no other process on the machine sleeps for.
func unique() string { return fmt.Sprint(time.Now().UnixNano()) }

// Probe 34 of limits.md: whatever is left behind is dead when the end is reported.
func TestNothingOutlivesItsRun(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		v := assigned(t, kind, nil)
		for name, script := range map[string]string{
			"background":           "sleep %s &",
			"daemon":               "(setsid sh -c '(trap \"\" TERM HUP INT; sleep %s) &' >/dev/null 2>&1 </dev/null &) ",
			"stopped":              "sleep %s & kill -STOP $!",
			"holds the streams":    "setsid sleep %s & exit 3",
			"kills its own parent": "sh -c 'setsid sleep %s & kill -KILL '$$",
			"forks on and on":      "f() { sleep %[1]s & (f) & }; f; f; sleep 0.05",
		} {
			word := unique()
			script = fmt.Sprintf(script, word)
			_, _ = v.sh(t, script, func(r *agent.Run) { r.Limits.Pids = 400 })
			assert.Zero(t, living(t, word), name)
			v.requireEmpty(t)
		}
	})
}

// Probe 35: orphans that ended are reaped at once and do not use up the limit.
func TestOrphansAreReaped(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		v := assigned(t, kind, nil)
		exit, o := v.sh(t, `
			i=0
			while [ $i -lt 400 ]; do (true & true &); i=$((i+1)); done
			while grep -q '^State:.Z' /proc/[0-9]*/status 2>/dev/null; do sleep 0.01; done
			echo done`, func(r *agent.Run) {
			r.Limits = core.Limits{Pids: 250, Timeout: time.Minute}
		})
		assert.Zero(t, exit.Code, "%+v %s", exit, o.err)
		assert.Equal(t, "done\n", string(o.out))
	})
}

// Probes 16 to 21: the agent's process is closed to user code, also to that of its own uid.
func TestAgentIsOutOfReach(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{inside, single} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			v := assigned(t, kind, nil)
			exit, o := v.sh(t, `
				for s in $(seq 1 64); do kill -$s 1 2>/dev/null; done
				kill -STOP 1; kill -KILL 1
				for f in environ mem maps cwd root exe fd/3 task/1/environ; do
					cat /proc/1/$f >/dev/null 2>&1 && echo can read $f
					true 2>/dev/null >>/proc/1/$f && echo can write $f
				done
				ls /proc/1/fd /proc/1/map_files 2>/dev/null
				true 2>/dev/null >>/proc/1/oom_score_adj && echo can write oom_score_adj
				echo alive`, nil)
			assert.Zero(t, exit.Code)
			assert.Equal(t, "alive\n", string(o.out))
			exit, o = v.sh(t, "echo again", nil)
			assert.Zero(t, exit.Code)
			assert.Equal(t, "again\n", string(o.out))
		})
	}
}

// A signal to the whole session or to all processes is the command's own affair.
func TestCommandMayKillItself(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{inside, single} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			v := assigned(t, kind, nil)
			exit, _ := v.sh(t, "sleep 3600 & kill -KILL -1; exit 3", nil)
			// kill(-1) spares its caller.
			assert.Equal(t, 3, exit.Code)
			v.requireEmpty(t)
		})
	}
}

// The end of the lifeline is the end of the VM.
func TestLifeline(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		v := assigned(t, kind, nil)
		word := unique()
		ended := make(chan error, 1)
		started := make(chan struct{})
		go func() {
			run := agent.Run{Args: []string{"sh", "-c", "setsid sh -c 'echo up; exec sleep $0' " + word + " & sleep 3600"}}
			_, err := v.client.Run(t.Context(), run, func(string, []byte) { close(started) })
			ended <- err
		}()
		<-started
		require.Eventually(t, func() bool { return living(t, word) == 1 }, eventually, time.Millisecond)
		v.stop(t)
		assert.Equal(t, core.CodeBadVM, core.CodeOf(<-ended))
		assert.Zero(t, living(t, word))
	})
}

// What a provider can get wrong ends the agent at once, with a reason.
func TestBadConfig(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*agent.Config){
		"the secret must have":        func(c *agent.Config) { c.Secret = "short" },
		"user code needs a uid":       func(c *agent.Config) { c.UID = 0 },
		"is not absolute":             func(c *agent.Config) { c.Home = "home" },
		"no such file":                func(c *agent.Config) { c.Home = "/no/such/home" },
		"is not of the form NAME=val": func(c *agent.Config) { c.Env = []string{"x"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said strings.Builder
			v := prepare(t, plain, change)
			v.cmd.Stderr = &said
			v.launch(t)
			require.Error(t, v.cmd.Wait())
			assert.Contains(t, said.String(), name)
		})
	}
}
