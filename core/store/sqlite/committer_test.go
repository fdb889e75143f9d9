package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"drover/core"
	"drover/core/store/storetest"

	"github.com/stretchr/testify/require"
)

// openHere opens a store in a new folder.
func openHere(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "drover.db"), Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// hold makes the committer busy until the returned function is called.
func hold(t *testing.T, s *Store) (release func()) {
	t.Helper()
	begun, end := make(chan struct{}), make(chan struct{})
	go func() {
		_, err := commit(t.Context(), s.committer, "", 0, func(*tx) (int, error) {
			close(begun)
			<-end
			return 0, nil
		})
		if err != nil {
			t.Error(err)
		}
	}()
	<-begun
	return func() { close(end) }
}

func TestConcurrentWritesShareACommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openHere(t)
		release := hold(t, s)
		const n = 100
		var accepted atomic.Int32
		for i := range n {
			go func() {
				spec := storetest.Spec("ann")
				spec.Idempotency = fmt.Sprint(i / 2) // each pair wants one row
				if _, is, err := s.Create(t.Context(), spec); err != nil {
					t.Error(err)
				} else if is {
					accepted.Add(1)
				}
			}()
		}
		synctest.Wait()
		commits := s.commits.Load()
		release()
		synctest.Wait()
		require.EqualValues(t, n/2, accepted.Load(), "a verdict per item")
		require.EqualValues(t, 2, s.commits.Load()-commits, "the held one, and one for all that waited")
		require.EqualValues(t, n+1, s.writes.Load())
	})
}

func TestCancelledCallerLeavesTheBatchAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openHere(t)
		waits, leave := context.WithCancel(t.Context())
		begun, end := make(chan struct{}), make(chan struct{})
		inside, waiting, other := storetest.Spec("ann"), storetest.Spec("ann"), storetest.Spec("ann")
		go func() {
			_, err := commit(waits, s.committer, "", 0, func(tx *tx) (int, error) {
				close(begun)
				<-end
				return tx.exec("INSERT INTO pools VALUES (?, x'7b7d')", inside.ID)
			})
			if !core.Is(err, core.CodeUnavailable) {
				t.Errorf("a caller that left got %v", err)
			}
		}()
		<-begun
		go func() {
			if _, _, err := s.Create(waits, waiting); !core.Is(err, core.CodeUnavailable) {
				t.Errorf("a caller that left got %v", err)
			}
		}()
		go func() {
			if _, is, err := s.Create(t.Context(), other); err != nil || !is {
				t.Errorf("the one that stayed got %v %v", is, err)
			}
		}()
		synctest.Wait()
		leave()
		synctest.Wait() // both have left
		close(end)
		synctest.Wait()
		_, err := s.Get(t.Context(), waiting.ID)
		require.True(t, core.Is(err, core.CodeNotFound), "it left before its write was begun")
		_, err = s.Get(t.Context(), other.ID)
		require.NoError(t, err)
		var n int
		require.NoError(t, s.read.QueryRowContext(t.Context(), "SELECT count(*) FROM pools").Scan(&n))
		require.Equal(t, 1, n, "a write that was begun is not undone")
	})
}

func TestOneBadWriteDoesNotHoldBackTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openHere(t)
		release := hold(t, s)
		errs := make([]error, 9)
		for i := range errs {
			go func() {
				_, errs[i] = commit(t.Context(), s.committer, "", 0, func(tx *tx) (int, error) {
					n, err := tx.exec("INSERT INTO pools VALUES (?, x'7b7d')", fmt.Sprint(i))
					if err == nil && i == 4 {
						return tx.exec("INSERT INTO pools VALUES ('0', x'7b7d'), ('0', x'7b7d')")
					}
					return n, err
				})
			}()
		}
		synctest.Wait()
		release()
		synctest.Wait()
		for i, err := range errs {
			require.Equal(t, i == 4, err != nil, "%d: %v", i, err)
		}
		var names string
		require.NoError(t, s.read.QueryRowContext(t.Context(), "SELECT group_concat(name, '' ORDER BY name) FROM pools").Scan(&names))
		require.Equal(t, "01235678", names, "what the bad one wrote is gone with it")
	})
}

func TestLargeWritesEndABatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openHere(t)
		release := hold(t, s)
		for range 4 {
			go func() {
				if _, err := commit(t.Context(), s.committer, "", batchBytes/2, func(*tx) (int, error) { return 0, nil }); err != nil {
					t.Error(err)
				}
			}()
		}
		synctest.Wait()
		commits := s.commits.Load()
		release()
		synctest.Wait()
		require.EqualValues(t, 1+2, s.commits.Load()-commits)
	})
}

func TestCloseAnswersWhatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openHere(t)
		release := hold(t, s)
		answered := atomic.Int32{}
		for range 20 {
			go func() {
				_, _, err := s.Create(t.Context(), storetest.Spec("ann"))
				if err != nil && !core.Is(err, core.CodeUnavailable) {
					t.Error(err)
				}
				answered.Add(1)
			}()
		}
		synctest.Wait()
		go func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		release()
		synctest.Wait()
		require.EqualValues(t, 20, answered.Load())
	})
}

// Every connection works with the settings that durability rests on.
func TestSettings(t *testing.T) {
	t.Parallel()
	s := openHere(t)
	for name, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "busy_timeout": "10000", "trusted_schema": "0"} {
		var got string
		require.NoError(t, s.conn.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&got))
		require.Equal(t, want, got, "writer %s", name)
		require.NoError(t, s.read.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&got))
		require.Equal(t, want, got, "reader %s", name)
	}
	var cache int
	require.NoError(t, s.read.QueryRowContext(t.Context(), "PRAGMA cache_size").Scan(&cache))
	require.Equal(t, -cacheKiB, cache)
	_, err := s.read.ExecContext(t.Context(), "DELETE FROM pools")
	require.ErrorContains(t, err, "readonly")
}

// No statement reads a whole table or sorts, unless it is meant to.
func TestStatementsUseIndexes(t *testing.T) {
	t.Parallel()
	s := openHere(t)
	spec := storetest.Spec("ann")
	for range 2 { // the second time as taken
		spec.Idempotency = "key"
		_, _, err := s.Create(t.Context(), spec)
		require.NoError(t, err)
	}
	readSchool(t, s)
	for _, call := range storetest.Calls(spec) {
		_ = call(t.Context(), s) // it is about the statements
	}
	ended := []core.RequestState{core.RequestFailed, core.RequestDead}
	for _, f := range []core.Filter{{}, {Submitter: "a"}, {Pool: "a"}, {Assignment: "a"}, {States: []core.RequestState{core.RequestQueued}}, {Before: "z"}, {Pool: "a", States: ended}, {States: ended, Before: "z"}, {Submitter: "a", Pool: "a", States: ended}} {
		_, err := s.List(t.Context(), f)
		require.NoError(t, err)
	}
	for _, f := range []core.TaskFilter{
		{}, {Kind: "a"}, {Requester: "a"}, {Class: "a"}, {Parent: "a"}, {Lane: "a"}, {States: []core.TaskState{core.TaskQueued}}, {Before: "z"}, {Kind: "a", Class: "a"},
	} {
		_, err := s.ListTasks(t.Context(), f)
		require.NoError(t, err)
	}
	for _, f := range []core.LeaseFilter{{}, {Class: "a"}, {States: []core.LeaseState{"a"}}, {Class: "a", States: []core.LeaseState{"a"}}, {From: 1}, {To: 1}, {From: 1, To: 1}, {Before: "z"}} {
		_, err := s.ListLeases(t.Context(), f)
		require.NoError(t, err)
	}
	for _, f := range []core.InstanceFilter{{}, {Group: "a"}, {States: []core.InstanceState{"a"}}, {Group: "a", States: []core.InstanceState{"a"}}, {Before: "z"}} {
		_, err := s.ListInstances(t.Context(), f)
		require.NoError(t, err)
	}
	meant := map[string]bool{"SCAN pools": true, "SCAN host_wishes": true, "SCAN outbox": true, "SCAN k VIRTUAL TABLE INDEX 1:": true, "SCAN CONSTANT ROW": true, "SCAN k": true, "SCAN newest": true}
	for _, known := range []map[string]bool{texts(s.known), texts(s.committer.known)} {
		require.NotEmpty(t, known)
		for query := range known {
			if query == "BEGIN IMMEDIATE" || query == "COMMIT" || query == "ROLLBACK" {
				continue
			}
			rows, err := s.read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, make([]any, strings.Count(query, "?"))...)
			require.NoError(t, err, query)
			sweeps, used := strings.Contains(query, "state = 'queued' AND id > ?"), false
			for rows.Next() {
				var id, parent, unused int
				var step string
				require.NoError(t, rows.Scan(&id, &parent, &unused, &step))
				scan := strings.HasPrefix(step, "SCAN") && !strings.Contains(step, "INDEX") || strings.Contains(step, "TEMP B-TREE")
				used = used || strings.Contains(step, "requests_state") || strings.Contains(step, "tasks_state")
				sortsNumbers := strings.Contains(query, "IN (SELECT seq ") && parent != 0
				require.False(t, scan && !meant[step] && !sortsNumbers, "%s\n%s", step, query)
			}
			require.NoError(t, rows.Err())
			require.NoError(t, rows.Close())
			require.Equal(t, sweeps, sweeps && used, "the sweeper skips what has ended")
		}
	}
}

func texts[V any](known map[string]V) map[string]bool {
	all := map[string]bool{}
	for text := range known {
		all[text] = true
	}
	return all
}
