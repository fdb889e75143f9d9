package drill

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// seen plays what happens, a millisecond after the other. Its words are those of the events,
// "start OWNER" makes a process that registers, "dies OWNER" ends it.
type seen struct {
	*evidence
	now   time.Time
	lives map[string]*life
}

func newSeen() *seen { return &seen{newEvidence(), time.Unix(0, 0), map[string]*life{}} }

func (s *seen) tell(op, by, moved, claimed string) *seen {
	s.now = s.now.Add(2 * soonAfter)
	s.take(happening{op: op, by: by, moved: moved, claimed: claimed, at: s.now, its: s.lives[by]})
	return s
}

func (s *seen) start(owner string) *seen {
	s.lives[owner] = &life{pid: 1}
	return s.tell("register", owner, "1", "")
}

func (s *seen) dies(owner string) *seen {
	s.lives[owner].ended = s.now
	return s
}

func (s *seen) claims(owner, keys string) *seen { return s.tell("exchange", owner, "", keys) }

// lost is the end of an owner whose process died: its neighbours declare it dead and settle what it held.
func (s *seen) lost(owner, settled string) *seen {
	return s.dies(owner).tell("declare_dead", owner, "2", "").tell("settle", owner, settled, "")
}

// late is the end of an owner that is paused.
func (s *seen) late(owner, settled string) *seen {
	return s.tell("fence", owner, "2", "").tell("settle", owner, settled, "").tell("register", owner, "3", "")
}

func TestOwnFault(t *testing.T) {
	t.Parallel()
	const r1, r2 = "testrunner@h1#0", "testrunner@h2#0"
	for name, test := range map[string]struct {
		of  func(s *seen)
		own bool
	}{
		"alone at two deaths": {func(s *seen) {
			s.start(r1).claims(r1, "a").lost(r1, "a=retry").start(r1).claims(r1, "a").lost(r1, "a")
		}, true},
		"apart at the second": {func(s *seen) {
			s.start(r1).claims(r1, "a b").lost(r1, "a=retry b=retry").start(r1).claims(r1, "a c").lost(r1, "a c=retry")
		}, true},
		"beside another with a death, twice": {func(s *seen) {
			s.start(r1).claims(r1, "a b").lost(r1, "a=retry b=retry").start(r1).claims(r1, "a b").lost(r1, "a b")
		}, false},
		"alone only after the other had ended": {func(s *seen) {
			s.start(r1).claims(r1, "a b").lost(r1, "a=retry b=retry").start(r1).claims(r1, "a b").tell("exchange", r1, "b", "").lost(r1, "a")
		}, true},
		"one death": {func(s *seen) {
			s.start(r1).claims(r1, "a").lost(r1, "a")
		}, false},
		"two pauses": {func(s *seen) {
			s.start(r1).claims(r1, "a").late(r1, "a=retry").claims(r1, "a").late(r1, "a")
		}, false},
		"a pause and a death": {func(s *seen) {
			s.start(r1).claims(r1, "a").late(r1, "a=retry").claims(r1, "a").lost(r1, "a")
		}, false},
		"two deaths that were fenced late": {func(s *seen) {
			s.start(r1).claims(r1, "a").dies(r1).tell("fence", r1, "2", "").tell("settle", r1, "a=retry", "")
			s.start(r2).claims(r2, "a").dies(r2).tell("host down", "-", "h2", "").tell("settle", r2, "a", "")
		}, true},
		"fenced while it was paused, and dead when its successor came": {func(s *seen) {
			s.start(r1).claims(r1, "a").tell("fence", r1, "2", "").dies(r1).start(r1).tell("settle", r1, "a=retry", "")
			s.claims(r1, "a").lost(r1, "a")
		}, true},
		"alone, and dead long after it was settled": {func(s *seen) {
			s.start(r1).claims(r1, "a").tell("fence", r1, "2", "").tell("settle", r1, "a=retry", "").tell("wake", "-", "", "")
			s.dies(r1).start(r1).claims(r1, "a").lost(r1, "a")
		}, true},
		"its host lost it beside others without a death, and was dead when it came back": {func(s *seen) {
			s.start(r1).start(r2).claims(r1, "a").lost(r1, "a=retry").claims(r2, "a b c")
			s.tell("host down", "-", "h2", "").tell("settle", r2, "a=retry b=retry c=retry", "")
			s.dies(r2).tell("death", r2, "a! b c", "").start(r2)
		}, true},
		"its host lost it beside another with a death, and was dead when it came back": {func(s *seen) {
			s.start(r1).start(r2).claims(r1, "a b").lost(r1, "a=retry b=retry").claims(r2, "a b")
			s.tell("host down", "-", "h2", "").tell("settle", r2, "a=retry b=retry", "")
			s.dies(r2).tell("death", r2, "a b", "").start(r2)
		}, false},
		"beside another that its host's death had marked": {func(s *seen) {
			s.start(r1).start(r2).claims(r1, "a b").dies(r1).tell("host down", "-", "h1", "").tell("settle", r1, "a=retry b=retry", "").start(r1)
			s.claims(r2, "a b").lost(r2, "a b")
		}, false},
		"its host lost it, and came back as the process that it was": {func(s *seen) {
			s.start(r1).start(r2).claims(r1, "a").lost(r1, "a=retry").claims(r2, "a")
			s.tell("host down", "-", "h2", "").tell("settle", r2, "a=retry", "").tell("register", r2, "3", "")
			s.dies(r2).start(r2)
		}, false},
		"hung three times": {func(s *seen) {
			s.start(r1)
			for range 3 {
				s.claims(r1, "a").tell("revoke", r1, "a=retry", "")
			}
		}, false},
		"three faults that its owner told of": {func(s *seen) {
			s.start(r1)
			for range 3 {
				s.claims(r1, "a").tell("exchange", r1, "a=retry", "")
			}
		}, true},
		"two pauses, and a runner that did not try it any more": {func(s *seen) {
			s.start(r1).claims(r1, "a").late(r1, "a=retry").claims(r1, "a").late(r1, "a=retry").claims(r1, "a").tell("exchange", r1, "a", "")
		}, false},
		"two faults, and lost with a pause": {func(s *seen) {
			s.start(r1)
			for range 2 {
				s.claims(r1, "a").tell("exchange", r1, "a=retry", "")
			}
			s.claims(r1, "a").late(r1, "a")
		}, false},
		"what was given back before": {func(s *seen) {
			s.start(r1).claims(r1, "a b").tell("exchange", r1, "a=release", "").lost(r1, "b=retry").start(r1).claims(r1, "a").lost(r1, "a")
		}, false},
		"what Redis has forgotten": {func(s *seen) {
			s.start(r1).claims(r1, "a b")
			s.forget()
			s.lost(r1, "a=retry")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSeen()
			test.of(s)
			why := s.innocent("a")
			require.Equal(t, test.own, why == "", why)
			require.Empty(t, s.promises())
		})
	}
}

