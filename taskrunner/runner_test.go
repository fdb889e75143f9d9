package taskrunner_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drover/core"
	"drover/taskrunner"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a taskrunner on a cluster in memory.
type rig struct {
	t       *testing.T
	cluster *cluster
	cfg     taskrunner.Config
	kinds   []taskrunner.Kind
	logs    *test.Hook
	log     *logrus.Logger
	ran     sync.Map // task kind → *atomic.Int64
}

func newRig(t *testing.T) *rig {
	log, logs := test.NewNullLogger()
	log.SetLevel(logrus.DebugLevel)
	r := &rig{t: t, cluster: newCluster(), log: log, logs: logs}
	r.cfg = taskrunner.Config{Registration: core.Registration{Owner: owner, Host: "h1", Machine: "m1"}, Slots: 2}
	r.handle("ok", func(context.Context) error { return nil })
	return r
}

// handle sets what a kind does and counts how often it is done.
func (r *rig) handle(kind string, do func(ctx context.Context) error) {
	n := new(atomic.Int64)
	r.ran.Store(kind, n)
	r.kinds = append(r.kinds, taskrunner.Kind{Name: kind, Handle: func(ctx context.Context, _ *taskrunner.Job) (taskrunner.End, error) {
		n.Add(1)
		return taskrunner.End{Note: "did it"}, do(ctx)
	}})
}

func (r *rig) runs(kind string) int {
	n, _ := r.ran.Load(kind)
	return int(n.(*atomic.Int64).Load())
}

type process struct {
	*taskrunner.Runner
	rig   *rig
	kill  context.CancelFunc
	ended chan error
}

func (r *rig) start() *process {
	r.t.Helper()
	return r.startWith(taskrunner.Deps{Owners: r.cluster, Tasks: r.cluster, Store: r.cluster})
}

func (r *rig) startWith(deps taskrunner.Deps) *process {
	r.t.Helper()
	deps.Log, deps.Kinds = r.log, r.kinds
	run, err := taskrunner.New(r.cfg, deps)
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{Runner: run, rig: r, kill: cancel, ended: make(chan error, 1)}
	go func() { p.ended <- run.Run(ctx) }()
	return p
}

// drain stops the process and requires that it ends well, holding nothing.
func (p *process) drain() {
	p.rig.t.Helper()
	p.Drain()
	require.NoError(p.rig.t, <-p.ended)
	p.kill()
	require.Empty(p.rig.t, p.rig.cluster.slots)
	require.True(p.rig.t, p.rig.cluster.gone, "it deregisters")
}

func settle(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func ids(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint("t", i))
	}
	return all
}

func TestTasksAreDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // G31
		r := newRig(t)
		r.cluster.submit("ok", ids(3)...)
		p := r.start()
		settle(100 * time.Millisecond)
		require.Zero(t, r.cluster.left())
		r.cluster.submit("ok", "woken")
		synctest.Wait()
		require.Zero(t, r.cluster.left(), "the bell wakes it at once")
		state, note := r.cluster.end("woken")
		require.Equal(t, core.TaskDone, state)
		require.Equal(t, "did it", note)
		require.Equal(t, 4, r.runs("ok"))
		p.drain()
	})
}

// How old a task is goes by the clock that all hosts share: its maker was another host.
func TestTheAgeOfATask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ages := make(chan time.Duration, 1)
		r.kinds = append(r.kinds, taskrunner.Kind{Name: "old", Handle: func(_ context.Context, job *taskrunner.Job) (taskrunner.End, error) {
			ages <- job.Age
			return taskrunner.End{}, nil
		}})
		r.cluster.submit("old", "o")
		shared := time.UnixMilli(0).Add(time.Hour) // the task is of 1970's first moment
		p := r.startWith(taskrunner.Deps{
			Owners: r.cluster, Tasks: r.cluster, Store: r.cluster, Now: func() time.Time { return shared },
		})
		require.Equal(t, time.Hour, <-ages)
		p.drain()
	})
}

func TestSlotsBoundWhatRunsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Slots = 3
		var now, most atomic.Int64
		r.handle("slow", func(context.Context) error {
			most.Store(max(most.Load(), now.Add(1)))
			<-time.After(time.Second)
			now.Add(-1)
			return nil
		})
		r.cluster.submit("slow", ids(10)...)
		p := r.start()
		settle(4100 * time.Millisecond)
		require.Zero(t, r.cluster.left())
		require.EqualValues(t, 3, most.Load())
		p.drain()
	})
}

