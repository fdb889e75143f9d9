package testrunner_test

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/coretest"
	"drover/core/harness"
)

// stock is a spec that the stock harness grades by these files.
func (w *fixture) stock(files map[string]string) core.Spec {
	w.t.Helper()
	var b bytes.Buffer
	archive := tar.NewWriter(&b)
	for name, text := range files {
		require.NoError(w.t, archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(text))}))
		_, err := archive.Write([]byte(text))
		require.NoError(w.t, err)
	}
	require.NoError(w.t, archive.Close())
	spec := coretest.Spec("r1", w.cluster.Pool, "ann")
	spec.Command = nil
	file := w.blobs.put("stock", b.String())
	spec.Harness, spec.Input = &file, []byte(`{"drover/stock":"cases"}`)
	spec.Files = []core.File{w.blobs.put("prog", "the submission")}
	return spec
}

// A limit that a checker reaches is its own fault only if it reaches it with no output, too.
func TestACheckersLimitsAreNotUsedUpByTheProgram(t *testing.T) {
	t.Parallel()
	const checked = "run: [prog]\nchecker: {files: [check], run: [check], limits: {wall: 3s}}\ntests: [{name: a, compare: checker}]"
	for name, test := range map[string]struct {
		printed string
		exit    agent.Exit
		always  bool
		verdict harness.Verdict
	}{
		"time":            {"1 1 1", agent.Exit{Code: 137, Signal: "SIGKILL", TimedOut: true}, false, harness.TimeLimit},
		"output":          {"1 1 1", agent.Exit{Truncated: true}, false, harness.OutputLimit},
		"memory":          {"1 1 1", agent.Exit{Code: 137, Signal: "SIGKILL", MemoryExceeded: true}, false, harness.MemoryLimit},
		"always":          {"1 1 1", agent.Exit{Code: 137, Signal: "SIGKILL", TimedOut: true}, true, harness.HarnessFault},
		"nothing printed": {"", agent.Exit{Code: 137, Signal: "SIGKILL", TimedOut: true}, true, harness.HarnessFault},
		"a crash":         {"1 1 1", agent.Exit{Code: 139, Signal: "SIGSEGV"}, false, harness.HarnessFault},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.script.run = byName(map[string]played{
				"prog": func(_ context.Context, _ int, _ agent.Run, sink func(string, []byte)) (agent.Exit, error) {
					sink(agent.Stdout, []byte(test.printed))
					return agent.Exit{}, nil
				},
				"check": func(_ context.Context, _ int, run agent.Run, _ func(string, []byte)) (agent.Exit, error) {
					judged, err := io.ReadAll(run.Stdin)
					if len(judged) > 0 || test.always {
						return test.exit, err
					}
					return agent.Exit{Code: 43}, err
				},
			})
			w.submit(w.stock(map[string]string{"cases.yaml": checked, "check": "#!/bin/sh"}))
			w.cluster.AddVMs(t, 1)
			w.start(nil)
			r := w.result()
			require.Equal(t, test.verdict, harness.VerdictOf(&r), r.Reason)
		})
	}
}

// answers plays the programs of a grading: by their first word.
func answers(all map[string]agent.Exit, out map[string]string) func(context.Context, int, agent.Run, func(string, []byte)) (agent.Exit, error) {
	return func(_ context.Context, _ int, run agent.Run, sink func(string, []byte)) (agent.Exit, error) {
		word := run.Args[0]
		if exit, ok := all[word]; ok || out[word] != "" {
			sink(agent.Stdout, []byte(out[word]))
			return exit, nil
		}
		return agent.Exit{}, core.Errorf(core.CodeInvalid, "vm", "no %s", word)
	}
}

