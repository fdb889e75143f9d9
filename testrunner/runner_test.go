package testrunner_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/blobs/pack"
	"drover/core/coretest"
	"drover/core/harness"
	"drover/testrunner"
)

const report = `{"score":1,"max_score":2,"tests":[{"name":"a","score":1,"max_score":2,"message":"crashed: no\nmore","deps":[["p",1,2]]}]}`

// says is a run that prints and then ends.
func says(stdout, stderr string, exit agent.Exit) func(context.Context, int, agent.Run, func(string, []byte)) (agent.Exit, error) {
	return func(_ context.Context, _ int, _ agent.Run, sink func(string, []byte)) (agent.Exit, error) {
		sink(agent.Stdout, []byte(stdout))
		sink(agent.Stderr, []byte(stderr))
		return exit, nil
	}
}

// main gives a spec a harness with this program.
func (w *fixture) main(spec *core.Spec, program string) {
	w.t.Helper()
	made, err := harness.PackFiles(map[string]pack.File{harness.MainFile: {Content: []byte(program)}})
	require.NoError(w.t, err)
	tar, err := io.ReadAll(made.Tar())
	require.NoError(w.t, err)
	h := w.blobs.put("harness", string(tar))
	spec.Harness = &h
}

func graded(w *fixture, spec *core.Spec) {
	spec.Command = nil
	w.main(spec, "#!/bin/sh\ndrover-run -- sh $DROVER_SUBMISSION/answer.sh")
	spec.Files = []core.File{w.blobs.put("answer.sh", "echo 42")}
}

// A harness that would start submissions as its own user grades only where the pool says so.
func TestAHarnessWithoutDroverRunIsRefused(t *testing.T) {
	t.Parallel()
	for _, unboxed := range []bool{false, true} {
		w := newFixture(t)
		pool := core.DefaultPool(w.cluster.Pool)
		pool.Max, pool.Unboxed = 1000, unboxed
		require.NoError(t, w.cluster.Store.SetPool(t.Context(), pool))
		w.script.run = says(report, "", agent.Exit{})
		spec := coretest.Spec("r1", w.cluster.Pool, "ann")
		graded(w, &spec)
		w.main(&spec, "#!/bin/sh\nsh $DROVER_SUBMISSION/answer.sh")
		w.submit(spec)
		w.cluster.AddVMs(t, 1)
		w.start(nil)
		r := w.result()
		if unboxed {
			require.Equal(t, core.RequestCompleted, r.State)
			continue
		}
		require.Equal(t, core.BlameHarness, r.Blame)
		require.Contains(t, r.Reason, "nothing in it calls drover-run")
		require.Contains(t, r.Reason, "set p1 to unboxed")
	}
}

