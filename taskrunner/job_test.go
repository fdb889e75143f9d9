package taskrunner_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/school"
	"drover/taskrunner"
)

// do sets what a kind does.
func (r *rig) do(kind taskrunner.Kind) { r.kinds = append(r.kinds, kind) }

func TestACancelledTaskStopsAndIsRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var cause error
		r.handle("slow", func(ctx context.Context) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return ctx.Err()
		})
		r.cluster.submit("slow", "a", "b")
		p := r.start()
		settle(time.Second)
		r.cluster.look(func() { r.cluster.marked[key("a")] = "ann" })
		settle(3 * time.Second)
		state, note := r.cluster.end("a")
		require.Equal(t, core.TaskCancelled, state)
		require.Equal(t, "cancelled by ann", note)
		require.True(t, core.Is(cause, core.CodeCancelled))
		state, _ = r.cluster.end("b")
		require.Empty(t, state, "only that one")
		require.Equal(t, 1, r.cluster.left())
		require.Empty(t, r.cluster.failures)
		p.kill()
		require.NoError(t, <-p.ended)
	})
}

func TestATaskThatWasCancelledBeforeItBeganDoesNotRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cluster.submit("ok", "a")
		r.cluster.look(func() { r.cluster.marked[key("a")] = "ann" })
		p := r.start()
		settle(time.Second)
		state, _ := r.cluster.end("a")
		require.Equal(t, core.TaskCancelled, state)
		require.Zero(t, r.runs("ok"))
		p.drain()
	})
}

// One that had done its work before it heard of it is done.
func TestACancellationThatComesTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.handle("deaf", func(context.Context) error { <-time.After(10 * time.Second); return nil })
		r.cluster.submit("deaf", "a")
		p := r.start()
		settle(time.Second)
		r.cluster.look(func() { r.cluster.marked[key("a")] = "ann" })
		settle(20 * time.Second)
		state, _ := r.cluster.end("a")
		require.Equal(t, core.TaskDone, state)
		p.drain()
	})
}

func TestWaitingForOthersUsesNoAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var at []time.Duration
		begun := time.Now()
		r.do(taskrunner.Kind{Name: "waits", MaxAttempts: 1, Handle: func(_ context.Context, job *taskrunner.Job) (taskrunner.End, error) {
			require.Equal(t, 1, job.Attempt)
			if at = append(at, time.Since(begun)); len(at) < 10 {
				return taskrunner.End{Later: time.Minute}, nil
			}
			return taskrunner.End{Note: "at last"}, nil
		}})
		r.cluster.submit("waits", "a")
		p := r.start()
		settle(time.Hour)
		require.Len(t, at, 10)
		for i := 1; i < len(at); i++ {
			require.GreaterOrEqual(t, at[i]-at[i-1], time.Minute)
			require.Less(t, at[i]-at[i-1], 63*time.Second)
		}
		state, note := r.cluster.end("a")
		require.Equal(t, core.TaskDone, state)
		require.Equal(t, "at last", note)
		p.drain()
	})
}

func TestProgressIsToldNowAndThenAndAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.do(taskrunner.Kind{Name: "counts", Handle: func(_ context.Context, job *taskrunner.Job) (taskrunner.End, error) {
			for i := range int64(1000) {
				job.Progress(i+1, 1000, "counting")
				<-time.After(10 * time.Millisecond)
			}
			<-time.After(10 * time.Second) // the last word is told before the end
			return taskrunner.End{}, nil
		}})
		r.cluster.submit("counts", "a")
		p := r.start()
		settle(15 * time.Second)
		last := core.TaskProgress{Done: 1000, Total: 1000, Text: "counting"}
		r.cluster.look(func() {
			all := r.cluster.progress[key("a")]
			require.InDelta(t, 11, len(all), 1)
			require.Equal(t, last, all[len(all)-1].TaskProgress)
			for i := 1; i < len(all); i++ {
				require.GreaterOrEqual(t, all[i].at.Sub(all[i-1].at), time.Second)
				require.Greater(t, all[i].Done, all[i-1].Done)
			}
		})
		settle(10 * time.Second)
		require.Equal(t, &last, r.cluster.full["a"].Progress)
		p.drain()
	})
}

// What is said at the very end is told too, also where the task only waits.
func TestTheLastWordIsToldBeforeATaskWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.do(taskrunner.Kind{Name: "waits", Handle: func(_ context.Context, job *taskrunner.Job) (taskrunner.End, error) {
			job.Progress(1, 3, "first")
			job.Progress(2, 3, "second")
			return taskrunner.End{Later: time.Hour}, nil
		}})
		r.cluster.submit("waits", "a")
		p := r.start()
		settle(time.Second)
		r.cluster.look(func() {
			all := r.cluster.progress[key("a")]
			require.NotEmpty(t, all)
			require.Equal(t, core.TaskProgress{Done: 2, Total: 3, Text: "second"}, all[len(all)-1].TaskProgress)
		})
		p.drain()
	})
}

