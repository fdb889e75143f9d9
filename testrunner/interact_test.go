package testrunner_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/harness"
	"drover/core/service/clock"
	"drover/testrunner"
)

const talked = `
run: [prog]
limits: {wall: 2s}
interactor: {files: [talk], build: [[make]], run: [talk], limits: {wall: 3s}}
tests: [{name: a, input: "7", output: "8", compare: interactor}]
`

type played = func(context.Context, int, agent.Run, func(string, []byte)) (agent.Exit, error)

// byName plays programs by their first word.
func byName(all map[string]played) played {
	return func(ctx context.Context, n int, run agent.Run, sink func(string, []byte)) (agent.Exit, error) {
		if play := all[run.Args[0]]; play != nil {
			return play(ctx, n, run, sink)
		}
		return agent.Exit{}, nil
	}
}

// atOnce ends a program; after lets it first read to the end of its input, which is the end of the other one.
func atOnce(exit agent.Exit, says string) played {
	return func(_ context.Context, _ int, _ agent.Run, sink func(string, []byte)) (agent.Exit, error) {
		sink(agent.Stderr, []byte(says))
		return exit, nil
	}
}

func after(exit agent.Exit, says string) played {
	return func(ctx context.Context, n int, run agent.Run, sink func(string, []byte)) (agent.Exit, error) {
		if run.Stdin != nil {
			if _, err := io.Copy(io.Discard, run.Stdin); err != nil {
				return agent.Exit{}, err
			}
		}
		return atOnce(exit, says)(ctx, n, run, sink)
	}
}

// closing lets a program first close its output and then read to the end of its input.
func closing(exit agent.Exit, says string) played {
	return func(ctx context.Context, n int, run agent.Run, sink func(string, []byte)) (agent.Exit, error) {
		run.Closed()
		return after(exit, says)(ctx, n, run, sink)
	}
}

