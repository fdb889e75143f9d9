package drill

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"drover/core"
)

// blown is a watch that saw an owner fall silent while it held some requests.
func blown(kind, owner string, at time.Time, keys ...string) *watch {
	w := newWatch(&cluster{})
	var held []core.Held
	for _, key := range keys {
		held = append(held, core.Held{Key: key, VM: "v-" + key})
	}
	w.struck(kind, owner, at, held)
	return w
}

func TestTimesOfAKill(t *testing.T) {
	t.Parallel()
	at := time.Now()
	after := func(ms int) time.Time { return at.Add(time.Duration(ms) * time.Millisecond) }
	w := blown("kill-testrunner", "testrunner@h1#0", at, "a-1", "b-1", "c-1")
	w.healed([]string{"testrunner@h1#0"}) // it was started again; nobody has noticed yet
	w.event(after(1), "fence", "testrunner@h2#0", "5")
	w.event(after(900), "fence", "testrunner@h1#0", "5")
	w.event(after(950), "register", "testrunner@h1#0", "6") // noticed once
	w.event(after(1000), "running", "testrunner@h2#0", "a-1")
	w.event(after(1200), "running", "testrunner@h1#0", "b-1") // its next life
	w.event(after(1300), "running", "testrunner@h1#0", "other-1")
	r := newReport(Config{})
	w.times(r)
	require.Equal(t, Spread{N: 1, P50: 900, P99: 900, Max: 900}, r.DetectMs)
	require.Equal(t, Spread{N: 2, P50: 1200, P99: 1200, Max: 1200}, r.RedispatchMs)
	require.Equal(t, r.DetectMs, r.Recovery["kill-testrunner"].Detect)
}

func TestAStopThatNobodyNoticedIsNoSample(t *testing.T) {
	t.Parallel()
	at := time.Now()
	w := blown("stop-testrunner", "testrunner@h1#0", at, "a-1", "b-1")
	w.event(at.Add(time.Second), "running", "testrunner@h1#0", "a-1") // it was just going to
	w.healed([]string{"testrunner@h1#0"})
	w.event(at.Add(time.Minute), "fence", "testrunner@h1#0", "5")
	w.event(at.Add(time.Minute), "running", "testrunner@h2#0", "b-1")
	r := newReport(Config{})
	w.times(r)
	require.Zero(t, r.DetectMs)
	require.Zero(t, r.RedispatchMs)
}

func TestALostHostTakesItsOwnersWithIt(t *testing.T) {
	t.Parallel()
	at := time.Now()
	w := blown(loseHostName, "testrunner@h1#0", at, "a-1")
	w.event(at.Add(time.Second), "host down", "-", "h1")
	w.event(at.Add(2*time.Second), "running", "testrunner@h2#0", "a-1")
	r := newReport(Config{})
	w.times(r)
	require.Equal(t, int64(1000), r.DetectMs.Max)
	require.Equal(t, int64(2000), r.RedispatchMs.Max)
}

func TestASecondBlowCountsFromTheFirst(t *testing.T) {
	t.Parallel()
	at := time.Now()
	w := blown("kill-testrunner", "testrunner@h1#0", at)
	w.struck("stop-testrunner", "testrunner@h1#0", at.Add(time.Second), nil)
	w.event(at.Add(2*time.Second), "register", "testrunner@h1#0", "7")
	r := newReport(Config{})
	w.times(r)
	require.Equal(t, int64(2000), r.Recovery["kill-testrunner"].Detect.Max)
}

func TestAWipedRedisIsNotMeasured(t *testing.T) {
	t.Parallel()
	at := time.Now()
	w := blown("kill-testrunner", "testrunner@h1#0", at, "a-1")
	w.forget()
	w.event(at.Add(time.Second), "register", "testrunner@h1#0", "7")
	w.event(at.Add(time.Second), "running", "testrunner@h1#0", "a-1")
	r := newReport(Config{})
	w.times(r)
	require.Zero(t, r.DetectMs)
	require.Zero(t, r.RedispatchMs)
}

// The copy that Redis is set back to ends somewhere after the last event that anybody could name:
// what it remembers is known by its id and text.
func TestWhatASetBackRedisRemembersIsNoNews(t *testing.T) {
	t.Parallel()
	const r1, r2 = "testrunner@h1#0", "testrunner@h2#0"
	w := newWatch(&cluster{})
	at := time.Now()
	tell := func(id, op, by, moved, claimed string) {
		at = at.Add(time.Second)
		w.happened(at, redis.XMessage{ID: id, Values: map[string]any{"op": op, "by": by, "moved": moved, "claimed": claimed}})
	}
	tell("1-0", "exchange", r1, "", "a")
	tell("2-0", "running", r1, "a", "")
	tell("3-0", "exchange", r1, "a", "") // forgotten
	w.rewind()
	require.True(t, w.back.Swap(false), "the reader is to know")
	w.seen.forget()
	tell("1-0", "exchange", r1, "", "a")
	tell("2-0", "running", r1, "a", "")
	require.Empty(t, w.seen.promises(), "it ran before it ended")
	tell("3-0", "exchange", r2, "", "a") // another event of the same id
	tell("4-0", "running", r2, "a", "")
	require.Len(t, w.seen.promises(), 1)
}

func TestSpread(t *testing.T) {
	t.Parallel()
	var times []time.Duration
	for ms := 200; ms > 0; ms-- {
		times = append(times, time.Duration(ms)*time.Millisecond)
	}
	require.Equal(t, Spread{N: 200, P50: 101, P99: 199, Max: 200}, spread(times))
	require.Equal(t, "p50 101 ms, p99 199 ms, at most 200 ms (200 times)", spread(times).String())
	require.Empty(t, Spread{}.String())
}

func TestBefore(t *testing.T) {
	t.Parallel()
	require.True(t, before("5-0", "10-0"))
	require.False(t, before("10-0", "10-7"))
	require.False(t, before("10-0", "$"))
}
