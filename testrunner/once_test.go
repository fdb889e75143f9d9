package testrunner_test

import (
	"context"
	"errors"
	"io/fs"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/cluster/recovery"
	"drover/core/coretest"
	"drover/core/requests/intake"
	"drover/testrunner"
)

// loss is a request that runs, or is staged, and a way in which its claim is lost.
type loss struct {
	*fixture
	spec core.Spec
	in   *intake.Intake
	runs atomic.Int64
	end  chan error // ends the first run
	seen chan struct{}
}

func (l *loss) held() core.Held {
	l.t.Helper()
	held, err := l.cluster.Store.Held(l.t.Context(), l.cluster.Runner, 0)
	require.NoError(l.t, err)
	require.Len(l.t, held, 1)
	return held[0]
}

// revoke takes the claim from its living owner, as an overseer does.
func (l *loss) revoke(outcome core.Outcome, to string) {
	l.t.Helper()
	for {
		h := l.held()
		item := core.Settlement{Key: h.Key, Token: h.Token, Outcome: outcome, To: to}
		err := l.cluster.Store.Revoke(l.t.Context(), l.cluster.Runner, h, item, "a test")
		if core.Is(err, core.CodeConflict) {
			continue // it went on meanwhile
		}
		require.NoError(l.t, err)
		break
	}
	require.NoError(l.t, l.in.FailBegun(l.t.Context(), l.spec.ID))
}

// reap settles what late owners held, as an overseer does.
func (l *loss) reap() {
	l.t.Helper()
	for settled := 0; settled == 0; { // a heartbeat may come in between
		owners := l.redis.Namespace + ":owners"
		require.NoError(l.t, l.redis.Admin.Do(l.t.Context(), "ZADD", owners, "XX", 1, l.cluster.Runner).Err())
		report, err := recovery.Reap(l.t.Context(), l.cluster.Store, l.ledger, time.Millisecond, recovery.Options{})
		require.NoError(l.t, err)
		settled = report.Moved
	}
}

// kill is the death of the process as its neighbours see it.
func (l *loss) kill() {
	l.t.Helper()
	infos, err := l.cluster.Store.ListOwners(l.t.Context())
	require.NoError(l.t, err)
	for _, o := range infos {
		if o.Name == l.cluster.Runner {
			_, err = recovery.DeclareDead(l.t.Context(), l.cluster.Store, l.ledger, o.Name, o.Epoch, recovery.Options{})
			require.NoError(l.t, err)
		}
	}
}

// losses are all ways in which a claim is lost without a result.
var losses = map[string]func(l *loss){
	"its testrunner is killed":                          (*loss).kill,
	"its testrunner, or host, is not heard of any more": (*loss).reap,
	"its testrunner restarts": func(l *loss) {
		reg := l.cluster.Register(l.t, l.cluster.Runner)
		_, err := recovery.Settle(l.t.Context(), l.cluster.Store, l.ledger, l.cluster.Runner, reg.Epoch, reg.Left, recovery.Options{})
		require.NoError(l.t, err)
	},
	"its testrunner is stopped and does not wait": func(l *loss) {
		l.runner.stop()
		l.start(nil)
	},
	"it is hung":                       func(l *loss) { l.revoke(core.OutcomeRetry, "") },
	"its host is drained":              func(l *loss) { l.revoke(core.OutcomeRelease, core.Parked) },
	"its lease ended":                  func(l *loss) { l.revoke(core.OutcomeRelease, "") },
	"its VM died":                      func(l *loss) { l.end <- core.Errorf(core.CodeBadVM, "vm", "the agent hung up") },
	"its VM is gone":                   func(l *loss) { l.end <- core.Wrap(fs.ErrNotExist, core.CodeBadVM, "vm", "there is no VM") },
	"its VM cannot be cleaned":         func(l *loss) { l.end <- core.Wrap(agent.ErrUnclean, core.CodeBadVM, "vm", "something is left") },
	"its VM is silent":                 func(l *loss) { l.end <- agent.ErrSilent },
	"something fails that nobody knew": func(l *loss) { l.end <- errors.New("a bug") },
	"Redis lost its slot": func(l *loss) {
		ctx := l.t.Context()
		require.NoError(l.t, l.redis.Admin.Del(ctx, l.redis.Namespace+":slots:"+l.cluster.Runner).Err())
		wrong, err := l.cluster.Store.CheckConsistency(ctx)
		require.NoError(l.t, err)
		for _, v := range wrong {
			_, err := l.cluster.Store.Mend(ctx, v)
			require.NoError(l.t, err)
		}
	},
}

