package worker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"drover/core"

	"github.com/stretchr/testify/require"
)

// A report that Redis did not receive because it was away is repeated once it answers, with what is
// left of the time, and of two words the newer.
func TestWhatRedisDidNotHearIsToldAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(2)
		f.submit("a-1", "b-1")
		d := open(t, f, config(2))
		a, b := next(t, d), next(t, d)
		f.away(true)
		require.ErrorIs(t, d.Progress(t.Context(), a, "running", time.Hour), errNet)
		require.ErrorIs(t, d.Progress(t.Context(), b, "running", time.Minute), errNet)
		require.ErrorIs(t, d.Progress(t.Context(), b, "running", 2*time.Hour), errNet)
		time.Sleep(10 * time.Minute)
		f.away(false)
		time.Sleep(time.Minute)

		f.mu.Lock()
		told, second, calls := f.owners[runner].slots["a-1"], f.owners[runner].slots["b-1"], f.calls["progress"]
		f.mu.Unlock()
		require.Equal(t, "running", told.Phase)
		require.InDelta(t, 50*time.Minute, told.Limit, float64(time.Minute))
		require.InDelta(t, 110*time.Minute, second.Limit, float64(time.Minute))
		time.Sleep(time.Hour)
		f.mu.Lock()
		require.Equal(t, calls, f.calls["progress"], "once is enough")
		f.mu.Unlock()
		finish(t, d, a)
		finish(t, d, b)
		closeWorker(t, d)
	})
}

// A report that is repeated may arrive after a newer one.
func TestTheNewestReportIsTheLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(1)
		f.submit("a-1")
		d := open(t, f, config(1))
		a := next(t, d)
		f.away(true)
		require.ErrorIs(t, d.Progress(t.Context(), a, "claimed", time.Hour), errNet)
		arriving := make(chan struct{})
		f.mu.Lock()
		f.disturb = func(op string) fault {
			if op != "progress" {
				return fault{}
			}
			f.disturb = nil
			close(arriving)
			return fault{late: time.Second}
		}
		f.mu.Unlock()
		<-arriving
		require.NoError(t, d.Progress(t.Context(), a, "running", time.Hour))
		time.Sleep(time.Minute)
		f.mu.Lock()
		phase := f.owners[runner].slots["a-1"].Phase
		f.mu.Unlock()
		require.Equal(t, "running", phase)
		finish(t, d, a)
		closeWorker(t, d)
	})
}

// Work that ended while Redis was away needs no word.
func TestNothingIsToldOfWhatHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(1)
		f.submit("a-1")
		d := open(t, f, config(1))
		w := next(t, d)
		f.away(true)
		require.ErrorIs(t, d.Progress(t.Context(), w, "running", time.Hour), errNet)
		ended := make(chan error, 1)
		go func() {
			_, err := d.Finish(t.Context(), w, core.OutcomeDone)
			ended <- err
		}()
		time.Sleep(time.Minute)
		f.mu.Lock()
		before := f.calls["progress"]
		f.mu.Unlock()
		f.away(false)
		require.NoError(t, <-ended)
		time.Sleep(time.Minute)
		f.mu.Lock()
		require.Equal(t, before, f.calls["progress"])
		f.mu.Unlock()
		closeWorker(t, d)
	})
}

// away makes every call fail, or lets them pass again.
func (f *fakeRedis) away(is bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.disturb = nil
	if is {
		f.disturb = func(string) fault { return fault{before: errNet} }
	}
}
