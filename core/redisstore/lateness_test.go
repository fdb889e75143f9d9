package redisstore_test

import (
	"slices"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"
	"drover/core/redisstore"

	"github.com/stretchr/testify/require"
)

func (x *suite) late(t *testing.T, s *redisstore.Store, by time.Duration) []string {
	t.Helper()
	got, err := s.Late(t.Context(), by)
	require.NoError(t, err)
	slices.Sort(got)
	return got
}

// Rule 7: lateness counts from Redis' own start as well.
func TestNobodyIsLateFromBeforeRedisBegan(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.owners(t, 3)
		x.due(t, -time.Hour, x.Runner)
		require.Equal(t, []string{x.Runner}, x.late(t, x.Store, 5*time.Second))
		young := open(t, x.b, "second-incarnation", x.now(t).Add(-4*time.Second))
		require.Empty(t, x.late(t, young, 5*time.Second))
		require.Equal(t, []string{x.Runner}, x.late(t, young, 3*time.Second))
	})
}

// A clock that was ahead when Redis began, and was set back: nobody would be late until it is
// as late again.
func TestAClockThatWasSetBackHoldsBackOneGrace(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	x.owners(t, 3)
	x.due(t, -time.Hour, x.Runner)
	const by = 5 * time.Second
	ahead := open(t, x.b, "second-incarnation", x.now(t).Add(time.Hour))
	judged := func() []string {
		_, err := ahead.Judge(t.Context(), by, by)
		require.NoError(t, err)
		return x.late(t, ahead, by)
	}
	require.Empty(t, judged())
	x.b.Mini.SetTime(start.Add(by - time.Millisecond))
	require.Empty(t, judged())
	x.b.Mini.SetTime(start.Add(by))
	require.Equal(t, []string{x.Runner}, judged())
	x.b.Mini.SetTime(start.Add(-time.Minute)) // and once more
	require.Empty(t, judged())
	x.due(t, -time.Hour, x.Runner)
	x.b.Mini.SetTime(start.Add(by - time.Minute))
	require.Equal(t, []string{x.Runner}, judged())
}

// Heartbeats by a clock that was ahead and was set back since do not shield who died then.
func TestAHeartbeatFromAClockThatWasSetBackReachesNoFurtherThanABeat(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	x.owners(t, 4)
	epochs := map[string]int64{}
	all, err := x.Store.ListOwners(t.Context())
	require.NoError(t, err)
	for _, o := range all {
		epochs[o.Name] = o.Epoch
	}
	x.b.Mini.SetTime(start.Add(-3 * time.Hour))
	beat := func(at time.Duration) []string {
		x.b.Mini.SetTime(start.Add(at - 3*time.Hour))
		for owner, epoch := range epochs {
			if owner != "testrunner@o3#0" {
				_, err := x.Store.Beat(t.Context(), owner, epoch, time.Second)
				require.NoError(t, err)
			}
		}
		down, err := x.Store.Judge(t.Context(), 3*time.Second, 5*time.Second)
		require.NoError(t, err)
		return append(down, x.late(t, x.Store, 5*time.Second)...)
	}
	require.Empty(t, beat(0))
	for second := range 5 {
		require.Empty(t, beat(time.Minute+time.Duration(second)*time.Second))
	}
	require.Contains(t, beat(time.Minute+5*time.Second), "testrunner@o3#0")
	require.Contains(t, beat(time.Minute+6*time.Second), "o3")
}

// So would the mark of most being late.
func TestAMarkOfMassLatenessThatIsStillToComeIsOfAnotherTime(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	all := append(x.owners(t, 4), x.Runner, x.Factory)
	const by = 5 * time.Second
	x.due(t, -by, all...)
	require.Empty(t, x.late(t, x.Store, by))
	x.b.Mini.SetTime(start.Add(-time.Hour)) // set back
	x.due(t, -by, all...)
	require.Empty(t, x.late(t, x.Store, by))
	x.b.Mini.SetTime(start.Add(by - time.Hour))
	require.ElementsMatch(t, all, x.late(t, x.Store, by))
}