// Who ended, how, and who was first decide a conversation.
func TestWhoDecidesAConversation(t *testing.T) {
	t.Parallel()
	well, died, odd := agent.Exit{}, agent.Exit{Code: 139, Signal: "SIGSEGV"}, agent.Exit{Code: 3}
	late := agent.Exit{Code: 137, Signal: "SIGKILL", TimedOut: true}
	loud := agent.Exit{Code: 137, Signal: "SIGKILL", OutputExceeded: true}
	right, wrong := agent.Exit{Code: 42}, agent.Exit{Code: 43}
	for name, test := range map[string]struct {
		prog, talk played
		verdict    harness.Verdict
		score      float64
		says       string
	}{
		"the program, and it was right":           {atOnce(well, ""), after(right, ""), harness.Passed, 1, ""},
		"the program, and it was wrong":           {atOnce(well, ""), after(wrong, "too few words"), harness.Failed, 0, "too few words"},
		"the program, and it was right in parts":  {atOnce(well, ""), after(agent.Exit{Code: 7}, "0.25"), harness.Partial, 0.25, ""},
		"the program, by a crash":                 {atOnce(died, ""), after(wrong, "it fell silent"), harness.Crashed, 0, "SIGSEGV"},
		"the program, and that killed the other":  {atOnce(died, ""), after(odd, "Traceback"), harness.Crashed, 0, "SIGSEGV"},
		"the program, by a limit":                 {atOnce(late, ""), after(wrong, ""), harness.TimeLimit, 0, ""},
		"the program, loud, and it was wrong":     {atOnce(loud, ""), after(wrong, "no number"), harness.Failed, 0, "no number"},
		"the program, loud, and it was right":     {atOnce(loud, ""), after(right, ""), harness.OutputLimit, 0, ""},
		"the program, loud, and the other failed": {atOnce(loud, ""), after(odd, ""), harness.OutputLimit, 0, ""},
		"the program, and the other failed":       {atOnce(well, ""), after(odd, "Traceback"), harness.HarnessFault, 0, "the interactor failed at the test a: it ended with exit code 3"},
		"the program, and the other was late":     {atOnce(well, ""), after(late, ""), harness.HarnessFault, 0, "the interactor failed"},
		"the interactor, content":                 {after(well, ""), atOnce(right, ""), harness.Passed, 1, ""},
		"the interactor, content too early":       {after(late, ""), atOnce(right, ""), harness.TimeLimit, 0, ""},
		"the interactor, and then a crash":        {after(died, ""), atOnce(right, ""), harness.Crashed, 0, ""},
		"the interactor, and it was wrong":        {after(well, ""), atOnce(wrong, "no number"), harness.Failed, 0, "no number"},
		"it was wrong and crashed then":           {after(died, ""), atOnce(wrong, ""), harness.Failed, 0, "the interactor says so"},
		"it was wrong and never ended":            {after(late, ""), atOnce(wrong, ""), harness.Failed, 0, ""},
		"the interactor, by a fault":              {after(died, ""), atOnce(odd, ""), harness.HarnessFault, 0, "the interactor failed"},
		"the interactor, by a limit":              {after(well, ""), atOnce(late, ""), harness.HarnessFault, 0, "the interactor failed"},
		"the interactor closed its output":        {after(well, ""), closing(right, ""), harness.Passed, 1, ""},
		"it closed, and the program was wrong":    {after(well, ""), closing(wrong, "too few"), harness.Failed, 0, "too few"},
		"it closed, and the program crashed":      {after(died, ""), closing(wrong, ""), harness.Crashed, 0, "SIGSEGV"},
		"the program closed its output":           {closing(well, ""), after(right, ""), harness.Passed, 1, ""},
		"it closed, and was wrong":                {closing(well, ""), after(wrong, "too few"), harness.Failed, 0, "too few"},
		"it closed, was wrong, and crashed then":  {closing(died, ""), after(wrong, "too few"), harness.Crashed, 0, "SIGSEGV"},
		"it closed, was wrong, and went on":       {closing(late, ""), after(wrong, "too few"), harness.TimeLimit, 0, ""},
		"it closed, and crashed then":             {closing(died, ""), after(right, ""), harness.Crashed, 0, "SIGSEGV"},
		"both closed":                             {closing(well, ""), closing(wrong, "nothing"), harness.Failed, 0, "nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.cluster.Peers = true
			w.script.run = byName(map[string]played{"prog": test.prog, "talk": test.talk})
			w.submit(w.stock(map[string]string{"cases.yaml": talked, "talk": "#!/bin/sh"}))
			w.cluster.AddVMs(t, 1)
			w.start(nil)
			r := w.result()
			assert.Equal(t, test.verdict, harness.VerdictOf(&r), r.Reason)
			all := r.Reason
			for _, one := range r.Tests {
				all += one.Message
			}
			assert.Contains(t, all, test.says)
			if test.verdict != harness.HarnessFault {
				assert.InDelta(t, test.score, *r.Score, 0)
			}
		})
	}
}

// patiently talks with a program until that has ended, and then ends by a limit; alone it ends as it should, or by the limit
// as well.
func patiently(limit agent.Exit, always bool) played {
	return func(ctx context.Context, n int, run agent.Run, sink func(string, []byte)) (agent.Exit, error) {
		if run.Stdin == nil && !always {
			return agent.Exit{Code: 43}, nil
		}
		if run.Stdin == nil {
			return limit, nil
		}
		return after(limit, "")(ctx, n, run, sink)
	}
}

