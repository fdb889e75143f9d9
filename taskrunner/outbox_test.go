package taskrunner_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/school"
	"drover/taskrunner"
)

func TestManyEnds(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, statuses(200))
	synctest.Test(t, func(t *testing.T) {
		r := newTeller(t)
		w := r.hook(at)
		const n = 450 // more than one page of the outbox
		for range n {
			r.request(w)
		}
		r.begin()
		settle(10 * time.Minute)
		seen := map[string]bool{}
		for _, c := range at.got() {
			require.False(t, seen[c.id])
			seen[c.id] = true
		}
		require.Len(t, seen, n)
		r.end()
	})
}

// damaged is a store in which some requests cannot be read.
type damaged struct {
	school.ResultStore
	bad map[string]bool
}

func (d damaged) Get(ctx context.Context, id string) (core.Row, error) {
	if d.bad[id] {
		return core.Row{}, core.Errorf(core.CodeUnavailable, id, "the result store holds something unreadable for %s: restore a backup", id)
	}
	return d.ResultStore.Get(ctx, id)
}

// Ends that cannot be read hold back no others, however many there are, and are told once they can.
func TestAnEndThatCannotBeRead(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, statuses(200))
	synctest.Test(t, func(t *testing.T) {
		r := newTeller(t)
		w := r.hook(at)
		const bad, good = 210, 3 // more than one page of the outbox
		store := damaged{r.store, map[string]bool{}}
		for range bad {
			store.bad[r.request(w).ID] = true
		}
		for range good {
			r.request(w)
		}
		r.proc = r.startWith(taskrunner.Deps{Owners: r.cluster, Tasks: r.cluster, Store: store, Intake: r.in, Callbacks: r.callbacks})
		settle(time.Minute)
		require.Len(t, at.got(), good)
		left, err := r.store.Outbox(t.Context(), 1000)
		require.NoError(t, err)
		require.Len(t, left, bad, "they stay")
		r.end()
	})
}

// dying is a store that a process uses until it is killed, before or after a call.
type dying struct {
	school.ResultStore
	left *int
	dead *bool
}

var errDying = core.Errorf(core.CodeUnavailable, "", "the process was killed here")

func (d dying) step(do func() error) error {
	if *d.left--; *d.left == 0 {
		*d.dead = true // before it does this
	}
	if *d.dead {
		return errDying
	}
	err := do()
	if *d.left--; *d.left == 0 {
		*d.dead = true // right after
		return errDying
	}
	return err
}

func (d dying) CreateTask(ctx context.Context, t core.Task) (made bool, err error) {
	err = d.step(func() error { made, err = d.ResultStore.CreateTask(ctx, t); return err })
	return made, err
}

func (d dying) Sent(ctx context.Context, n []core.Notice) error {
	return d.step(func() error { return d.ResultStore.Sent(ctx, n) })
}

// The table in outbox.go: whatever the step at which one is killed, each webhook gets
// one delivery, made by this one or the next.
func TestAnOutboxThatIsKilledAnywhere(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, statuses(200))
	for kill, killed := 1, true; killed; kill++ {
		synctest.Test(t, func(t *testing.T) {
			r := newTeller(t)
			one, two := r.hook(at), r.hook(at)
			r.request(one, two)
			r.request(one)
			r.calledBack(at.url, at.secret)
			r.asked("compat")
			whole, dead, left := r.store, false, kill
			r.store = dying{whole, &left, &dead}
			r.in.Store = r.store
			r.begin()
			settle(time.Minute)
			killed = dead
			r.proc.kill()
			require.NoError(t, <-r.proc.ended)

			r.store, r.in.Store = whole, whole
			r.begin()
			settle(time.Minute)
			_, err := r.in.SweepAll(t.Context()) // what is in the store only
			require.NoError(t, err)
			settle(time.Minute)
			for w, n := range map[*core.Webhook]int{&one: 2, &two: 1} {
				all := r.deliveries(*w)
				require.Len(t, all, n, "killed at %d", kill)
				for _, d := range all {
					require.Equal(t, core.TaskDone, d.State, "killed at %d", kill)
				}
			}
			require.Len(t, r.told(), 1, "killed at %d", kill)
			require.Equal(t, core.TaskDone, r.told()[0].State, "killed at %d", kill)
			waiting, err := r.store.Outbox(t.Context(), 10)
			require.NoError(t, err)
			require.Empty(t, waiting)
			r.end()
		})
		require.Less(t, kill, 100)
	}
}

// Two outboxes at the same time make each delivery once.
func TestOutboxesTogether(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, statuses(200))
	synctest.Test(t, func(t *testing.T) {
		r := newTeller(t)
		w := r.hook(at)
		for range 20 {
			r.request(w)
		}
		other := newRig(t) // with a queue of its own, in which nothing is
		other.cfg = r.cfg
		second := other.startWith(taskrunner.Deps{Owners: other.cluster, Tasks: other.cluster, Store: r.store, Intake: r.in})
		r.begin()
		settle(time.Minute)
		second.drain()
		require.Len(t, r.deliveries(w), 20)
		require.Len(t, at.got(), 20)
		r.end()
	})
}