// A request that must not run twice does not, in whatever way its first run is lost; any other one runs again. What was
// not begun yet is run, whatever its policy.
func TestRunOnceMeansOnce(t *testing.T) {
	t.Parallel()
	for way, lose := range losses {
		for _, policy := range []string{core.OnHostLossRequeue, core.OnHostLossFail} {
			for _, begun := range []bool{true, false} {
				name := way + ", " + policy
				if !begun {
					name += ", not begun"
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					l := &loss{fixture: newFixture(t), end: make(chan error, 1), seen: make(chan struct{}, 10)}
					l.in = &intake.Intake{Store: l.ledger, Queue: l.cluster.Store, Pools: l.cluster.Store, Tasks: l.cluster.Store}
					l.loses(policy, begun, lose)
				})
			}
		}
	}
}

func (l *loss) loses(policy string, begun bool, lose func(*loss)) {
	t := l.t
	t.Helper()
	var staged atomic.Bool
	stops := func(ctx context.Context) error {
		l.seen <- struct{}{}
		select {
		case err := <-l.end:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	l.script.assigns = func(ctx context.Context) error {
		if begun || staged.Swap(true) {
			return nil
		}
		return stops(ctx)
	}
	l.script.run = func(ctx context.Context, _ int, _ agent.Run, _ func(string, []byte)) (agent.Exit, error) {
		if l.runs.Add(1) > 1 || !begun {
			return agent.Exit{}, nil
		}
		return agent.Exit{}, stops(ctx)
	}
	l.cluster.AddVMs(t, 4)
	l.spec = coretest.Spec("r1", "p1", "ann")
	l.spec.OnHostLoss = policy
	l.submit(l.spec)
	l.start(nil)
	select {
	case <-l.seen:
	case <-time.After(testTimeout):
		t.Fatal("nothing was claimed")
	}
	lose(l)
	got := l.result()
	eventually(t, func() bool { return l.place(l.spec).State == "" })
	l.runner.drain()
	if begun && policy == core.OnHostLossFail {
		require.EqualValues(t, 1, l.runs.Load(), "it ran twice")
		require.Equal(t, core.RequestFailed, got.State)
		require.Equal(t, core.BlamePlatform, got.Blame)
		require.Contains(t, got.Reason, "must not run twice")
		return
	}
	require.Equal(t, core.RequestCompleted, got.State, got.Reason)
	if begun {
		require.EqualValues(t, 2, l.runs.Load())
	} else {
		require.EqualValues(t, 1, l.runs.Load())
	}
}

// A store that is away keeps such a request waiting, since nobody can know whether it was begun.
func TestARequestThatRunsOnceWaitsForTheStore(t *testing.T) {
	t.Parallel()
	w, spec, h := one(t, 1)
	spec.ID, spec.OnHostLoss = "r2", core.OnHostLossFail
	w.submit(spec)
	close(h.let)
	w.cluster.AddVMs(t, 1)
	w.ledger.away.Store(2)
	r := w.start(func(c *testrunner.Config, _ *testrunner.Deps) { c.Slots = 1 })
	require.Equal(t, "r1", w.result().ID)
	require.Equal(t, core.RequestCompleted, w.result().State)
	r.drain()
	require.Zero(t, w.ledger.away.Load())
}