func TestSuite(t *testing.T) {
	t.Parallel()
	const tests = `
build: [[make]]
run: [prog]
tests:
  - {name: a, output: right}
  - {name: b, output: other, points: 2}
`
	const checked = `
run: [prog]
checker: {files: [check], build: [[make]], run: [check]}
tests: [{name: a, compare: checker}]
`
	well, died := agent.Exit{}, agent.Exit{Code: 139, Signal: "SIGSEGV"}
	late := agent.Exit{Code: 137, Signal: "SIGKILL", TimedOut: true}
	for name, test := range map[string]struct {
		yaml    string
		exits   map[string]agent.Exit
		out     map[string]string
		state   core.RequestState
		blame   core.Blame
		verdict harness.Verdict
		score   float64
		says    string // the reason, or a message
	}{
		"Some right":             {yaml: tests, exits: map[string]agent.Exit{"make": well, "prog": well}, out: map[string]string{"prog": "right"}, state: core.RequestCompleted, verdict: harness.Partial, score: 1, says: "line 1 differs"},
		"Build fails":            {yaml: tests, exits: map[string]agent.Exit{"make": {Code: 2}}, state: core.RequestCompleted, verdict: harness.BuildError, says: "exit code 2"},
		"Build cannot start":     {yaml: tests, state: core.RequestCompleted, verdict: harness.BuildError, says: "could not be started"},
		"Build takes too long":   {yaml: tests, exits: map[string]agent.Exit{"make": late}, state: core.RequestCompleted, verdict: harness.BuildError, says: "the time of the whole grading was up: 1m"},
		"Crash":                  {yaml: tests, exits: map[string]agent.Exit{"make": well, "prog": died}, state: core.RequestCompleted, verdict: harness.Crashed, says: "SIGSEGV"},
		"Not there":              {yaml: tests, exits: map[string]agent.Exit{"make": well}, state: core.RequestCompleted, verdict: harness.Crashed, says: "could not be started"},
		"Bad file":               {yaml: "run: [prog]\ntest: []", state: core.RequestFailed, blame: core.BlameHarness, verdict: harness.HarnessFault, says: `cases.yaml, line 2: cases.yaml has no field "test"`},
		"No file":                {state: core.RequestFailed, blame: core.BlameHarness, verdict: harness.HarnessFault, says: "has no cases.yaml"},
		"Checker accepts":        {yaml: checked, exits: map[string]agent.Exit{"make": well, "prog": well, "check": well}, state: core.RequestCompleted, verdict: harness.Passed, score: 1},
		"Checker refuses":        {yaml: checked, exits: map[string]agent.Exit{"make": well, "prog": well, "check": {Code: 1}}, out: map[string]string{"check": "too long"}, state: core.RequestCompleted, verdict: harness.Failed, says: "too long"},
		"Checker crashes":        {yaml: checked, exits: map[string]agent.Exit{"make": well, "prog": well, "check": died}, state: core.RequestFailed, blame: core.BlameHarness, verdict: harness.HarnessFault, says: "the checker failed at the test a: it was ended by the signal SIGSEGV"},
		"Checker is confused":    {yaml: checked, exits: map[string]agent.Exit{"make": well, "prog": well, "check": {Code: 3}}, state: core.RequestFailed, blame: core.BlameHarness, verdict: harness.HarnessFault, says: "exit code 3"},
		"Checker is not there":   {yaml: checked, exits: map[string]agent.Exit{"make": well, "prog": well}, state: core.RequestFailed, blame: core.BlameHarness, verdict: harness.HarnessFault, says: "could not be started"},
		"Checker does not build": {yaml: checked, exits: map[string]agent.Exit{"make": {Code: 1}}, out: map[string]string{"make": "check.c:1"}, state: core.RequestFailed, blame: core.BlameHarness, verdict: harness.HarnessFault, says: "check.c:1"},
		"Checker too late":       {yaml: "timeout: 5s" + checked, exits: map[string]agent.Exit{"make": late}, state: core.RequestFailed, blame: core.BlameHarness, verdict: harness.HarnessFault, says: "its checker could not be built: the time of the whole grading was up: 5s"},
		"Checker not needed":     {yaml: checked, exits: map[string]agent.Exit{"make": well, "prog": died}, state: core.RequestCompleted, verdict: harness.Crashed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.script.run = answers(test.exits, test.out)
			files := map[string]string{"check": "#!/bin/sh"}
			if test.yaml != "" {
				files["cases.yaml"] = test.yaml
			}
			w.submit(w.stock(files))
			w.cluster.AddVMs(t, 1)
			w.start(nil)
			r := w.result()
			assert.Equal(t, test.state, r.State)
			assert.Equal(t, test.blame, r.Blame)
			assert.Equal(t, test.verdict, harness.VerdictOf(&r))
			all := r.Reason
			for _, one := range r.Tests {
				all += one.Message
			}
			assert.Contains(t, all, test.says)
			if test.state == core.RequestCompleted {
				assert.InDelta(t, test.score, *r.Score, 0)
			}
		})
	}
}

// What a checker says to staff is among the harness's errors, which students do not see, and in no message.
func TestSuite_NotesForStaff(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.script.run = func(_ context.Context, _ int, run agent.Run, sink func(string, []byte)) (agent.Exit, error) {
		if run.Args[0] != "check" {
			return agent.Exit{}, nil
		}
		assert.Equal(t, "strictly", run.Args[len(run.Args)-1])
		sink(agent.Stdout, []byte("for all\n"))
		sink(agent.Stderr, []byte("for judges\n"))
		return agent.Exit{Code: 43}, nil
	}
	w.submit(w.stock(map[string]string{
		"cases.yaml": "run: [prog]\nchecker: {files: [check], run: [check], stderr: staff}\ntests: [{name: a, compare: checker, checker_args: [strictly]}]",
		"check":      "checker",
	}))
	w.cluster.AddVMs(t, 1)
	w.start(nil)
	r := w.result()
	assert.Equal(t, "a: for judges\n", r.Stderr)
	assert.Contains(t, r.Tests[0].Message, "for all")
	assert.NotContains(t, r.Tests[0].Message+r.Stdout, "judges")
}

