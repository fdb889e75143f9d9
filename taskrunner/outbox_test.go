package taskrunner_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/school"
	"drover/core/store/storetest"
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
			one, two, ended := r.hook(at), r.hook(at), r.hook(at)
			ended.Events = core.LeaseEvents()
			_, err := r.store.PutWebhook(t.Context(), ended)
			require.NoError(t, err)
			r.request(one, two)
			r.request(one)
			r.lease(true, ended)
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
			_, err = r.in.SweepAll(t.Context()) // what is in the store only
			require.NoError(t, err)
			settle(time.Minute)
			for w, n := range map[*core.Webhook]int{&one: 2, &two: 1, &ended: 2} {
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

// lease writes a lease that names webhooks, with one note, and deletes it if that is asked for.
func (r *teller) lease(deleted bool, webhooks ...core.Webhook) core.Lease {
	r.t.Helper()
	l := storetest.Lease("cs101")
	l.Log[0].At = time.Now().UnixMilli()
	for _, w := range webhooks {
		l.Notify = append(l.Notify, w.ID)
	}
	c, err := r.store.Calendar(r.t.Context(), 0)
	require.NoError(r.t, err)
	revision, err := r.store.PutLease(r.t.Context(), c.Revision, l)
	if err == nil && deleted {
		_, err = r.store.DeleteLease(r.t.Context(), revision, l.ID, core.LeaseNote{At: time.Now().UnixMilli(), Event: core.EventLeaseDeleted, Text: "not needed"})
	}
	require.NoError(r.t, err)
	return l
}

// What happens to a lease is told to the webhooks that it names and that ask for it, also after it was deleted.
func TestALeaseIsTold(t *testing.T) {
	t.Parallel()
	all, some := newReceiver(t, statuses(500, 200)), newReceiver(t, statuses(200))
	synctest.Test(t, func(t *testing.T) {
		r := newTeller(t)
		every, one := r.hook(all), r.hook(some)
		every.Events, one.Events = core.LeaseEvents(), []string{core.EventRequestEnded, core.EventLeaseDeleted}
		for _, w := range []*core.Webhook{&every, &one} {
			var err error
			w.Revision, err = r.store.PutWebhook(t.Context(), *w)
			require.NoError(t, err)
		}
		kept, gone := r.lease(false, every, one), r.lease(true, every, one)
		r.lease(true) // of which nobody is told
		r.begin()
		settle(10 * time.Minute)
		said := func(at *receiver) []string {
			seen := map[string]bool{}
			for _, c := range at.got() {
				s := about(t, c)
				seen[s.Type+" "+s.Data.ID+" "+s.Data.State] = true
			}
			return slices.Sorted(maps.Keys(seen))
		}
		want := []string{core.EventLeaseCreated + " " + kept.ID + " pending", core.EventLeaseCreated + " " + gone.ID + " pending", core.EventLeaseDeleted + " " + gone.ID + " pending"}
		slices.Sort(want)
		require.Equal(t, want, said(all))
		require.Len(t, all.got(), 4, "one was not taken at first")
		require.Equal(t, []string{core.EventLeaseDeleted + " " + gone.ID + " pending"}, said(some))
		for _, d := range append(r.deliveries(every), r.deliveries(one)...) {
			require.Equal(t, core.TaskDone, d.State)
		}
		waiting, err := r.store.Outbox(t.Context(), 10)
		require.NoError(t, err)
		require.Empty(t, waiting)
		r.end()
	})
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
