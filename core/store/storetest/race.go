package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// racers is how many goroutines do the same thing at once.
const racers = 32

// race runs do from many goroutines at once and fails the test with their errors.
func race(t *testing.T, do func(i int) error) {
	t.Helper()
	together(t, racers, do)
}

// together runs do n times at once: what it writes shares commits.
func together(t *testing.T, n int, do func(i int) error) {
	t.Helper()
	errs := make([]error, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			errs[i] = do(i)
		})
	}
	close(start)
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}

func raceRecord(t *testing.T, s school.ResultStore) { RaceRecord(t, s, s) }

// RaceRecord records different results for one request from many goroutines, in
// turn through both handles of one store: exactly one is accepted.
func RaceRecord(t *testing.T, a, b school.ResultStore) {
	t.Helper()
	for range 10 {
		spec := mustCreate(t, a, Spec("ann"))
		var accepted atomic.Int32
		var winner atomic.Pointer[core.Result]
		race(t, func(i int) error {
			r := Result(spec, fmt.Sprintf("1.%d", i/2)) // every claim twice
			r.ExitCode = i / 2
			is, err := []school.ResultStore{a, b}[i%2].Record(t.Context(), r)
			if is {
				accepted.Add(1)
				winner.Store(&r)
			}
			return err
		})
		require.EqualValues(t, 2, accepted.Load(), "one claim, asked twice")
		require.Equal(t, winner.Load(), mustGet(t, b, spec.ID).Result)
		history, err := b.Attempts(t.Context(), spec.ID)
		require.NoError(t, err)
		require.Len(t, history, racers/2)
		for i, attempt := range history {
			require.Equal(t, i == 0, attempt.Accepted, "the first")
		}
	}
}

func raceCreate(t *testing.T, s school.ResultStore) { RaceCreate(t, s, s) }

// RaceCreate creates requests with one idempotency key from many goroutines, in
// turn through both handles of one store: all get the same row.
func RaceCreate(t *testing.T, a, b school.ResultStore) {
	t.Helper()
	for round := range 10 {
		var made atomic.Int32
		var got sync.Map
		race(t, func(i int) error {
			spec := Spec("ann")
			spec.Idempotency = fmt.Sprintf("key %d", round)
			row, is, err := []school.ResultStore{a, b}[i%2].Create(t.Context(), spec)
			if is {
				made.Add(1)
			}
			got.Store(row.Spec.ID, true)
			return err
		})
		require.EqualValues(t, 1, made.Load())
		n := 0
		got.Range(func(any, any) bool { n++; return true })
		require.Equal(t, 1, n, "different rows")
		rows, err := b.List(t.Context(), core.Filter{})
		require.NoError(t, err)
		require.Len(t, rows, round+1)
	}
}

func raceRerun(t *testing.T, s school.ResultStore) {
	spec := mustCreate(t, s, Spec("ann"))
	mustRecord(t, s, Result(spec, "1.1"), true)
	var again atomic.Int32
	race(t, func(int) error {
		_, err := s.Rerun(t.Context(), spec.ID, 5)
		if err == nil {
			again.Add(1)
		}
		if core.Is(err, core.CodeConflict) {
			return nil
		}
		return err
	})
	require.EqualValues(t, 1, again.Load())
	require.Equal(t, 2, mustGet(t, s, spec.ID).Spec.Generation)
}

func raceTasks(t *testing.T, s school.ResultStore) { RaceTasks(t, s, s) }

// RaceTasks creates tasks with one unique key, ends, fails and retries one of them
// from many goroutines, in turn through both handles of one store.
func RaceTasks(t *testing.T, a, b school.ResultStore) {
	t.Helper()
	var made, ended, again atomic.Int32
	count := func(n *atomic.Int32, is bool, err error) error {
		if is {
			n.Add(1)
		}
		return err
	}
	at := func(i int) school.ResultStore { return []school.ResultStore{a, b}[i%2] }
	race(t, func(i int) error {
		is, err := at(i).CreateTask(t.Context(), unique(fmt.Sprintf("t%d", i), "one"))
		return count(&made, is, err)
	})
	require.EqualValues(t, 1, made.Load())
	open, err := b.UnfinishedTasks(t.Context(), "", 10)
	require.NoError(t, err)
	require.Len(t, open, 1)
	id := open[0].ID
	race(t, func(i int) error {
		if i >= core.MaxTaskFailures {
			is, err := at(i).EndTask(t.Context(), core.TaskEnd{ID: id, Generation: 1, State: core.TaskDead, Note: fmt.Sprint(i)})
			return count(&ended, is, err)
		}
		return at(i).FailTask(t.Context(), id, core.TaskFailure{Generation: 1, Attempt: i + 1})
	})
	require.EqualValues(t, 1, ended.Load())
	task := mustGetTask(t, b, id)
	require.Equal(t, core.TaskDead, task.State, "no failure undid the end")
	require.Len(t, task.Failures, core.MaxTaskFailures, "and none was lost")
	race(t, func(i int) error {
		_, err := at(i).RetryTask(t.Context(), id, 5)
		if core.Is(err, core.CodeConflict) {
			return nil
		}
		return count(&again, err == nil, err)
	})
	require.EqualValues(t, 1, again.Load())
	require.Equal(t, 2, mustGetTask(t, b, id).Generation)
}

// raceUnique retries a dead task while others with its key are made: one of all waits.
func raceUnique(t *testing.T, s school.ResultStore) {
	for round := range 10 {
		key, first := fmt.Sprintf("key %d", round), fmt.Sprintf("r%d", round)
		mustTask(t, s, unique(first, key))
		mustEnd(t, s, dead(first, 1), true)
		var waiting atomic.Int32
		race(t, func(i int) error {
			if i%2 == 0 {
				is, err := s.CreateTask(t.Context(), unique(fmt.Sprintf("r%d-%d", round, i), key))
				if is {
					waiting.Add(1)
				}
				return err
			}
			_, err := s.RetryTask(t.Context(), first, 5)
			if core.Is(err, core.CodeConflict) {
				return nil
			}
			waiting.Add(1)
			return err
		})
		require.EqualValues(t, 1, waiting.Load())
	}
	open, err := s.UnfinishedTasks(t.Context(), "", 100)
	require.NoError(t, err)
	require.Len(t, open, 10)
}
