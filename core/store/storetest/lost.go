package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// Workers of a storm, and what each of them does.
const (
	workers = 8
	each    = 6
)

// Killed records results from many goroutines while the place where the store lies goes, as by
// a loss of power, and comes back, again and again: nothing that was acknowledged is lost, and
// nothing is recorded twice. store returns the store to use at the moment.
func Killed(t *testing.T, store func() school.ResultStore, kill, back func()) {
	t.Helper()
	storm(t, store, func(acknowledged <-chan struct{}) {
		for range 3 {
			for range 30 {
				<-acknowledged
			}
			kill()
			back()
		}
	})
}

// Cut does so while answers get lost, with their connections, of which lose is to lose some.
func Cut(t *testing.T, s school.ResultStore, lose, stop func()) {
	t.Helper()
	storm(t, func() school.ResultStore { return s }, func(<-chan struct{}) { lose() })
	stop()
}

// storm creates requests, every other one with its submission, and records two results of each at once, disturbs that, and repeats
// whatever was not answered until it is.
func storm(t *testing.T, store func() school.ResultStore, disturb func(acknowledged <-chan struct{})) {
	t.Helper()
	const n = workers * each
	aClass(t, store(), "ann")
	var specs [n]core.Spec
	var answers [n][2]bool
	acknowledged := make(chan struct{}, 3*n)
	until := func(call func(s school.ResultStore) error) error {
		for {
			err := call(store())
			if !core.Is(err, core.CodeUnavailable) {
				acknowledged <- struct{}{}
				return err
			}
		}
	}
	errs := make([]error, workers)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w * each; i < (w+1)*each && errs[w] == nil; i++ {
				var create Call
				specs[i], create = aRequest(i%2 == 1)
				errs[w] = until(func(s school.ResultStore) error { return create(t.Context(), s) })
				var both sync.WaitGroup
				for claim := range 2 {
					both.Go(func() {
						err := until(func(s school.ResultStore) (err error) {
							answers[i][claim], err = s.Record(t.Context(), Result(specs[i], token(claim)))
							return err
						})
						if err != nil {
							t.Error(err)
						}
					})
				}
				both.Wait()
			}
		})
	}
	disturb(acknowledged)
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	for i, spec := range specs {
		recordedOnce(t, store(), spec, answers[i])
	}
}

// recordedOnce requires that one of two results of a request was accepted, and that both are there.
func recordedOnce(t *testing.T, s school.ResultStore, spec core.Spec, accepted [2]bool) {
	t.Helper()
	require.NotEqual(t, accepted[0], accepted[1], "one of the two")
	winner := token(0)
	if accepted[1] {
		winner = token(1)
	}
	require.Equal(t, winner, mustGet(t, s, spec.ID).Result.Token)
	history, err := s.Attempts(t.Context(), spec.ID)
	require.NoError(t, err)
	require.Len(t, history, 2, "each once")
	require.True(t, history[0].Accepted)
	require.False(t, history[1].Accepted)
	if spec.Submission != "" {
		sub, err := s.GetSubmission(t.Context(), spec.Submission)
		require.NoError(t, err)
		require.Equal(t, spec.ID, sub.Request)
	}
}

// aRequest returns a spec and the call that makes it, with a submission or without.
func aRequest(submitted bool) (core.Spec, Call) {
	if !submitted {
		spec := Spec("ann")
		return spec, func(ctx context.Context, s school.ResultStore) error { _, _, err := s.Create(ctx, spec); return err }
	}
	sub, spec := Graded("ann")
	return spec, func(ctx context.Context, s school.ResultStore) error {
		_, _, err := s.CreateSubmission(ctx, sub, &spec)
		return err
	}
}

func token(claim int) string { return fmt.Sprintf("%d.1", claim+1) }

// Silent stops the place where the store lies from answering: every call of the names ends with
// its caller's deadline, and is UNAVAILABLE. Once it may go on, so do they. No names are all.
func Silent(t *testing.T, s school.ResultStore, stop, resume func(), names ...string) {
	t.Helper()
	School(t, s)
	mustTask(t, s, Task("t"))
	calls := Calls(mustCreate(t, s, Spec("ann")))
	if len(names) == 0 {
		for name := range calls {
			names = append(names, name)
		}
	}
	stop()
	together(t, len(names), func(i int) error {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // it does not matter how long
		defer cancel()
		if err := calls[names[i]](ctx, s); !core.Is(err, core.CodeUnavailable) {
			return fmt.Errorf("%s: %w", names[i], err)
		}
		return nil
	})
	resume()
	for _, name := range names {
		if err := calls[name](t.Context(), s); core.Is(err, core.CodeUnavailable) {
			require.NoError(t, err, name)
		}
	}
	require.NoError(t, s.Ping(t.Context()))
}