// The harness's files never enter the VM but those that the file names.
func TestSuite_StagesNoAnswers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.script.run = answers(map[string]agent.Exit{"prog": {}}, nil)
	w.submit(w.stock(map[string]string{
		"cases.yaml": "run: [prog]\nfiles: [lib.h]\nchecker: {files: [check], run: [prog]}\n" +
			"tests: [{output: {file: SECRET}, files: {data: x}}, {input: {file: INPUT}, output: {file: SECRET}, compare: checker}]",
		"SECRET": "answer", "INPUT": "question", "lib.h": "header", "check": "checker",
	}))
	w.cluster.AddVMs(t, 1)
	w.start(nil)
	r := w.result()
	require.Equal(t, core.RequestCompleted, r.State, r.Reason)
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Len(t, w.vms, 1)
	assert.Equal(t, []string{
		"stage work prog", "keep submission", "reset ", "lay work check", "keep checker", "reset submission", // the checker, before anything ran
		"lay work lib.h", "keep built",
		"reset built", "lay work data", "run prog",
		"reset built", "run prog", "reset checker", "lay work answer input output", "run prog input output answer",
	}, w.vms[0].did)
}

// When the whole grading's time is up, what is left is skipped.
func TestSuite_TimeIsUp(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.script.run = func(_ context.Context, _ int, run agent.Run, _ func(string, []byte)) (agent.Exit, error) {
		if run.Share.Timeout < 9*time.Second { // what is left of the time is less than the test's own
			return agent.Exit{TimedOut: true, Signal: "SIGKILL"}, nil
		}
		return agent.Exit{}, nil
	}
	w.submit(w.stock(map[string]string{"cases.yaml": "timeout: 5s\nrun: [prog]\ntests: [{output: \"\"}, {output: \"\"}]"}))
	w.cluster.AddVMs(t, 1)
	w.start(nil)
	r := w.result()
	require.Equal(t, core.RequestCompleted, r.State, r.Reason)
	require.Len(t, r.Tests, 2)
	assert.Equal(t, harness.TimeLimit, harness.VerdictOf(&r))
	assert.True(t, strings.HasPrefix(r.Tests[0].Message, "time limit: the time of the whole grading was up: 5s\n"), r.Tests[0].Message)
	assert.Equal(t, "skipped", r.Tests[1].Verdict)
}

// What cannot be removed after a submission in any of the VMs that it gets is its doing. It is not
// where a VM dies, nor where it was the checker that ran last.
func TestSuite_Unclean(t *testing.T) {
	t.Parallel()
	unclean := core.Wrap(agent.ErrUnclean, core.CodeBadVM, "vm", "VM vm failed")
	died := core.Errorf(core.CodeBadVM, "vm", "VM vm does not answer")
	const checked = "run: [prog]\nchecker: {files: [check], run: [check], limits: {wall: 3s}}\ntests: [{compare: checker}, {compare: checker}]"
	for name, test := range map[string]struct {
		yaml  string
		at    int // which reset of a VM fails
		errs  []error
		state core.RequestState
		blame core.Blame
	}{
		"in every VM":       {"run: [prog]\ntests: [{}, {}]", 2, []error{unclean, unclean, unclean}, core.RequestFailed, core.BlameSubmission},
		"in two VMs":        {"run: [prog]\ntests: [{}, {}]", 2, []error{unclean, unclean, nil}, core.RequestCompleted, core.BlameNone},
		"and one VM died":   {"run: [prog]\ntests: [{}, {}]", 2, []error{unclean, died, unclean}, core.RequestDead, core.BlamePlatform},
		"before a checker":  {checked, 4, []error{unclean, unclean, unclean}, core.RequestFailed, core.BlameSubmission},
		"after the checker": {checked, 5, []error{unclean, unclean, unclean}, core.RequestDead, core.BlamePlatform},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			resets := map[int]int{}
			w.script.reset = func(n int) error {
				if resets[n]++; resets[n] == test.at && n <= len(test.errs) {
					return test.errs[n-1]
				}
				return nil
			}
			w.script.run = answers(map[string]agent.Exit{"prog": {}, "check": {}}, nil)
			w.submit(w.stock(map[string]string{"cases.yaml": test.yaml, "check": "x"}))
			w.cluster.AddVMs(t, len(test.errs)+1)
			w.start(nil)
			r := w.result()
			assert.Equal(t, test.state, r.State, r.Reason)
			assert.Equal(t, test.blame, r.Blame)
			if test.blame == core.BlameSubmission {
				assert.Equal(t, "The program left something behind that could not be removed after it, in each of the 3 new VMs that it ran in.", r.Reason)
				assert.Equal(t, harness.Rejected, harness.VerdictOf(&r))
			}
		})
	}
}