// Rule 7: when most are late at once it is Redis, not they: a full grace.
func TestMassLatenessGetsAGrace(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	at := start
	advance := func(d time.Duration) { at = at.Add(d); x.b.Mini.SetTime(at) }
	some := x.owners(t, 8)
	all := append([]string{x.Runner, x.Factory}, some...)
	const by = 5 * time.Second
	x.due(t, 0, all[:5]...)
	advance(by)
	require.ElementsMatch(t, all[:5], x.late(t, x.Store, by), "half of them are not most")
	x.due(t, 0, all[:6]...)
	advance(by)
	require.Empty(t, x.late(t, x.Store, by))
	advance(by - time.Millisecond)
	require.Empty(t, x.late(t, x.Store, by))
	advance(time.Millisecond)
	require.ElementsMatch(t, all[:6], x.late(t, x.Store, by), "it lasts: they are lost")
	// They live again, and the mark of then does not count for the next time, though
	// nobody looked in between.
	x.due(t, 0, all[:6]...)
	advance(by)
	require.Empty(t, x.late(t, x.Store, by))
	advance(by)
	require.ElementsMatch(t, all[:6], x.late(t, x.Store, by))
	coretest.RequireSound(t, x.Store)
}

// Rule 7: the first who sends a heartbeat after a silence of Redis does not make the others, who
// are about to, the few that are late.
func TestWhoComesSecondAfterASilenceIsNotLate(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	some := x.owners(t, 4)
	all := append([]string{x.Runner, x.Factory}, some...)
	const by, beat = 5 * time.Second, time.Second
	at := start
	advance := func(d time.Duration) { at = at.Add(d); x.b.Mini.SetTime(at) }
	x.due(t, beat, all...)
	for range 2 { // the second time is a silence too
		advance(by + beat)
		for i, owner := range some {
			x.beat(t, owner, beat)
			require.Empty(t, x.late(t, x.Store, by), "after %d of them", i+1)
			down, err := x.Store.Judge(t.Context(), by, by)
			require.NoError(t, err)
			require.Empty(t, down)
		}
		advance(beat)
		x.beat(t, x.Runner, beat)
		x.beat(t, x.Factory, beat)
		require.Empty(t, x.late(t, x.Store, by))
	}
	last := some[3]
	others := all[:5]
	for range int(by/beat) - 2 {
		for _, owner := range others {
			x.beat(t, owner, beat)
		}
		require.Empty(t, x.late(t, x.Store, by))
		advance(beat)
	}
	for _, owner := range others {
		x.beat(t, owner, beat)
	}
	advance(beat)
	require.Equal(t, []string{last}, x.late(t, x.Store, by-beat), "who has not come back after one grace is lost")
	coretest.RequireSound(t, x.Store)
}

// A silence soon after another may be ended by an owner whose next heartbeat is due later than those of
// the others: most came back in between all the same.
func TestASecondSilenceMayEndWithALongerBeat(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	all := append(x.owners(t, 3), x.Runner, x.Factory)
	const by, beat, longer = downAfter, time.Second, downAfter / 2
	at := start
	advance := func(d time.Duration) { at = at.Add(d); x.b.Mini.SetTime(at) }
	x.due(t, beat, all...)
	advance(by + beat)
	for range 2 { // the first of these heartbeats ends a silence
		for _, owner := range all[1:] {
			x.beat(t, owner, beat)
		}
		advance(beat)
	}
	advance(time.Hour)
	for i := range all {
		x.beat(t, all[len(all)-1-i], longer)
		require.Empty(t, x.late(t, x.Store, by), "after %d of them", i+1)
		require.Empty(t, x.judge(t), "after %d of them", i+1)
	}
	coretest.RequireSound(t, x.Store)
}

// A silence that is noted by a clock which was set back since is of another time.
func TestASilenceEndsAlsoAfterOneThatIsStillToCome(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	all := append(x.owners(t, 3), x.Runner, x.Factory)
	const by, beat = downAfter, time.Second
	for _, at := range []time.Time{start.Add(time.Hour), start} {
		x.b.Mini.SetTime(at)
		x.due(t, -by, all...)
		for i, owner := range all {
			x.beat(t, owner, beat)
			require.Empty(t, x.late(t, x.Store, by), "after %d of them", i+1)
			require.Empty(t, x.judge(t), "after %d of them", i+1)
		}
	}
	coretest.RequireSound(t, x.Store)
}

// The clock is set back after a silence, and forward again: all were heard of in between, though they are due before
// the silence ended by the former clock.
func TestASilenceEndsAfterTheClockWasSetBackAndForward(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	all := append(x.owners(t, 3), x.Runner, x.Factory)
	const by, beat = downAfter, time.Second
	x.due(t, beat, all...)
	for _, at := range []time.Time{start.Add(time.Hour), start, start.Add(2 * time.Hour)} {
		x.b.Mini.SetTime(at)
		for i, owner := range all {
			x.beat(t, owner, beat)
			require.Empty(t, x.late(t, x.Store, by), "%s: after %d of them", at, i+1)
			require.Empty(t, x.judge(t), "%s: after %d of them", at, i+1)
		}
	}
	coretest.RequireSound(t, x.Store)
}