// A task of hours is heard of before it could be taken for hung, also while its end
// cannot be recorded; one that does not obey its time-out is not.
func TestALongTaskIsNotTakenForHung(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Poll, r.cfg.Registration.Beat = 20*time.Second, 20*time.Second // hours pass in fewer steps
		silent := func(d time.Duration) func(context.Context, *taskrunner.Job) (taskrunner.End, error) {
			return func(context.Context, *taskrunner.Job) (taskrunner.End, error) {
				<-time.After(d)
				return taskrunner.End{}, nil
			}
		}
		r.do(taskrunner.Kind{Name: "long", Timeout: 5 * time.Hour, Handle: silent(4 * time.Hour)})
		r.do(taskrunner.Kind{Name: "stuck", Timeout: time.Hour, Handle: silent(9 * time.Hour)})
		r.cluster.faults(func(op string) (error, error) {
			if op == "end" {
				return errDown, nil
			}
			return nil, nil
		})
		begun := time.Now()
		r.cluster.submit("long", "long")
		r.cluster.submit("stuck", "stuck")
		p := r.start()
		settle(8 * time.Hour)
		covered := func(id string) time.Duration {
			until := begun.Add(2 * time.Minute)
			for _, said := range r.cluster.progress[key(id)] {
				require.False(t, said.at.After(until), "%s was taken for hung", id)
				until = said.at.Add(said.limit)
			}
			return until.Sub(begun)
		}
		r.cluster.look(func() {
			require.Greater(t, covered("long"), 8*time.Hour)
			require.Less(t, covered("stuck"), 70*time.Minute)
		})
		r.cluster.faults(nil)
		settle(2 * time.Hour)
		p.drain()
	})
}

func TestATaskThatWasTakenAwayStopsAndRecordsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		stopped := false
		r.do(taskrunner.Kind{Name: "slow", Handle: func(ctx context.Context, job *taskrunner.Job) (taskrunner.End, error) {
			for i := int64(0); ; i++ {
				job.Progress(i, 0, "")
				select {
				case <-ctx.Done():
					stopped = true
					return taskrunner.End{}, ctx.Err()
				case <-time.After(time.Second):
				}
			}
		}})
		r.cluster.submit("slow", "a")
		p := r.start()
		settle(5 * time.Second)
		r.cluster.look(func() { delete(r.cluster.slots, key("a")) })
		settle(5 * time.Second)
		require.True(t, stopped)
		state, _ := r.cluster.end("a")
		require.Empty(t, state)
		require.Empty(t, r.cluster.failures)
		require.Empty(t, r.cluster.slots)
		p.drain()
	})
}

func TestARunnerLooksAgainWhenARateLetsATaskBegin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Poll, r.cfg.Registration.Beat = time.Hour, time.Hour
		r.cluster.next = 5 * time.Second
		p := r.start()
		settle(time.Second)
		n := r.cluster.called("exchange")
		r.cluster.look(func() { r.cluster.tasks[key("a")] = core.Task{ID: "a", Generation: 1, Kind: "ok"} })
		r.cluster.look(func() { r.cluster.queue = append(r.cluster.queue, key("a")) }) // and no bell
		settle(3 * time.Second)
		require.Equal(t, n, r.cluster.called("exchange"))
		settle(2 * time.Second)
		require.Equal(t, 1, r.runs("ok"))
		p.drain()
	})
}

func TestAKindHasItsOwnRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var asked []int
		r.do(taskrunner.Kind{
			Name: "webhook", MaxAttempts: 5, Timeout: time.Second,
			Retry: func(failures int) time.Duration {
				asked = append(asked, failures)
				return time.Duration(failures) * time.Hour
			},
			Handle: func(ctx context.Context, _ *taskrunner.Job) (taskrunner.End, error) {
				<-ctx.Done()
				return taskrunner.End{}, errors.New("no answer")
			},
		})
		r.cluster.submit("webhook", "a")
		p := r.start()
		settle(12 * time.Hour)
		require.Equal(t, []int{1, 2, 3, 4}, asked)
		state, note := r.cluster.end("a")
		require.Equal(t, core.TaskDead, state)
		require.Equal(t, "attempt 5 of 5: not done within 1s: no answer", note)
		failures := r.cluster.failures["a"]
		require.Len(t, failures, 5)
		for i, f := range failures {
			require.Equal(t, i+1, f.Attempt)
			require.Equal(t, 1, f.Generation)
			require.Equal(t, "not done within 1s: no answer", f.Text)
			require.Positive(t, f.At)
		}
		p.drain()
	})
}