// A limit that an interactor reaches is its own fault only if it reaches it when nobody talks with it.
func TestAnInteractorsLimitsAreNotUsedUpByTheProgram(t *testing.T) {
	t.Parallel()
	well, died := agent.Exit{}, agent.Exit{Code: 139, Signal: "SIGSEGV"}
	late := agent.Exit{Code: 137, Signal: "SIGKILL", TimedOut: true}
	busy := agent.Exit{Code: 137, Signal: "SIGKILL", TimedOut: true, CPUMs: 60_000}
	loud := agent.Exit{Truncated: true}
	large := agent.Exit{Code: 137, Signal: "SIGKILL", MemoryExceeded: true}
	for name, test := range map[string]struct {
		prog, talk played
		verdict    harness.Verdict
	}{
		"by asking much":                     {atOnce(well, ""), patiently(loud, false), harness.OutputLimit},
		"by what is hard to answer":          {atOnce(well, ""), patiently(busy, false), harness.TimeLimit},
		"by the clock":                       {atOnce(well, ""), patiently(late, false), harness.TimeLimit},
		"by memory":                          {atOnce(well, ""), patiently(large, false), harness.MemoryLimit},
		"and it crashed before":              {atOnce(died, ""), patiently(loud, false), harness.Crashed},
		"it prints too much by itself":       {atOnce(well, ""), patiently(loud, true), harness.HarnessFault},
		"it is too slow by itself":           {atOnce(well, ""), patiently(busy, true), harness.HarnessFault},
		"the program flooded and it is slow": {atOnce(agent.Exit{OutputExceeded: true}, ""), patiently(busy, false), harness.OutputLimit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.cluster.Peers = true
			w.script.run = byName(map[string]played{"prog": test.prog, "talk": test.talk})
			w.submit(w.stock(map[string]string{"cases.yaml": talked, "talk": "#!/bin/sh"}))
			w.cluster.AddVMs(t, 1)
			w.start(nil)
			r := w.result()
			require.Equal(t, test.verdict, harness.VerdictOf(&r), r.Reason)
		})
	}
}

// The clock of an interactor begins where that of the program ends, and one that has not ended soon after a program that
// ended badly is not waited for.
func TestAnInteractorWaitsForTheProgramAndNotTheOtherWayRound(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.cluster.Peers = true
	now, ends := clock.NewManual(time.Now()), make(chan struct{})
	w.script.run = byName(map[string]played{
		"prog": func(context.Context, int, agent.Run, func(string, []byte)) (agent.Exit, error) {
			<-ends
			return agent.Exit{Code: 137, Signal: "SIGKILL", TimedOut: true}, nil
		},
		"talk": func(ctx context.Context, _ int, run agent.Run, sink func(string, []byte)) (agent.Exit, error) {
			if run.Stdin == nil {
				return agent.Exit{}, nil
			}
			assert.Equal(t, "5s", run.Share.Timeout.String(), "its own limit, and that of the program")
			sink(agent.Stdout, []byte("go on"))
			close(ends)
			return untilKilled(ctx, "vm")
		},
	})
	w.submit(w.stock(map[string]string{"cases.yaml": talked, "talk": "#!/bin/sh"}))
	w.cluster.AddVMs(t, 1)
	w.start(func(_ *testrunner.Config, d *testrunner.Deps) { d.Clock = now })
	<-ends
	for len(w.ledger.recorded) == 0 {
		now.Advance(time.Second)
		runtime.Gosched()
	}
	r := w.result()
	require.Equal(t, harness.TimeLimit, harness.VerdictOf(&r), r.Reason)
	require.Contains(t, r.Tests[0].Message, "go on", "what it was given so far is shown")
}

// What one prints is what the other reads; the submission and what it is not to see never meet.
func TestAConversation(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.cluster.Peers = true
	const rounds = 100
	var heard string
	w.script.run = byName(map[string]played{
		"prog": func(_ context.Context, _ int, run agent.Run, sink func(string, []byte)) (agent.Exit, error) {
			in := bufio.NewReader(run.Stdin)
			for i := range rounds {
				sink(agent.Stdout, fmt.Appendln(nil, i))
				line, err := in.ReadString('\n')
				if err != nil || line != fmt.Sprintln(i+1) {
					return agent.Exit{Code: 1}, err
				}
			}
			sink(agent.Stderr, []byte("not for the interactor"))
			return agent.Exit{}, nil
		},
		"talk": func(_ context.Context, _ int, run agent.Run, sink func(string, []byte)) (agent.Exit, error) {
			in := bufio.NewScanner(run.Stdin)
			for in.Scan() {
				var n int
				if _, err := fmt.Sscan(in.Text(), &n); err != nil {
					return agent.Exit{}, err
				}
				heard = in.Text()
				sink(agent.Stdout, fmt.Appendln(nil, n+1))
			}
			return agent.Exit{Code: 42}, in.Err()
		},
	})
	w.submit(w.stock(map[string]string{"cases.yaml": talked, "talk": "#!/bin/sh"}))
	w.cluster.AddVMs(t, 1)
	w.start(nil)
	r := w.result()
	require.Equal(t, harness.Passed, harness.VerdictOf(&r), r.Reason)
	require.Equal(t, "99", heard)
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Len(t, w.vms, 2)
	vm, peer := w.vms[0], w.vms[1]
	require.Equal(t, core.PeerOf(vm.id), peer.id)
	assert.Equal(t, []string{"stage work prog", "keep built", "reset built", "run prog"}, vm.did)
	assert.Equal(t, []string{"lay work talk", "run make", "keep checker", "reset checker", "lay work answer input", "run talk input output answer"}, peer.did)
	assert.True(t, peer.closed)
}

