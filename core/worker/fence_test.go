package worker_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"drover/core"
	"drover/core/worker"

	"github.com/stretchr/testify/require"
)

func TestFencedWhileWorkRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(2)
		f.submit("a-1", "b-1")
		d := open(t, f, config(3))
		a, b := next(t, d), next(t, d)
		idle := make(chan error)
		go func() {
			_, err := d.Next(t.Context())
			idle <- err
		}()
		f.on("exchange", fault{before: errNet})
		finishing := make(chan error)
		go func() {
			_, err := d.Finish(t.Context(), b, core.OutcomeDone)
			finishing <- err
		}()
		synctest.Wait()
		f.fence(runner)
		<-d.Lost()
		<-a.Cancelled
		fenced := func(err error) { require.Equal(t, core.CodeFenced, core.CodeOf(err), "%v", err) }
		fenced(a.Cause())
		fenced(<-idle)
		fenced(<-finishing)
		_, err := d.Next(t.Context())
		fenced(err)
		_, err = d.Finish(t.Context(), a, core.OutcomeDone)
		fenced(err)
		_, _, err = d.FinishNext(t.Context(), a, core.OutcomeDone)
		fenced(err)
		fenced(d.Progress(t.Context(), a, "running", 0))
		f.calm()
		before := f.count("exchange") + f.count("beat") + f.count("wait")
		time.Sleep(time.Minute)
		require.Equal(t, before, f.count("exchange")+f.count("beat")+f.count("wait"), "a lost worker says nothing more")
		closeWorker(t, d)
		require.Zero(t, f.count("deregister"))
		require.Equal(t, 2, f.slots(runner), "left to be settled")
	})
}

func TestRestartedOwnerFencesAndFindsWhatWasLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(2)
		f.submit("a-1", "b-1")
		old := open(t, f, config(2))
		w := next(t, old)
		d, left, err := worker.Open(t.Context(), f, f, config(2))
		require.NoError(t, err)
		require.Equal(t, []core.Held{{Key: w.Key, VM: w.VM, Token: w.Token}}, left)
		require.Greater(t, d.Epoch(), old.Epoch())
		<-old.Lost()
		<-w.Cancelled
		time.Sleep(3 * beat)
		require.Equal(t, 1, f.slots(runner), "the worker does not touch what recovery settles")
		f.mu.Lock()
		f.settle(f.owners[runner], w.Key, core.OutcomeRetry)
		f.mu.Unlock()
		for range 2 {
			finish(t, d, next(t, d))
		}
		closeWorker(t, old)
		closeWorker(t, d)
	})
}

func TestStaleLaneMeansFenced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(1)
		f.submit("a-1")
		d := open(t, f, config(1))
		w := next(t, d)
		f.mu.Lock()
		o := f.owners[runner]
		for lane, call := range o.lanes {
			call.seq += 10 // another process under our name and epoch
			o.lanes[lane] = call
		}
		for lane := range 2 {
			if _, ok := o.lanes[lane]; !ok {
				o.lanes[lane] = fakeCall{seq: 10}
			}
		}
		f.mu.Unlock()
		_, err := d.Finish(t.Context(), w, core.OutcomeDone)
		require.Equal(t, core.CodeFenced, core.CodeOf(err), "%v", err)
		<-d.Lost()
		closeWorker(t, d)
	})
}

func TestFencedByWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		d := open(t, f, config(1))
		f.on("wait", fault{before: core.Errorf(core.CodeFenced, runner, "over")})
		f.fence(runner)
		_, err := d.Next(t.Context())
		require.Equal(t, core.CodeFenced, core.CodeOf(err))
		closeWorker(t, d)
	})
}

func TestJoinAndLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		var heard atomic.Int32
		cfg := worker.PresenceConfig{
			Registration: core.Registration{Owner: "vmfactory@h1#0", Beat: beat}, BeatEvery: beat / 2,
			Hear: func(core.Beat) { heard.Add(1) },
		}
		p, left, err := worker.Join(t.Context(), f, cfg)
		require.NoError(t, err)
		require.Empty(t, left)
		time.Sleep(10*beat + beat/4)
		require.EqualValues(t, 20, heard.Load())
		p.Heard(time.Now())
		time.Sleep(beat / 4)
		require.EqualValues(t, 20, heard.Load(), "another call heard it")
		f.on("deregister", fault{after: errNet})
		time.AfterFunc(time.Minute, f.calm)
		require.NoError(t, p.Leave(t.Context()))
		require.Empty(t, f.owners)
		before := f.count("beat")
		time.Sleep(time.Minute)
		require.Equal(t, before, f.count("beat"))
	})
}

func TestLeaveHoldingSomething(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		p, _, err := worker.Join(t.Context(), f, worker.PresenceConfig{Registration: core.Registration{Owner: "vmfactory@h1#0"}})
		require.NoError(t, err)
		f.owners[p.Owner()].slots["vm-1"] = core.Held{Key: "vm-1"}
		require.Equal(t, core.CodeConflict, core.CodeOf(p.Leave(t.Context())))
	})
}

func TestPresenceFenced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		p, _, err := worker.Join(t.Context(), f, worker.PresenceConfig{Registration: core.Registration{Owner: runner}})
		require.NoError(t, err)
		require.False(t, p.Fenced(t.Context(), p.Epoch(), errors.New("something else")))
		select {
		case <-p.Lost():
			t.Fatal("lost by another error")
		default:
		}
		f.fence(runner)
		<-p.Lost()
		require.NoError(t, p.Leave(t.Context()))
		require.Zero(t, f.count("deregister"))
	})
}