// The failure table of the package's documentation, the rows that end a request.
func TestEnds(t *testing.T) {
	t.Parallel()
	badVM := core.Errorf(core.CodeBadVM, "vm", "VM vm does not answer")
	tests := map[string]struct {
		graded bool
		spec   func(w *fixture, s *core.Spec)
		script script
		ledger func(core.Result) error

		state   core.RequestState
		blame   core.Blame
		limit   string
		reason  string // part of it; "" is none at all
		exit    int
		verdict harness.Verdict
		attempt int // 0: the first
	}{
		"Command ends well": {script: script{run: says("out", "err", agent.Exit{})}, state: core.RequestCompleted, verdict: harness.Passed},
		"Command ends badly": {
			script: script{run: says("", "", agent.Exit{Code: 3})}, state: core.RequestCompleted, exit: 3, verdict: harness.Failed,
		},
		"Command ends by a signal": {
			script: script{run: says("", "", agent.Exit{Code: 139, Signal: "SIGSEGV"})},
			state:  core.RequestCompleted, exit: 139, reason: "SIGSEGV", verdict: harness.Crashed,
		},
		"Command out of time": {
			script: script{run: says("", "", agent.Exit{Code: 137, Signal: "SIGKILL", TimedOut: true})},
			state:  core.RequestTimedOut, blame: core.BlameSubmission, limit: core.LimitTime, exit: 137, reason: "time limit of 1m", verdict: harness.TimeLimit,
		},
		"Command out of memory": {
			script: script{run: says("", "", agent.Exit{Code: 137, MemoryExceeded: true})},
			state:  core.RequestFailed, blame: core.BlameSubmission, limit: core.LimitMemory, exit: 137, reason: "limit of 256 MiB", verdict: harness.MemoryLimit,
		},
		"Command out of processes": {
			script: script{run: says("", "", agent.Exit{Code: 137, PidsExceeded: true})},
			state:  core.RequestFailed, blame: core.BlameSubmission, limit: core.LimitPids, exit: 137, reason: "limit of 64", verdict: harness.ProcessLimit,
		},
		"Command floods": {
			script: script{run: says("", "", agent.Exit{Code: 137, OutputExceeded: true})},
			state:  core.RequestFailed, blame: core.BlameSubmission, limit: core.LimitOutput, exit: 137, reason: "limit of 1 MiB", verdict: harness.OutputLimit,
		},
		"Command copes with a refusal": {
			script: script{run: says("", "", agent.Exit{Refused: []string{core.LimitPids}})}, state: core.RequestCompleted, verdict: harness.Passed,
		},
		"Command cannot be started": {
			script: script{run: func(context.Context, int, agent.Run, func(string, []byte)) (agent.Exit, error) {
				return agent.Exit{}, core.Errorf(core.CodeInvalid, "vm", "no such program")
			}},
			state: core.RequestFailed, blame: core.BlameSubmission, exit: 127, reason: "no such program", verdict: harness.Rejected,
		},
		"Files are refused": {
			spec:   func(w *fixture, s *core.Spec) { s.Files = []core.File{w.blobs.put("a", "x")} },
			script: script{stage: func(string) error { return core.Errorf(core.CodeLimit, "vm", "too large") }},
			state:  core.RequestFailed, blame: core.BlameSubmission, reason: "refused: too large", verdict: harness.Rejected,
		},
		"Good report": {
			graded: true, script: script{run: says(report, "noise on stderr", agent.Exit{})}, state: core.RequestCompleted, verdict: harness.Crashed,
		},
		"Report that says failed": {
			graded: true, script: script{run: says(strings.Replace(report, "{", `{"failed":true,`, 1), "", agent.Exit{})},
			state: core.RequestFailed, blame: core.BlameSubmission, reason: "could not grade this submission: crashed: no", verdict: harness.Crashed,
		},
		"Harness prints no JSON": {
			graded: true, script: script{run: says("all fine", "", agent.Exit{})},
			state: core.RequestFailed, blame: core.BlameHarness, reason: "not your fault: the harness's output is not JSON", verdict: harness.HarnessFault,
		},
		"Harness exits with a code": {
			graded: true, script: script{run: says(report, "", agent.Exit{Code: 2})},
			state: core.RequestFailed, blame: core.BlameHarness, exit: 2, reason: "exit code 2", verdict: harness.HarnessFault,
		},
		"Harness ends by a signal": {
			graded: true, script: script{run: says(report, "", agent.Exit{Code: 134, Signal: "SIGABRT"})},
			state: core.RequestFailed, blame: core.BlameHarness, exit: 134, reason: "SIGABRT", verdict: harness.HarnessFault,
		},
		"Harness out of time": {
			graded: true, script: script{run: says("", "", agent.Exit{Code: 137, TimedOut: true})},
			state: core.RequestFailed, blame: core.BlameHarness, limit: core.LimitTime, exit: 137, reason: "time limit", verdict: harness.HarnessFault,
		},
		"Submission uses up the time": {
			graded: true, script: script{run: says("", "", agent.Exit{Code: 137, TimedOut: true, BoxedMs: time.Hour.Milliseconds()})},
			state: core.RequestFailed, blame: core.BlameSubmission, limit: core.LimitTime, exit: 137, reason: "Programs of the submission ran for half of it", verdict: harness.TimeLimit,
		},
		"Harness floods until killed": {
			graded: true, script: script{run: says("", "", agent.Exit{Code: 137, OutputExceeded: true})},
			state: core.RequestFailed, blame: core.BlameHarness, limit: core.LimitOutput, exit: 137, reason: "output limit", verdict: harness.HarnessFault,
		},
		"Report is cut": {
			graded: true, script: script{run: says(report+strings.Repeat(" ", 1<<20), "", agent.Exit{Truncated: true})},
			state: core.RequestFailed, blame: core.BlameHarness, limit: core.LimitOutput, reason: "output limit", verdict: harness.HarnessFault,
		},
		"Only standard error is cut": {
			graded: true, script: script{run: says(report, strings.Repeat("x", 1<<20), agent.Exit{Truncated: true})},
			state: core.RequestCompleted, verdict: harness.Crashed,
		},
		"Grading out of memory": {
			graded: true, script: script{run: says("", "", agent.Exit{Code: 137, MemoryExceeded: true})},
			state: core.RequestFailed, blame: core.BlameSubmission, limit: core.LimitMemory, exit: 137, reason: "more memory", verdict: harness.MemoryLimit,
		},
		"Harness copes with a refusal": {
			graded: true, script: script{run: says(report, "", agent.Exit{Refused: []string{core.LimitPids}})},
			state: core.RequestFailed, blame: core.BlameSubmission, limit: core.LimitPids, reason: "more processes", verdict: harness.ProcessLimit,
		},
		"Harness waits in vain after a refusal": {
			graded: true, script: script{run: says("", "", agent.Exit{Code: 137, TimedOut: true, Refused: []string{core.LimitMemory}})},
			state: core.RequestFailed, blame: core.BlameSubmission, limit: core.LimitMemory, exit: 137, reason: "more memory", verdict: harness.MemoryLimit,
		},
		"Harness cannot be started": {
			graded: true,
			script: script{run: func(context.Context, int, agent.Run, func(string, []byte)) (agent.Exit, error) {
				return agent.Exit{}, core.Errorf(core.CodeInvalid, "vm", "not executable")
			}},
			state: core.RequestFailed, blame: core.BlameHarness, exit: 127, reason: "not executable", verdict: harness.HarnessFault,
		},
		"Harness archive is refused": {
			graded: true,
			script: script{stage: func(place string) error {
				if place != "harness" {
					return nil
				}
				return core.Errorf(core.CodeInvalid, "vm", "a link leads away")
			}},
			state: core.RequestFailed, blame: core.BlameHarness, reason: "unpacked, which is not your fault: a link", verdict: harness.HarnessFault,
		},
		"Submission is gone": { // G7
			graded: true, spec: func(w *fixture, _ *core.Spec) { delete(w.blobs.files, "sha256:answer.sh") },
			state: core.RequestFailed, blame: core.BlamePlatform, reason: "Submission content not found on testrunner.", verdict: harness.PlatformFault,
		},
		"A file is larger than declared": {
			graded: true, spec: func(_ *fixture, s *core.Spec) { s.Files[0].Size-- },
			state: core.RequestFailed, blame: core.BlameSubmission, reason: "answer.sh has another size than the", verdict: harness.Rejected,
		},
		"A file is smaller than declared": {
			graded: true, spec: func(_ *fixture, s *core.Spec) { s.Files[0].Size++ },
			state: core.RequestFailed, blame: core.BlameSubmission, reason: "answer.sh has another size than the", verdict: harness.Rejected,
		},
		"Harness is gone": {
			graded: true, spec: func(w *fixture, _ *core.Spec) { delete(w.blobs.files, "sha256:harness") },
			state: core.RequestFailed, blame: core.BlamePlatform, reason: "Harness content not found", verdict: harness.PlatformFault,
		},
		"Standard input is gone": {
			spec:  func(_ *fixture, s *core.Spec) { s.Stdin = &core.File{Path: "in", Digest: "sha256:none"} },
			state: core.RequestFailed, blame: core.BlamePlatform, reason: "Submission content not found", verdict: harness.PlatformFault,
		},
		"Input is wrong": {
			graded: true, spec: func(_ *fixture, s *core.Spec) { s.Input = json.RawMessage(`{"uid":1}`) },
			state: core.RequestFailed, blame: core.BlamePlatform, reason: `unknown key "uid"`, verdict: harness.PlatformFault,
		},
		"No VM lives": {
			script: script{run: func(context.Context, int, agent.Run, func(string, []byte)) (agent.Exit, error) {
				return agent.Exit{}, badVM
			}},
			state: core.RequestDead, blame: core.BlamePlatform, reason: "3 VMs died while it ran in them", verdict: harness.PlatformFault, attempt: 3,
		},
		"One VM does not run": {
			script: script{run: func(_ context.Context, n int, _ agent.Run, sink func(string, []byte)) (agent.Exit, error) {
				sink(agent.Stdout, []byte("half"))
				if n == 1 {
					return agent.Exit{}, badVM
				}
				return agent.Exit{}, nil
			}},
			state: core.RequestCompleted, verdict: harness.Passed, attempt: 2,
		},
		"Store refuses the result": {
			ledger: func(r core.Result) error {
				if r.Stdout != "" {
					return core.Errorf(core.CodeLimit, r.ID, "too large")
				}
				return nil
			},
			script: script{run: says("much", "", agent.Exit{})},
			state:  core.RequestFailed, blame: core.BlamePlatform, reason: "could not be kept: too large", verdict: harness.PlatformFault,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			spec := coretest.Spec("r1", "p1", "ann")
			if test.graded {
				graded(w, &spec)
			}
			if test.spec != nil {
				test.spec(w, &spec)
			}
			w.script = test.script
			if test.ledger != nil {
				w.ledger.fail(test.ledger)
			}
			w.cluster.AddVMs(t, 4)
			w.submit(spec)
			r := w.start(nil)
			got := w.result()
			r.drain()
			used := got.Attempt
			if got.State == core.RequestDead {
				used++ // that of the claim which found that enough had died
			}

			assert.Equal(t, test.state, got.State)
			assert.Equal(t, test.blame, got.Blame)
			assert.Equal(t, test.limit, got.Limit)
			assert.Equal(t, test.exit, got.ExitCode)
			assert.Equal(t, test.verdict, harness.VerdictOf(&got))
			assert.Equal(t, max(test.attempt, 1), got.Attempt)
			if test.reason == "" {
				assert.Empty(t, got.Reason)
			}
			assert.Contains(t, got.Reason, test.reason)
			row, err := w.ledger.Get(t.Context(), spec.ID)
			require.NoError(t, err)
			assert.Equal(t, test.state, row.State)
			// Whatever the end, nothing is held any more and no VM is used twice.
			assert.Empty(t, w.place(spec).State)
			dead, err := w.cluster.Store.ListDead(t.Context(), 10)
			require.NoError(t, err)
			assert.Equal(t, test.state == core.RequestDead, len(dead) == 1)
			states := w.vmStates()
			assert.Equal(t, used, states[core.VMDirty])
			assert.Equal(t, 4-used, states[core.VMClean])
			for _, v := range w.vms {
				assert.True(t, v.closed)
			}
		})
	}
}