// A VM that breaks in the middle of a grading is the platform's fault, and another one tries again.
func TestSuite_BrokenVM(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.script.reset = func(n int) error {
		if n == 1 {
			return core.Errorf(core.CodeBadVM, "vm", "it could not be cleaned")
		}
		return nil
	}
	w.script.run = answers(map[string]agent.Exit{"prog": {}}, nil)
	w.submit(w.stock(map[string]string{"cases.yaml": "run: [prog]\ntests: [{output: \"\"}]"}))
	w.cluster.AddVMs(t, 2)
	w.start(nil)
	r := w.result()
	require.Equal(t, core.RequestCompleted, r.State, r.Reason)
	assert.Equal(t, 2, r.Attempt)
	assert.Equal(t, harness.Passed, harness.VerdictOf(&r))
}

// Watchers learn of each test that has ended while others run. What a submission prints is none of that.
func TestSuite_Marks(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	going := make(chan struct{})
	w.script.run = func(_ context.Context, _ int, run agent.Run, sink func(string, []byte)) (agent.Exit, error) {
		sink(agent.Stdout, []byte("ffff"))
		sink(core.StreamTests, []byte("ffff"))
		if len(run.Args) > 1 {
			<-going
		}
		return agent.Exit{}, nil
	}
	w.submit(w.stock(map[string]string{"cases.yaml": `
run: [prog]
tests:
  - {name: a}
  - {name: b, output: other, visibility: hidden}
  - {name: c, args: [last]}
  - {name: d}
`}))
	w.cluster.AddVMs(t, 1)
	w.start(nil)
	require.Eventually(t, func() bool { return len(w.output.seen(core.StreamTests)) > 0 }, 5*time.Minute, time.Millisecond)
	assert.Equal(t, "fX..", string(w.output.seen(core.StreamTests)[0].Data))
	close(going)
	r := w.result()
	require.Equal(t, core.RequestCompleted, r.State, r.Reason)
	assert.InDelta(t, 3.0, *r.Score, 0)
}

// A graded result has a receipt, and each test says what decided it and within which limits.
func TestReceipt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	well := agent.Exit{}
	w.script.run = answers(map[string]agent.Exit{"make": well, "prog": well, "slow": {Code: 137, Signal: "SIGKILL", TimedOut: true, CPUMs: 2205}}, map[string]string{"prog": "right"})
	spec := w.stock(map[string]string{"cases.yaml": `
build: [[make]]
run: [prog]
limits: {time: 2}
groups:
  - {name: one, stop: true, tests: [{name: a, output: right, compare: tokens}, {name: b, run: [slow]}, {name: c}]}
  - {name: two, needs: [one], tests: [{name: d}]}
`})
	w.submit(spec)
	w.cluster.AddVMs(t, 1)
	w.start(nil)
	r := w.result()
	require.NotNil(t, r.Receipt, r.Reason)
	require.Equal(t, "test", r.Receipt.Drover)
	require.Equal(t, spec.Harness.Digest, r.Receipt.Harness)
	require.Regexp(t, "^sha256:[0-9a-f]{64}$", r.Receipt.Files)
	require.NotEmpty(t, r.Receipt.Kernel)
	require.Equal(t, core.NetworkNone, r.Receipt.Network)
	require.False(t, r.Receipt.Peer)
	require.Positive(t, r.Receipt.Processors)
	require.Positive(t, r.Receipt.Limits.Timeout)
	require.NotNil(t, r.Receipt.Noise)
	by := map[string]core.Decision{}
	for _, one := range r.Tests {
		require.NotNil(t, one.Decision, one.Name)
		by[one.Name] = *one.Decision
	}
	require.Equal(t, core.ByTokens, by["one/a"].By)
	require.Equal(t, core.ByTime, by["one/b"].By)
	require.Equal(t, int64(2000), by["one/b"].TimeMs)
	require.Equal(t, core.Decision{By: core.ByNeed}, by["one/c"])
	require.Equal(t, core.Decision{By: core.ByNeed}, by["two/d"])
	require.NotContains(t, r.Stdout, "decision", "students may see the report")
}