// A VM that dies under a conversation, whichever it is, costs a try and no verdict.
func TestAVMDiesUnderAConversation(t *testing.T) {
	t.Parallel()
	for _, dies := range []string{"prog", "talk"} {
		t.Run(dies, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.cluster.Peers = true
			parts := map[string]played{"prog": after(agent.Exit{}, ""), "talk": after(agent.Exit{Code: 42}, "")}
			survives := parts[map[string]string{"prog": "talk", "talk": "prog"}[dies]]
			tries := 0
			w.script.run = func(ctx context.Context, n int, run agent.Run, sink func(string, []byte)) (agent.Exit, error) {
				switch {
				case run.Args[0] == dies && n <= 2:
					tries++
					return agent.Exit{}, core.Errorf(core.CodeBadVM, "vm", "VM vm does not answer")
				case run.Args[0] == dies:
					return atOnce(map[string]agent.Exit{"prog": {}, "talk": {Code: 42}}[dies], "")(ctx, n, run, sink)
				case run.Args[0] == "make":
					return agent.Exit{}, nil
				case n > 2:
					return survives(ctx, n, run, sink)
				}
				return untilKilled(ctx, "vm")
			}
			w.submit(w.stock(map[string]string{"cases.yaml": talked, "talk": "#!/bin/sh"}))
			w.cluster.AddVMs(t, 2)
			w.start(nil)
			r := w.result()
			require.Equal(t, harness.Passed, harness.VerdictOf(&r), r.Reason)
			require.Equal(t, 1, tries)
			require.Equal(t, 2, r.Attempt)
		})
	}
}

func TestAnInteractorNeedsAPoolWithPeers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.submit(w.stock(map[string]string{"cases.yaml": talked, "talk": "#!/bin/sh"}))
	w.cluster.AddVMs(t, 1)
	w.start(nil)
	r := w.result()
	require.Equal(t, core.BlameHarness, r.Blame)
	require.Contains(t, r.Reason, "its interactor needs a VM of its own, and those of pool p1 have no peer")
}

// The clock of one side of a conversation does not run while the other one waits for a processor.
func TestAConversationWaitsForTheSlowerOne(t *testing.T) {
	t.Parallel()
	for _, late := range []string{"prog", "talk"} {
		t.Run(late, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.cluster.Peers = true
			w.script.lost = 3 * time.Second
			parts := map[string]played{"prog": after(agent.Exit{}, ""), "talk": after(agent.Exit{Code: 42}, "")}
			parts[late] = func(_ context.Context, _ int, run agent.Run, _ func(string, []byte)) (agent.Exit, error) {
				run.Late()
				return agent.Exit{Code: map[string]int{"talk": 42}[late], WallMs: 5000, LostMs: 3100, PartnerMs: 3000}, nil
			}
			w.script.run = byName(parts)
			w.submit(w.stock(map[string]string{"cases.yaml": talked, "talk": "#!/bin/sh"}))
			w.cluster.AddVMs(t, 1)
			w.start(nil)
			r := w.result()
			require.Equal(t, harness.Passed, harness.VerdictOf(&r), r.Reason)
			w.mu.Lock()
			defer w.mu.Unlock()
			told, other := w.vms[0], w.vms[1]
			if late == "talk" {
				told, other = other, told
			}
			require.Contains(t, told.did, "put off 3s")
			require.NotContains(t, other.did, "put off 3s")
			if d := r.Tests[0].Decision; late == "prog" {
				require.Equal(t, int64(3100), d.LostMs)
				require.Equal(t, int64(3000), d.PartnerMs)
			}
		})
	}
}