func TestResultTellsEverything(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	spec := coretest.Spec("r1", "p1", "ann")
	spec.Submitted = time.Now().Add(-time.Minute).UnixMilli()
	w.script.run = says("out\xff", "err", agent.Exit{
		Code: 1, CPUMs: 5, WallMs: 6, MemoryPeakBytes: 7, Truncated: true, HeldBy: map[string]string{core.LimitMemory: "cgroup"},
	})
	vm := w.cluster.AddVMs(t, 1)[0]
	w.submit(spec)
	log := &lines{}
	r := w.start(func(_ *testrunner.Config, d *testrunner.Deps) { d.Log = log.debug() })
	got := w.result()
	r.drain()

	assert.Equal(t, 1, log.of("recorded the end of a request", "request="+spec.Key(), "state="+string(got.State), "vm="+vm), "its end is one line of the log")
	metrics := coretest.Metrics(t, r.metrics)
	assert.InDelta(t, 1, metrics["drover_testrunner_waiting_seconds_count"], 0)
	assert.GreaterOrEqual(t, metrics["drover_testrunner_waiting_seconds_sum"], 60.0)
	assert.Equal(t, "out\ufffd", got.Stdout)
	assert.Equal(t, "err", got.Stderr)
	assert.True(t, got.Truncated)
	assert.Equal(t, core.Usage{CPUMs: 5, WallMs: 6, MemoryPeakBytes: 7}, got.Usage)
	assert.Equal(t, "cgroup", got.HeldBy[core.LimitMemory])
	assert.Equal(t, []any{"h1", "p1", vm, 1, 1}, []any{got.Host, got.Pool, got.VM, got.Attempt, got.Generation})
	assert.NotEmpty(t, got.Token)
	assert.Equal(t, spec.Submitted, got.Times.Submitted)
	assert.GreaterOrEqual(t, got.Times.Claimed, time.Minute.Milliseconds())
	assert.GreaterOrEqual(t, got.Times.Started, got.Times.Claimed)
	assert.GreaterOrEqual(t, got.Times.Finished, got.Times.Started)
	assert.Equal(t, spec.Key()+"@"+got.Token, w.vms[0].assigned)
}

