package testrunner_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/cluster/recovery"
	"drover/core/coretest"
	"drover/testrunner"
)

// young are claims of a Redis whose life is young, or not.
type young struct {
	core.Claims
	is bool
}

func (y young) Exchange(ctx context.Context, x core.Exchange) (core.Exchanged, error) {
	got, err := y.Claims.Exchange(ctx, x)
	for i := range got.Claims {
		got.Claims[i].Young = y.is
	}
	return got, err
}

// A Redis that was set back gives out what has ended since. The store knows its end.
func TestWhatHasEndedIsNotRunAgain(t *testing.T) {
	t.Parallel()
	for _, state := range []core.RequestState{core.RequestCompleted, core.RequestDead, core.RequestCancelled} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			ghost, fresh := coretest.Spec("a", w.cluster.Pool, "ann"), coretest.Spec("b", w.cluster.Pool, "bob")
			w.submit(ghost)
			w.submit(fresh)
			_, err := w.ledger.ResultStore.Record(context.Background(), core.Result{ID: "a", Generation: 1, State: state, Token: "1.1", VM: "vm-before"})
			require.NoError(t, err)
			w.runsOnly("b", ghost, "only what has no end is run")
			require.Empty(t, w.place(fresh).State)
		})
	}
}

// runsOnly runs what waits on a young Redis, and requires that only the request of this id is run, and the ghost is gone.
func (w *fixture) runsOnly(id string, ghost core.Spec, why string) {
	t := w.t
	t.Helper()
	w.cluster.AddVMs(t, 2)
	ran := make(chan string, 2)
	w.script.run = func(_ context.Context, _ int, run agent.Run, _ func(string, []byte)) (agent.Exit, error) {
		ran <- run.Args[0]
		return agent.Exit{}, nil
	}
	r := w.start(func(_ *testrunner.Config, p *testrunner.Deps) { p.Claims = young{p.Claims, true} })
	require.Equal(t, id, w.result().ID)
	require.Eventually(t, func() bool { return w.place(ghost).State == "" }, time.Minute, 5*time.Millisecond)
	r.drain()
	require.Len(t, ran, 1, why)
}

// Nor is what was deleted since.
func TestWhatWasDeletedIsNotRunAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ghost, fresh := coretest.Spec("a", w.cluster.Pool, "ann"), coretest.Spec("b", w.cluster.Pool, "bob")
	w.cluster.Submit(t, ghost)
	w.submit(fresh)
	w.runsOnly("b", ghost, "only what is there is run")
}

// Once Redis' incarnation is not young any more, nobody asks; and where the store does not answer, the work is run.
func TestAClaimOfAGrownRedisAsksNobody(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.submit(coretest.Spec("a", w.cluster.Pool, "ann"))
	w.cluster.AddVMs(t, 1)
	r := w.start(func(_ *testrunner.Config, p *testrunner.Deps) {
		p.Claims, p.Store = young{p.Claims, false}, neverAsked{p.Store, t}
	})
	require.Equal(t, "a", w.result().ID)
	r.drain()
}

type neverAsked struct {
	recovery.Store
	t *testing.T
}

func (n neverAsked) Terminal(context.Context, []string) (map[string]core.RequestState, error) {
	n.t.Error("the store was asked for the end of a claim")
	return nil, nil
}

func TestWithoutAnAnswerAGhostIsRun(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.submit(coretest.Spec("a", w.cluster.Pool, "ann"))
	w.cluster.AddVMs(t, 1)
	r := w.start(func(_ *testrunner.Config, p *testrunner.Deps) {
		p.Claims, p.Store = young{p.Claims, true}, away{p.Store}
	})
	require.Equal(t, core.RequestCompleted, w.result().State)
	r.drain()
}

// away does not say what has ended.
type away struct{ recovery.Store }

func (away) Terminal(context.Context, []string) (map[string]core.RequestState, error) {
	return nil, core.Errorf(core.CodeUnavailable, "", "the store does not answer")
}