// While most are late, Redis falls silent, or its clock steps: who was heard of since they were
// late is not lost with them.
func TestMassLatenessIsOfThoseWhoWereLateWhenItBegan(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	some := x.owners(t, 6)
	gone, others := some[:5], []string{some[5], x.Runner, x.Factory}
	const by = downAfter
	x.due(t, 0, gone...)
	x.due(t, by, others...)
	x.b.Mini.SetTime(start.Add(by))
	require.Empty(t, x.late(t, x.Store, by), "most are late: a grace begins")
	require.Empty(t, x.judge(t))
	for _, owner := range others {
		x.beat(t, owner, time.Second)
	}
	x.b.Mini.SetTime(start.Add(time.Hour))
	require.Equal(t, gone, x.late(t, x.Store, by))
	require.Equal(t, []string{"o0", "o1", "o2", "o3", "o4"}, x.judge(t))
	require.Equal(t, core.HostUp, x.host(t, "h1").State)
	for _, owner := range gone {
		_, err := x.Store.Fence(t.Context(), owner, by)
		require.NoError(t, err)
	}
	require.Equal(t, gone, x.late(t, x.Store, by), "most of the others are late now: a grace begins")
	coretest.RequireSound(t, x.Store)
}

// A second silence follows at once: most have not come back from the first, so it is not noted
// anew. Who had come back has a grace after the second all the same, and what it has in hand.
func TestWhoCameBackFromOneSilenceHasAGraceAfterTheNext(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	x.claim(t, 1, "a")
	some := x.owners(t, 5)
	all := append([]string{x.Runner, x.Factory}, some...)
	const by, beat = downAfter, time.Second
	at := start
	advance := func(d time.Duration) { at = at.Add(d); x.b.Mini.SetTime(at) }
	beats := func(owners ...string) {
		for _, owner := range owners {
			x.beat(t, owner, beat)
		}
	}
	x.due(t, beat, all...)
	advance(by + beat)
	beats(x.Factory, x.Runner, some[0])
	advance(time.Hour)
	beats(x.Factory, some[0], some[1], some[2]) // the runner is about to
	gone := some[3:]
	require.Equal(t, gone, x.late(t, x.Store, by), "they did not come back from the first")
	require.Equal(t, []string{"o3", "o4"}, x.judge(t))
	clock, err := x.Store.ReadClock(t.Context())
	require.NoError(t, err)
	require.Less(t, clock.UnreportedFor(x.heldOf(t, x.Runner)[0].Since), beat)
	for range int(by/beat) - 1 {
		advance(beat)
		beats(all[1:5]...)
		require.Equal(t, gone, x.late(t, x.Store, by))
	}
	advance(beat)
	beats(all[1:5]...)
	require.Equal(t, append([]string{x.Runner}, gone...), x.late(t, x.Store, by), "its grace is over")
	coretest.RequireSound(t, x.Store)
}

// A living owner that often pauses is a silence of everybody where the others are dead: that
// holds the judgement back once.
func TestOneThatOftenPausesDoesNotShieldTheDead(t *testing.T) {
	t.Parallel()
	for _, dead := range []int{1, 2} {
		x := newSuite(t, coretest.Mini(t), false)
		all := append(x.owners(t, dead-1), x.Runner, x.Factory)
		const by, beat, pause = 5 * time.Second, time.Second, 3 * time.Second
		x.due(t, 0, all...)
		lost := map[string]bool{}
		for i := range 8 {
			x.b.Mini.SetTime(start.Add(time.Duration(i+1) * pause))
			x.beat(t, x.Runner, beat)
			for _, owner := range x.late(t, x.Store, by) {
				lost[owner] = true
			}
		}
		require.Len(t, lost, dead)
		require.NotContains(t, lost, x.Runner)
	}
}

// beat records an owner's heartbeat in its present epoch.
func (x *suite) beat(t *testing.T, owner string, next time.Duration) {
	t.Helper()
	all, err := x.Store.ListOwners(t.Context())
	require.NoError(t, err)
	i := slices.IndexFunc(all, func(o core.OwnerInfo) bool { return o.Name == owner })
	require.GreaterOrEqual(t, i, 0, owner)
	_, err = x.Store.Beat(t.Context(), owner, all[i].Epoch, next)
	require.NoError(t, err)
}