// What runs in a VM of a lease has the pool that it was submitted to: the lease's is gone with it.
func TestResultInAPoolOfALease(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p, err := w.cluster.Store.GetPool(t.Context(), "p1")
	require.NoError(t, err)
	p.Name, p.Of, p.Lease = core.LeasedPool("l1", 0), "p1", "l1"
	require.NoError(t, w.cluster.Store.SetLeased(t.Context(), core.LeasedPoolSetting{Pool: p, Open: true, Submitters: []string{"ann"}}))
	w.script.run = says("", "", agent.Exit{})
	w.cluster.Pool = p.Name
	w.cluster.AddVMs(t, 1)
	w.submit(coretest.Spec("r1", "p1", "ann"))
	r := w.start(nil)
	got := w.result()
	r.drain()
	require.Equal(t, "p1", got.Pool)
}

// What a harness is given, and what a plain command is.
func TestStaging(t *testing.T) {
	t.Parallel()
	t.Run("Harness", func(t *testing.T) {
		t.Parallel()
		w := newFixture(t)
		spec := coretest.Spec("r1", "p1", "ann")
		graded(w, &spec)
		spec.Files[0].Mode = 0o755
		spec.Env = []string{"LANG=C"}
		config, err := harness.ParseConfig([]byte(`{"drover/timeout":2,"drover/actions":{"public":["p"]}}`))
		require.NoError(t, err)
		spec.Input = harness.NewInput(config, harness.TestPublic)
		var stdin []byte
		w.script.run = func(_ context.Context, _ int, run agent.Run, sink func(string, []byte)) (agent.Exit, error) {
			stdin, _ = io.ReadAll(run.Stdin)
			sink(agent.Stdout, []byte(`{}`))
			return agent.Exit{}, nil
		}
		w.cluster.AddVMs(t, 1)
		w.submit(spec)
		r := w.start(nil)
		w.result()
		r.drain()

		v := w.vms[0]
		assert.Equal(t, map[string]map[string]string{"harness": {"main": "#!/bin/sh\ndrover-run -- sh $DROVER_SUBMISSION/answer.sh"}, "submission": {"answer.sh": "echo 42"}}, v.staged)
		assert.Equal(t, []string{agent.HarnessDir + "/main"}, v.ran.Args)
		assert.Equal(t, agent.HarnessDir, v.ran.Dir)
		assert.Equal(t, 2*time.Second, v.ran.Limits.Timeout, "the harness's own time-out counts where it is shorter")
		assert.Equal(t, []string{
			"LANG=C", "DROVER_HARNESS=" + agent.HarnessDir, "DROVER_SUBMISSION=" + agent.SubmissionDir, "DROVER_WORK=" + agent.WorkDir,
		}, v.ran.Env)
		var got map[string]any
		require.NoError(t, json.Unmarshal(stdin, &got))
		assert.Equal(t, agent.SubmissionDir, got["testables_directory"])
		assert.Equal(t, agent.HarnessDir, got["harness_directory"])
		assert.Equal(t, []any{"p"}, got["actions"])
		assert.InEpsilon(t, 1, got["drover/attempt"], 0)
	})
	t.Run("Command", func(t *testing.T) {
		t.Parallel()
		w := newFixture(t)
		spec := coretest.Spec("r1", "p1", "ann")
		in := w.blobs.put("in", "input")
		spec.Stdin, spec.Files = &in, []core.File{w.blobs.put("dir/a", "A"), w.blobs.put("b", "")}
		var stdin []byte
		w.script.run = func(_ context.Context, _ int, run agent.Run, _ func(string, []byte)) (agent.Exit, error) {
			stdin, _ = io.ReadAll(run.Stdin)
			return agent.Exit{}, nil
		}
		w.cluster.AddVMs(t, 1)
		w.submit(spec)
		r := w.start(nil)
		w.result()
		r.drain()
		assert.Equal(t, "input", string(stdin))
		assert.Equal(t, map[string]map[string]string{"work": {"dir/a": "A", "b": ""}}, w.vms[0].staged)
		assert.Equal(t, []string{"true"}, w.vms[0].ran.Args)
		assert.Equal(t, core.DefaultPool("p").Limits.Timeout, w.vms[0].ran.Limits.Timeout)
	})
}

