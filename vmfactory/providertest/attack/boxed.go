package attack

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core/agent"
	"drover/core/agent/wire"
	"drover/vmfactory/providertest"
	"drover/vmfactory/providertest/probe"
)

// secretWord is in the harness's environment, its memory and its files.
const secretWord = "drover-secret-of-the-harness"

// harnessPID stands in a probe's target for the harness's process.
const harnessPID = 424242

// harnessScript has secrets wherever a careless author may put them, and a file of
// them open, and then runs its submission.
const harnessScript = `
cd "$DROVER_HARNESS" || exit 1
cp "$DROVER_WORK/probe" "$DROVER_SUBMISSION/probe" || exit 1
mkdir sub; echo ` + secretWord + ` >answers; echo ` + secretWord + ` >"$DROVER_WORK/answers"; echo 'raise SystemExit' >sub/module.py
chmod 755 sub; chmod 644 answers
secret=` + secretWord + `
exec 5<answers 6>>answers
run() { drover-run --time 1m "$@"; }
`

// onHarness has a harness run probes in its box, and returns what they got out.
func onHarness(names ...string) func(*testing.T, *scene) []string {
	return func(t *testing.T, s *scene) []string {
		t.Helper()
		script := harnessScript
		for _, name := range names {
			target := probe.Target{
				PID: harnessPID, Marker: secretWord,
				Folders: []string{agent.HomeDir, agent.HarnessDir, agent.HarnessDir + "/sub", agent.WorkDir, agent.SubmissionDir},
				Files:   []string{agent.HarnessDir + "/answers", agent.WorkDir + "/answers", agent.HarnessDir + "/sub/module.py"},
				Sockets: []string{agent.HomeDir + "/" + wire.BoxSocket, "/proc/1/cwd/" + agent.SocketFile},
			}
			if name == "harness-socket" {
				target.Files = []string{wire.BoxProgram}
			}
			script += "run -- " + quoted(name, target) + " || exit 1\n"
		}
		return s.graded(t, script+"cat answers >/dev/null && echo done\n", strings.Repeat(probe.Held, len(names))+"done\n")
	}
}

// quoted is a probe's command for the shell.
func quoted(name string, target probe.Target) string {
	args := probe.Args(name, target)
	args[2] = strings.ReplaceAll(args[2], fmt.Sprint(harnessPID), "'$$'")
	return `"$DROVER_SUBMISSION/probe" ` + args[0] + " " + args[1] + " '" + args[2] + "'"
}

// graded runs a harness and returns what its submission could do, which is nothing if
// the harness printed what it should.
func (s *scene) graded(t *testing.T, script, want string) []string {
	t.Helper()
	pool := providertest.Pool()
	pool.Limits.Timeout = 5 * time.Minute // of a dozen programs on a busy machine
	v := s.Armed(t, pool)
	o := v.Harness(t, script, "DROVER_TOKEN="+secretWord)
	v.Alive(t)
	s.end(t, v)
	if o.HeldBy[wire.LimitHarness] == "" {
		return []string{"this kernel has no Landlock"}
	}
	assert.NotEmpty(t, o.HeldBy[wire.LimitHarness])
	if o.Stdout == want {
		return nil
	}
	const through = "got through: "
	_, leak, found := strings.Cut(o.Stdout, through)
	require.True(t, found, "the harness did not end well: %+v", o)
	leak, _, _ = strings.Cut(leak, "\n")
	return []string{leak}
}

// leftInBox has one run leave things, everywhere and for its harness to fall for, and
// looks what of it the next run finds.
func leftInBox(t *testing.T, s *scene) []string {
	t.Helper()
	return s.graded(t, harnessScript+`
run -- `+quoted("traces", probe.Target{})+`
(run -- sh -c 'setsid sleep 1000 & echo left') 
run -- `+quoted("traces", probe.Target{})+`
run -- sh -c 'ls -A; ls -A /tmp /dev/shm 2>/dev/null | grep drover; for p in /proc/[0-9]*/comm; do read c <$p && [ "$c" != sleep ] || echo sleep lives; done' 2>/dev/null
run --save links -- sh -c 'ln -s "$DROVER_SUBMISSION/../harness/answers" out; ln -s "$DROVER_SUBMISSION/../harness" folder'
run --with links -- sh -c 'cat out folder/answers' 2>/dev/null
ls -A "$DROVER_WORK/../box" 2>/dev/null
mkdir -m 777 /tmp/open /tmp/open/inner
run -- sh -c 'for d in /tmp/open /tmp/open/inner; do echo left >$d/left; mkdir -p $d/left-folder/inner && echo left >$d/left-folder/inner/file; done' 2>/dev/null
ls -AR /tmp/open | grep left
echo done
`, probe.Held+"left\n"+probe.Held+"done\n")
}