func TestFailuresAreTriedAgainLaterAndThenDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.RetryFirst = 10 * time.Second
		r.handle("bad", func(context.Context) error { return errors.New("disk on fire") })
		r.handle("panics", func(context.Context) error { panic("oh no") })
		left := 1
		r.handle("flaky", func(context.Context) error {
			if left--; left >= 0 {
				return errors.New("not yet")
			}
			return nil
		})
		r.cluster.submit("bad", "bad")
		r.cluster.submit("panics", "panics")
		r.cluster.submit("flaky", "flaky")
		p := r.start()
		settle(4 * time.Second)
		require.Equal(t, 1, r.runs("bad"), "not before its time")
		settle(5 * time.Minute)
		require.Equal(t, 3, r.runs("bad"))
		require.Equal(t, 2, r.runs("flaky"))
		for id, part := range map[string]string{"bad": "attempt 3 of 3: disk on fire", "panics": "oh no"} {
			state, note := r.cluster.end(id)
			require.Equal(t, core.TaskDead, state)
			require.Contains(t, note, part)
			require.NotContains(t, note, "goroutine", "the program's inside is for the log")
			require.Less(t, len(note), 2100)
		}
		state, _ := r.cluster.end("flaky")
		require.Equal(t, core.TaskDone, state)
		require.Zero(t, r.cluster.left())
		p.drain()
	})
}

func TestWhatTryingAgainCannotMendIsDeadAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.handle("invalid", func(context.Context) error { return core.Errorf(core.CodeInvalid, "", "no such class") })
		r.cluster.submit("invalid", "invalid")
		r.cluster.submit("from-the-future", "strange")
		r.cluster.look(func() { r.cluster.attempts["invalid"] = 0 })
		p := r.start()
		settle(time.Second)
		state, note := r.cluster.end("strange")
		require.Equal(t, core.TaskDead, state)
		require.Contains(t, note, `no taskrunner of this version knows tasks of kind "from-the-future"`)
		state, _ = r.cluster.end("invalid")
		require.Equal(t, core.TaskDead, state)
		require.Equal(t, 1, r.runs("invalid"))
		p.drain()
	})
}

func TestATryIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Timeout, r.cfg.MaxAttempts = time.Minute, 1
		r.handle("hangs", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		r.cluster.submit("hangs", "hangs")
		p := r.start()
		settle(2 * time.Minute)
		state, note := r.cluster.end("hangs")
		require.Equal(t, core.TaskDead, state)
		require.Contains(t, note, "not done within 1m0s")
		p.drain()
	})
}

func TestTheHeartbeatRidesAlong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Registration.Beat, r.cfg.Poll = time.Second, time.Minute
		r.handle("slow", func(context.Context) error { <-time.After(30 * time.Second); return nil })
		p := r.start()
		settle(10 * time.Second)
		r.cluster.submit("slow", ids(2)...)
		settle(50 * time.Second)
		r.cluster.look(func() {
			for i := 1; i < len(r.cluster.beats); i++ {
				require.LessOrEqual(t, r.cluster.beats[i].Sub(r.cluster.beats[i-1]), 1100*time.Millisecond)
			}
			require.Less(t, len(r.cluster.beats), 75, "idle calls are rare")
		})
		p.drain()
	})
}

// The calls that carry the heartbeat fail, as on a connection that is stuck: it is sent by itself.
func TestTheHeartbeatGoesOnWhileExchangesFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := r.start()
		settle(10 * time.Second)
		require.Zero(t, r.cluster.called("beat"), "exchanges carry it")
		r.cluster.faults(func(op string) (error, error) {
			if op == "exchange" {
				return errDown, nil
			}
			return nil, nil
		})
		settle(time.Minute)
		r.cluster.look(func() {
			require.Less(t, time.Since(r.cluster.beats[len(r.cluster.beats)-1]), 1500*time.Millisecond)
			for i := 1; i < len(r.cluster.beats); i++ {
				require.LessOrEqual(t, r.cluster.beats[i].Sub(r.cluster.beats[i-1]), 1500*time.Millisecond)
			}
			r.cluster.fenced = true
		})
		settle(time.Second + 500*time.Millisecond)
		require.EqualValues(t, 2, r.cluster.epoch, "and it hears that the epoch is over")
		r.cluster.faults(nil)
		settle(10 * time.Second)
		p.drain()
	})
}

func TestDrainFinishesWhatIsInHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.handle("slow", func(context.Context) error { <-time.After(10 * time.Second); return nil })
		r.cluster.submit("slow", ids(5)...)
		p := r.start()
		settle(time.Second)
		p.drain()
		require.Equal(t, 2, r.runs("slow"))
		require.Equal(t, 3, r.cluster.left())
	})
}

func TestAStopGivesBackWhatIsInHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.handle("slow", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		r.cluster.submit("slow", ids(2)...)
		p := r.start()
		settle(time.Second)
		begun := time.Now()
		p.kill()
		require.NoError(t, <-p.ended)
		require.Zero(t, time.Since(begun))
		require.Empty(t, r.cluster.slots)
		require.True(t, r.cluster.gone)
		require.Empty(t, r.cluster.attempts, "that was no attempt")
		require.Len(t, r.cluster.queue, 2)
	})
}

func TestAStopWithoutRedisDoesNotHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := r.start()
		settle(time.Second)
		r.cluster.faults(func(string) (error, error) { return errDown, nil })
		r.cluster.submit("ok", "lost")
		settle(10 * time.Second)
		begun := time.Now()
		p.kill()
		require.NoError(t, <-p.ended)
		require.LessOrEqual(t, time.Since(begun), 6*time.Second)

		p = r.start() // it never gets in
		settle(10 * time.Second)
		p.Drain()
		require.NoError(t, <-p.ended)
		p.kill()
	})
}

func TestAFencedRunnerStopsItsTasksAndStartsANewEpoch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		stopped := 0
		r.handle("slow", func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				stopped++
				return ctx.Err()
			case <-time.After(20 * time.Second):
				return nil
			}
		})
		r.cluster.submit("slow", "a")
		p := r.start()
		settle(time.Second)
		r.cluster.look(func() { r.cluster.fenced = true })
		settle(5 * time.Second)
		require.Equal(t, 1, stopped)
		settle(time.Minute)
		require.EqualValues(t, 2, r.cluster.epoch)
		require.Equal(t, 2, r.runs("slow"), "the next epoch finds and does it")
		require.Zero(t, r.cluster.left())
		p.drain()
	})
}

// A reply is lost, or a call: the same call is repeated until it is answered, so
// that no task is stranded or done by two.
func TestLostCallsAndReplies(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{true, false} {
		for _, op := range []string{"exchange", "register", "wait", "end", "deregister"} {
			for nth := 1; nth <= 6; nth++ {
				t.Run(fmt.Sprint(op, " ", nth, " before ", before), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						r := newRig(t)
						n := 0
						r.cluster.faults(func(o string) (error, error) {
							if o != op {
								return nil, nil
							}
							if n++; n != nth {
								return nil, nil
							}
							if before {
								return errDown, nil
							}
							return nil, errDown
						})
						r.cluster.submit("ok", ids(5)...)
						p := r.start()
						settle(10 * time.Second)
						require.Zero(t, r.cluster.left())
						require.Equal(t, 5, r.runs("ok"), "each exactly once")
						p.Drain()
						require.NoError(t, <-p.ended)
						p.kill()
						require.Empty(t, r.cluster.slots)
					})
				})
			}
		}
	}
}

// If a runner is killed while it holds work, its next start settles it; a task that kills its
// runner every time ends dead.
func TestRecoveryAtStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cluster.look(func() {
			for i, id := range []string{"first", "last"} {
				r.cluster.tasks[id] = core.Task{ID: id, Generation: 1, Kind: "ok"}
				r.cluster.slots[id] = token(0, int64(i))
				r.cluster.attempts[id] = 2 * i
			}
			died := core.TaskFailure{Generation: 1, Attempt: 1, Text: "its taskrunner died"}
			again := died
			again.Attempt = 2
			one := core.Death{Of: owner, Counts: true}
			r.cluster.deaths["last"] = []core.Death{one, one}
			r.cluster.rows["last"] = core.Task{ID: "last", Generation: 1, State: core.TaskQueued, Failures: []core.TaskFailure{died, again}}
		})
		n := 0
		r.cluster.faults(func(op string) (error, error) {
			if n++; (op == "settle" || op == "end") && n < 30 {
				return errDown, nil
			}
			return nil, nil
		})
		p := r.start()
		r.cluster.submit("ok", "new")
		settle(300 * time.Millisecond)
		require.Zero(t, r.runs("ok"), "first what was left, then new work")
		settle(2 * time.Minute)
		require.Zero(t, r.cluster.left())
		for id, want := range map[string]core.TaskState{"first": core.TaskDone, "last": core.TaskDead, "new": core.TaskDone} {
			state, _ := r.cluster.end(id)
			require.Equal(t, want, state, id)
		}
		_, note := r.cluster.end("last")
		require.Contains(t, note, "when 2 runners died (taskrunner")
		p.drain()
	})
}
