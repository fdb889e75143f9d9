package overseer_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
)

// most lets a host have no more VMs of the pool again than it has now.
func (s *scene) most(n int) {
	p := core.DefaultPool("again")
	p.Max, p.Warm = n, min(p.Warm, n)
	require.NoError(s.t, s.in.SetPool(context.Background(), p))
}

// Work of a lost host goes to hosts with room, the most important first; what fits
// nowhere is parked and taken by a host that joins, before all other work (H5-H7, H11, H12).
func TestEvacuationByPriorityAndRoom(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	s.host("h1", time.Minute)
	low := s.submitAs("again", 1, func(s *core.Spec) { s.Priority = core.PriorityLow })[0]
	old, young := s.submit("again", 1)[0], s.submit("again", 1)[0]
	high := s.submitAs("again", 1, func(s *core.Spec) { s.Priority = core.PriorityHigh })[0]
	s.claim("h1", "again", 4, time.Minute)
	s.hostWith("h2", time.Minute, 2)
	s.hostWith("h3", time.Minute, 1)
	s.most(2)
	s.die("h1")
	later := s.submit("again", 1)[0]
	s.until(s.deps(), func() bool { return len(s.owners()) == 4 })

	// h3 has the fewest idle VMs; it may make one more, which does not come first.
	require.Equal(t, map[string]string{
		high: "scheduled h1>h3", old: "scheduled h1>h2", young: "scheduled h1>h2", low: "scheduled h1>h3",
	}, s.moves())
	coretest.RequireSound(t, s.cluster)
	require.Equal(t, core.Key(high, 1), s.claim("h3", "again", 1, time.Minute)[0].Key)
	claims := s.claim("h2", "again", 2, time.Minute)
	require.Equal(t, core.Key(old, 1), claims[0].Key)
	require.Equal(t, "accepted h1>h2", s.moves()[young])
	s.end("h2", claims, core.OutcomeDone)
	require.Equal(t, "finished h1>h2", s.moves()[young])
	require.Equal(t, core.RequestQueued, s.place(later).State)
	coretest.RequireSound(t, s.cluster)
}

// Nothing living has room: it is parked, not lost, and a host that joins takes it first.
func TestWhatFitsNowhereIsParked(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	s.hostWith("h1", time.Minute, 3)
	ids := s.submit("again", 3)
	s.claim("h1", "again", 3, time.Minute)
	s.hostWith("h2", time.Minute, 1)
	s.most(1)
	s.die("h1")
	s.until(s.deps(), func() bool { return len(s.owners()) == 2 })
	require.Equal(t, map[string]string{ids[0]: "scheduled h1>h2", ids[1]: "parked h1>", ids[2]: "parked h1>"}, s.moves())
	require.Equal(t, core.RequestParked, s.place(ids[1]).State)
	coretest.RequireSound(t, s.cluster)

	s.submit("again", 1)
	s.hostWith("h3", time.Minute, 2)
	claims := s.claim("h3", "again", 2, time.Minute)
	require.Equal(t, core.Key(ids[1], 1), claims[0].Key)
	require.Equal(t, core.Key(ids[2], 1), claims[1].Key)
	require.Equal(t, "accepted h1>h3", s.moves()[ids[1]])
	s.end("h3", claims, core.OutcomeRetry)
	require.Equal(t, "failed h1>h3", s.moves()[ids[1]])
	coretest.RequireSound(t, s.cluster)
}

// A request's own policy stands above its pool's (H4).
func TestAPolicyOfTheRequestsOwn(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	s.host("h1", time.Minute)
	s.host("h2", time.Minute)
	no := s.submitAs("again", 1, func(s *core.Spec) { s.OnHostLoss = core.OnHostLossFail })[0]
	yes := s.submitAs("once", 1, func(s *core.Spec) { s.OnHostLoss = core.OnHostLossRequeue })[0]
	s.claim("h1", "again", 1, time.Minute)
	s.claim("h1", "once", 1, time.Minute)
	s.die("h1")
	s.until(s.deps(), func() bool { return len(s.owners()) == 2 })
	require.Equal(t, core.RequestFailed, s.state(no))
	row, err := s.store.Get(context.Background(), no)
	require.NoError(t, err)
	require.Equal(t, core.BegunReason("testrunner@h1#0 died or was not heard of"), row.Result.Reason)
	require.Equal(t, "h2", s.place(yes).Assigned)
	coretest.RequireSound(t, s.cluster)
}

// A host that does not take assigned work in time loses it to another host; so does a host that is lost too.
func TestWhatIsAssignedIsNotStuck(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	s.host("h1", time.Minute)
	s.host("h2", time.Minute)
	ids := s.submit("again", 2)
	s.claim("h1", "again", 2, time.Minute)
	s.die("h1")
	s.until(s.deps(), func() bool { return len(s.owners()) == 2 })
	require.Equal(t, "h2", s.place(ids[0]).Assigned)
	s.die("h2")
	s.until(s.deps(), func() bool { return len(s.owners()) == 0 })
	require.Equal(t, "failed h1>h2", s.moves()[ids[0]])
	require.Empty(t, s.place(ids[0]).Assigned)
	require.Equal(t, core.RequestQueued, s.place(ids[0]).State)
	require.Equal(t, 1, s.place(ids[0]).Attempts, "h2 had not taken it")
	coretest.RequireSound(t, s.cluster)
}