func TestPromises(t *testing.T) {
	t.Parallel()
	const r1 = "testrunner@h1#0"
	s := newSeen()
	s.start(r1).tell("declare_dead", r1, "2", "")
	require.Len(t, s.promises(), 1, "its process lives")

	s = newSeen()
	s.start(r1).claims(r1, "a").tell("running", r1, "a", "").tell("exchange", r1, "a", "")
	require.Empty(t, s.promises())
	s.claims(r1, "a").tell("running", r1, "a", "")
	require.Len(t, s.promises(), 1, "it had ended")

	const r2 = "testrunner@h2#0"
	s = newSeen()
	s.start(r1).start(r2).claims(r1, "a").claims(r2, "a").tell("exchange", r1, "a", "").tell("running", r2, "a", "")
	require.Empty(t, s.promises(), "the former owner's result came after it was claimed anew")
}

func TestADrainedHostIsGivenNothing(t *testing.T) {
	t.Parallel()
	const r1, r2 = "testrunner@h1#0", "testrunner@h2#0"
	s := newSeen()
	s.drain("h1", true)
	s.start(r1).start(r2).claims(r1, "a")
	require.Empty(t, s.promises(), "Redis may not have heard of it")
	s.tell("drain", "-", "h1", "").claims(r2, "b").tell("exchange", r1, "a", "")
	require.Empty(t, s.promises())
	s.forget() // it was wiped
	s.claims(r1, "c")
	require.Len(t, s.promises(), 1)
	s.drain("h1", false)
	s.claims(r1, "d")
	require.Len(t, s.promises(), 1)
}

func TestWhatIsReadAgainIsNoNews(t *testing.T) {
	t.Parallel()
	const r1 = "testrunner@h1#0"
	s := newSeen()
	s.start(r1).claims(r1, "a b").tell("exchange", r1, "a", "").claims(r1, "c")
	s.forget()
	again := func(op, moved, claimed string) {
		s.take(happening{op: op, by: r1, moved: moved, claimed: claimed, at: s.now, again: true})
	}
	again("register", "1", "")
	again("exchange", "", "a b")
	again("running", "a", "")
	require.Empty(t, s.promises(), "it ran before it ended")
	s.lost(r1, "a=retry b=retry")
	require.Equal(t, []string{"a", "b"}, s.losses[1].cohort, "what Redis remembers is in hand")
}