func TestErrorsThatAreFinal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		codes := map[core.Code]bool{
			core.CodeInvalid: true, core.CodeNotFound: true, core.CodeForbidden: true, core.CodeLimit: true,
			core.CodeConflict: false, core.CodeUnavailable: false, core.CodeInternal: false,
		}
		for code := range codes {
			name := strings.ToLower(string(code))
			r.handle(name, func(context.Context) error { return core.Errorf(code, "", "no") })
			r.cluster.submit(name, name)
		}
		p := r.start()
		settle(time.Hour)
		for code, once := range codes {
			name, want := strings.ToLower(string(code)), 3
			if once {
				want = 1
			}
			require.Equal(t, want, r.runs(name), code)
			require.Len(t, r.cluster.failures[name], want, code)
		}
		p.drain()
	})
}

// A failure that the store cannot note does not hold the task up for long.
func TestAFailureThatCannotBeNoted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.handle("bad", func(context.Context) error { return errors.New("no") })
		r.cluster.faults(func(op string) (error, error) {
			if op == "fail" {
				return errDown, nil
			}
			return nil, nil
		})
		r.cluster.submit("bad", "a")
		p := r.start()
		settle(time.Hour)
		state, _ := r.cluster.end("a")
		require.Equal(t, core.TaskDead, state)
		p.drain()
	})
}

func TestTheEndOfAChildWakesItsParent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.handle("bad", func(context.Context) error { return core.Errorf(core.CodeInvalid, "", "no") })
		r.cluster.look(func() {
			r.cluster.rows["parent"] = core.Task{ID: "parent", Generation: 3, State: core.TaskQueued}
			r.cluster.rows["ended"] = core.Task{ID: "ended", Generation: 1, State: core.TaskDone}
			for id, task := range map[string]core.Task{
				"a": {Kind: "ok", Parent: "parent"}, "b": {Kind: "bad", Parent: "parent"}, "c": {Kind: "ok"}, "d": {Kind: "ok", Parent: "ended"},
			} {
				task.ID, task.Generation = id, 1
				r.cluster.tasks[key(id)] = task
				r.cluster.queue = append(r.cluster.queue, key(id))
			}
		})
		p := r.start()
		settle(5 * time.Second)
		require.Equal(t, []string{"parent-3", "parent-3"}, r.cluster.woken)
		p.drain()
	})
}

func TestEachEpochSetsTheRates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Rates = map[string]core.TaskRate{"rerun": {Every: time.Second}}
		p := r.start()
		settle(time.Second)
		require.Equal(t, r.cfg.Rates, r.cluster.rates)
		r.cluster.look(func() { r.cluster.fenced, r.cluster.rates = true, nil }) // Redis lost everything
		settle(10 * time.Second)
		require.Equal(t, r.cfg.Rates, r.cluster.rates)
		p.drain()
	})
}

func TestADownloadIsRecordedWithTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		d := &core.Download{Name: "x.zip", Type: "application/zip", Digest: "sha256:" + strings.Repeat("0a", 32), Size: 3, Expires: 5}
		unfit := *d
		unfit.Name = "../x.zip"
		r.do(taskrunner.Kind{Name: "makes", Handle: func(context.Context, *taskrunner.Job) (taskrunner.End, error) {
			return taskrunner.End{Note: "made it", Download: d}, nil
		}})
		r.do(taskrunner.Kind{Name: "errs", Handle: func(context.Context, *taskrunner.Job) (taskrunner.End, error) {
			return taskrunner.End{Note: "made it", Download: &unfit}, nil
		}})
		r.cluster.submit("makes", "a")
		r.cluster.submit("errs", "b")
		p := r.start()
		settle(time.Second)
		require.Equal(t, core.TaskEnd{ID: "a", Generation: 1, State: core.TaskDone, Note: "made it", Download: d}, r.cluster.full["a"])
		require.NotContains(t, r.cluster.full, "b", "nobody could fetch it")
		p.drain()
	})
}

func TestArgumentsThatAreNotRead(t *testing.T) {
	t.Parallel()
	for args, fine := range map[string]bool{``: true, `{"class":"cs"}`: true, `{"class":1}`: false, `{"klass":"cs"}`: false, `[`: false} {
		job := taskrunner.Job{Task: core.Task{ID: "a", Kind: "archive", Args: []byte(args)}}
		a := school.ArchiveArgs{Class: "default"}
		err := job.Args(&a)
		require.Equal(t, fine, err == nil, args)
		require.Equal(t, !fine, core.Is(err, core.CodeInvalid), args)
		job.Progress(1, 2, "without a runner nobody hears it")
	}
}