// Two hosts are lost, many overseers heal at once: none overbooks, nothing doubles.
func TestManyOverseersEvacuate(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	s.host("h1", time.Minute)
	s.host("h2", time.Minute)
	ids := s.submit("again", 16)
	s.claim("h1", "again", 8, time.Minute)
	s.claim("h2", "again", 8, time.Minute)
	s.hostWith("h3", time.Minute, 5)
	s.hostWith("h4", time.Minute, 6)
	s.most(6)
	s.die("h1")
	s.die("h2")
	s.together(6)
	s.until(s.deps(), func() bool { return len(s.owners()) == 4 })
	for _, id := range ids {
		require.Equal(t, 1, s.place(id).Attempts)
	}
	// By the records: on a slow machine a host may have lost what it did not take in time.
	moves, err := s.cluster.Evacuations(context.Background())
	require.NoError(t, err)
	to := map[string]int{}
	for _, m := range moves {
		to[m.To]++
	}
	require.Equal(t, map[string]int{"h3": 6, "h4": 6, "": 4}, to)
	coretest.RequireSound(t, s.cluster)
}

// The overseer is killed at every step of a drain's end; the next one goes on.
func TestKilledAtEveryStepOfADrain(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprintf("in effect %v", after), func(t *testing.T) {
			t.Parallel()
			for at := 1; ; at++ {
				s := newScene(t, coretest.Real(t))
				clock := s.drainedScene()
				m := &mortal{at: at, after: after}
				deps := s.depsAt(clock.Now)
				mortals := deps
				mortals.Queue, mortals.Evacuations = mortalQueue{deps.Queue, m}, mortalEvacuations{s.cluster, m}
				mortals.Owners, mortals.Hosts, mortals.Store = mortalOwners{s.cluster, m}, mortalHosts{s.cluster, m}, mortalStore{s.store, m}
				_, err := s.oversee(mortals)
				require.Equal(t, m.dead, err != nil, "what failed is told")
				s.requireDrained(deps)
				if !m.dead {
					require.Greater(t, at, 10)
					return
				}
			}
		})
	}
}

// rival places something itself right after the first look at the rooms.
type rival struct {
	evacuations
	s     *scene
	looks int
}

func (r *rival) Rooms(ctx context.Context) ([]core.Room, int64, error) {
	rooms, placed, err := r.evacuations.Rooms(ctx)
	if r.looks++; r.looks == 1 {
		rivals := r.s.claim("h4", "once", 1, time.Hour)[0]
		held := core.Held{Key: rivals.Key, Slot: r.s.held(core.RoleTestrunner, "h4")[0].Slot}
		item := core.Settlement{Key: rivals.Key, Token: rivals.Token, Outcome: core.OutcomeRelease, To: "h2"}
		require.NoError(r.s.t, r.s.cluster.Revoke(ctx, core.OwnerName(core.RoleTestrunner, "h4", 0), held, item, "a rival's"))
	}
	return rooms, placed, err
}

// Who placed by rooms that another has used since places anew, so that none is given away twice.
func TestRoomsThatAnotherUsedAreLookedAtAgain(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	s.host("h1", time.Hour)
	s.hostWith("h2", time.Hour, 1)
	s.hostWith("h4", time.Hour, 1)
	s.submit("once", 1)
	id := s.submit("again", 1)[0]
	s.claim("h1", "again", 1, time.Hour)
	s.die("h1")
	deps := s.deps()
	r := &rival{evacuations: s.cluster, s: s}
	deps.Evacuations = r
	s.until(deps, func() bool { return len(s.owners()) == 4 })
	require.Equal(t, 2, r.looks)
	require.NotEmpty(t, s.place(id).Assigned)
	coretest.RequireSound(t, s.cluster)
}

// A living host that does not take assigned work loses it to a host that does.
func TestWhatIsNotTakenGoesBackToItsQueue(t *testing.T) {
	t.Parallel()
	b, start := coretest.Mini(t), time.Now()
	b.Mini.SetTime(start) // it stands, however slow the machine is
	s := newScene(t, b)
	s.host("h1", time.Hour)
	s.hostWith("h2", time.Hour, 1)
	s.host("h3", time.Hour)
	id := s.submit("again", 1)[0]
	s.claim("h1", "again", 1, time.Hour)
	s.die("h1")
	s.until(s.deps(), func() bool { return len(s.owners()) == 4 })
	require.Equal(t, "h2", s.place(id).Assigned)
	s.claim("h3", "again", 0, time.Hour)
	b.Mini.SetTime(start.Add(4 * time.Second))
	_, err := s.oversee(s.deps())
	require.NoError(t, err)
	require.Equal(t, "h2", s.place(id).Assigned, "it has five seconds")
	b.Mini.SetTime(start.Add(7 * time.Second))
	_, err = s.oversee(s.deps())
	require.NoError(t, err)
	require.Equal(t, "failed h1>h2", s.moves()[id])
	require.Equal(t, core.Key(id, 1), s.claim("h3", "again", 1, time.Hour)[0].Key)
	coretest.RequireSound(t, s.cluster)
}

// returner is the owners of a host that comes back between the overseer's steps.
type returner struct {
	core.Owners
	back func()
}

func (r returner) Held(ctx context.Context, owner string, epoch int64) ([]core.Held, error) {
	r.back()
	return r.Owners.Held(ctx, owner, epoch)
}

// Nothing is recorded of work that its owner, which came back, holds again.
func TestAHostThatComesBackWhileItIsEvacuated(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	s.host("h1", time.Minute)
	s.host("h2", time.Minute)
	id := s.submit("once", 1)[0]
	s.claim("h1", "once", 1, time.Minute)
	s.die("h1")
	deps, back := s.deps(), false
	deps.Owners = returner{s.cluster, func() {
		if !back {
			back = true
			s.host("h1", time.Minute)
		}
	}}
	s.until(deps, func() bool { return back })
	require.Equal(t, core.RequestQueued, s.state(id), "a lost host's would have failed")
	require.Equal(t, core.RequestClaimed, s.place(id).State)
}