// A harness may ask for less time than the request gets, not for more.
func TestHarnessCannotAskForMoreTime(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	spec := coretest.Spec("r1", "p1", "ann")
	graded(w, &spec)
	spec.Input = json.RawMessage(`{"raw_harness":{"config":{"drover/timeout":3600}}}`)
	w.script.run = says(`{}`, "", agent.Exit{})
	w.cluster.AddVMs(t, 1)
	w.submit(spec)
	r := w.start(nil)
	w.result()
	r.drain()
	assert.Equal(t, core.DefaultPool("p").Limits.Timeout, w.vms[0].ran.Limits.Timeout)
}

func TestManySlotsShareTheWork(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const n = 40
	w.cluster.AddVMs(t, n)
	for i := range n {
		w.submit(coretest.Spec("r"+string(rune('a'+i/26))+string(rune('a'+i%26)), "p1", "ann"))
	}
	r := w.start(func(c *testrunner.Config, _ *testrunner.Deps) { c.Slots = 8 })
	seen := map[string]bool{}
	for range n {
		got := w.result()
		assert.False(t, seen[got.ID])
		seen[got.ID] = true
	}
	r.drain()
	assert.Equal(t, map[core.VMState]int{core.VMDirty: n}, w.vmStates())
	for name, want := range map[string]float64{
		"drover_testrunner_claims_total": n, "drover_testrunner_finishes_total": n, "drover_testrunner_retries_total": 0,
		"drover_testrunner_releases_total": 0, "drover_testrunner_fenced_total": 0, "drover_testrunner_busy_slots": 0,
		"drover_testrunner_slots": 8, "drover_testrunner_lost_seconds_total": 0, "drover_testrunner_recheck_cpu_seconds_total": 0, "drover_testrunner_spool_results": 0, "drover_testrunner_heartbeat_age_seconds": -1,
		"drover_testrunner_staging_seconds": n,
	} {
		assert.InDelta(t, want, coretest.SumMetric(t, r.metrics, name), 0, name)
	}
}

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for says, change := range map[string]func(*testrunner.Config){
		"not an owner's name":     func(c *testrunner.Config) { c.Registration.Owner = "x" },
		"not the name of a testr": func(c *testrunner.Config) { c.Registration.Owner = "vmfactory@h1#0" },
		"no run folder":           func(c *testrunner.Config) { c.RunDir = "" },
		"wait for the store":      func(c *testrunner.Config) { c.SpoolDir = "" },
		"at least 1":              func(c *testrunner.Config) { c.Slots = -1 },
		"below 0":                 func(c *testrunner.Config) { c.HandOver = -1 },
	} {
		cfg := w.config()
		change(&cfg)
		_, err := testrunner.New(cfg, testrunner.Deps{})
		require.Error(t, err, says)
		assert.Equal(t, core.CodeInvalid, core.CodeOf(err), says)
		assert.Contains(t, err.Error(), says)
	}
}
