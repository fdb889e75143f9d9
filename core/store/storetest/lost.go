package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"drover/core"

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
func Killed(t *testing.T, store func() core.ResultStore, kill, back func()) {
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
func Cut(t *testing.T, s core.ResultStore, lose, stop func()) {
	t.Helper()
	storm(t, func() core.ResultStore { return s }, func(<-chan struct{}) { lose() })
	stop()
}

// storm creates requests and records two results of each at once, disturbs that, and repeats
// whatever was not answered until it is.
func storm(t *testing.T, store func() core.ResultStore, disturb func(acknowledged <-chan struct{})) {
	t.Helper()
	const n = workers * each
	var specs [n]core.Spec
	var answers [n][2]bool
	acknowledged := make(chan struct{}, 3*n)
	until := func(call func(s core.ResultStore) error) error {
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
				specs[i] = Spec("ann")
				errs[w] = until(func(s core.ResultStore) error { _, _, err := s.Create(t.Context(), specs[i]); return err })
				var both sync.WaitGroup
				for claim := range 2 {
					both.Go(func() {
						err := until(func(s core.ResultStore) (err error) {
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
		require.NotEqual(t, answers[i][0], answers[i][1], "one of the two")
		winner := token(0)
		if answers[i][1] {
			winner = token(1)
		}
		require.Equal(t, winner, mustGet(t, store(), spec.ID).Result.Token)
		history, err := store().Attempts(t.Context(), spec.ID)
		require.NoError(t, err)
		require.Len(t, history, 2, "each once")
		require.True(t, history[0].Accepted)
		require.False(t, history[1].Accepted)
	}
}

func token(claim int) string { return fmt.Sprintf("%d.1", claim+1) }

// Silent stops the place where the store lies from answering: every call of the names ends with
// its caller's deadline, and is UNAVAILABLE. Once it may go on, so do they. No names are all.
func Silent(t *testing.T, s core.ResultStore, stop, resume func(), names ...string) {
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
