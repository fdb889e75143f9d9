package sqlite_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"drover/core"
	"drover/core/service/clock"
	"drover/core/store/sqlite"
	"drover/core/store/storetest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// run executes SQL on a file behind the store's back.
func run(t *testing.T, path, query string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), query)
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(t *testing.T, path string)
		want    core.Code
		text    string
	}{
		"newer schema": {func(t *testing.T, path string) {
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			require.NoError(t, err)
			require.NoError(t, s.Close())
			run(t, path, "PRAGMA user_version = 99")
		}, core.CodeVersion, "schema 99"},
		"another program's": {func(t *testing.T, path string) {
			run(t, path, "CREATE TABLE recipes (id TEXT)")
		}, core.CodeInvalid, "another program's"},
		"another program's mark": {func(t *testing.T, path string) {
			run(t, path, "PRAGMA application_id = 7")
		}, core.CodeInvalid, "another program's"},
		"no database": {func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, []byte(fmt.Sprintf("%04096d", 1)), 0o600))
		}, core.CodeInvalid, "not a result store"},
		"a folder": {func(t *testing.T, path string) {
			require.NoError(t, os.Mkdir(path, 0o700))
		}, core.CodeUnavailable, "cannot be opened"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "drover.db")
			c.prepare(t, path)
			before, _ := os.ReadFile(path) // a folder has no content
			_, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			require.ErrorContains(t, err, c.text)
			require.Equal(t, c.want, core.CodeOf(err))
			after, _ := os.ReadFile(path) // a folder has no content
			require.Equal(t, before, after, "it was changed")
		})
	}
	for _, path := range []string{"", "a?b", "a#b", filepath.Join(t.TempDir(), "nowhere", "drover.db")} {
		_, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		require.Error(t, err, path)
		require.Equal(t, core.CodeInvalid, core.CodeOf(err), path)
	}
}

// Where a store must exist, a missing or an empty file is none, and none is made.
func TestOpenExisting(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "drover.db")
	missing := func() {
		_, err := sqlite.Open(t.Context(), path, sqlite.Options{Existing: true})
		require.Equal(t, core.CodeNotFound, core.CodeOf(err), "%v", err)
		_, _, _, err = sqlite.Migrate(t.Context(), path, nil)
		require.Equal(t, core.CodeNotFound, core.CodeOf(err), "%v", err)
	}
	missing()
	require.NoFileExists(t, path)
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	missing()
	run(t, path, "PRAGMA journal_mode = WAL") // what is left of a store whose log is missing
	missing()
	require.NoError(t, open(t, path).Ping(t.Context()))
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Existing: true})
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

func TestOpenStrangePaths(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b.db", "50%25.db", "ü&=+;.db", "file:x.db"} {
		path := filepath.Join(t.TempDir(), name)
		s := open(t, path)
		require.NoError(t, s.Ping(t.Context()))
		require.FileExists(t, path)
	}
}

func TestFileIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "drover.db")
	require.NoError(t, open(t, path).Ping(t.Context()))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), suffix)
	}
}

// A backup of a stopped cluster copies one file, in whatever order its processes ended.
func TestAClosedStoreIsOneFile(t *testing.T) {
	t.Parallel()
	for name, handles := range map[string]int{"one": 1, "several at once": 5} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "drover.db")
			spec := storetest.Spec("ann")
			var all sync.WaitGroup
			for i := range handles {
				s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
				require.NoError(t, err)
				if i == 0 {
					_, _, err = s.Create(t.Context(), spec)
				}
				require.NoError(t, err)
				_, err = s.Get(t.Context(), spec.ID)
				require.NoError(t, err)
				all.Go(func() { assert.NoError(t, s.Close()) })
			}
			all.Wait()
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			entries, err := os.ReadDir(filepath.Dir(path))
			require.NoError(t, err)
			if handles == 1 {
				require.Len(t, entries, 1, "the log is left")
			}
			copied := filepath.Join(t.TempDir(), "copy.db")
			require.NoError(t, os.WriteFile(copied, content, 0o600))
			_, err = open(t, copied).Get(t.Context(), spec.ID)
			require.NoError(t, err)
		})
	}
}

func TestOpenTogether(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "drover.db")
	var all sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		all.Go(func() {
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err == nil {
				_, _, err = s.Create(t.Context(), storetest.Spec("ann"))
				_ = s.Close() // Create is what counts
			}
			errs[i] = err
		})
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	rows, err := open(t, path).List(t.Context(), core.Filter{})
	require.NoError(t, err)
	require.Len(t, rows, len(errs))
}

func TestTwoHandles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "drover.db")
	a, b := open(t, path), open(t, path)
	storetest.RaceCreate(t, a, b)
	storetest.RaceRecord(t, a, b)
	storetest.RaceBegin(t, a, b)
	storetest.RaceTasks(t, a, b)
	storetest.RaceOutbox(t, a, b)
	storetest.RaceLeases(t, a, b)
}

func TestTimesAreTheClocks(t *testing.T) {
	t.Parallel()
	hands := clock.NewManual(time.UnixMilli(5000))
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "drover.db"), sqlite.Options{Clock: hands})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	spec := storetest.Spec("ann")
	_, _, err = s.Create(t.Context(), spec)
	require.NoError(t, err)
	_, err = s.Record(t.Context(), storetest.Result(spec, "1.1"))
	require.NoError(t, err)
	row, err := s.Get(t.Context(), spec.ID)
	require.NoError(t, err)
	require.EqualValues(t, 5000, row.Finished)
	n, err := s.Purge(t.Context(), time.UnixMilli(5000), 10)
	require.NoError(t, err)
	require.Zero(t, n, "not before")
	n, err = s.Purge(t.Context(), time.UnixMilli(5001), 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestLifetimesAreTheClocks(t *testing.T) {
	t.Parallel()
	hands := clock.NewManual(time.UnixMilli(5000))
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "drover.db"), sqlite.Options{Clock: hands})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	_, err = s.CreateTask(t.Context(), storetest.Task("t"))
	require.NoError(t, err)
	file := &core.Download{Name: "a.zip", Type: "application/zip", Digest: storetest.Image("i", 1).Digest, Expires: 7000}
	_, err = s.EndTask(t.Context(), core.TaskEnd{ID: "t", Generation: 1, State: core.TaskDone, Download: file})
	require.NoError(t, err)
	spec := storetest.Spec("ann")
	_, _, err = s.Create(t.Context(), spec)
	require.NoError(t, err)
	_, err = s.Record(t.Context(), storetest.Result(spec, "1.1"))
	require.NoError(t, err)

	hands.Advance(time.Second)
	for want := range 2 {
		n, err := s.ExpireOutputs(t.Context(), spec.Pool, time.UnixMilli(5000+int64(want)), 10)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	row, err := s.Get(t.Context(), spec.ID)
	require.NoError(t, err)
	require.EqualValues(t, 6000, row.Result.Expired)
	require.EqualValues(t, 5000, row.Finished)

	for _, want := range []struct{ purged, named int }{{1, 1}, {1, 0}} { // the request; at 7000 the task
		named := 0
		require.NoError(t, s.Digests(t.Context(), func(string) error { named++; return nil }))
		require.Equal(t, want.named, named)
		n, err := s.Purge(t.Context(), time.UnixMilli(8000), 10)
		require.NoError(t, err)
		require.Equal(t, want.purged, n)
		hands.Advance(time.Second)
	}
}
