package sqlite

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/school"
	"drover/core/store/storetest"

	"github.com/stretchr/testify/require"
)

// oldTasks are rows as versions up to 4 kept them.
const oldTasks = `
INSERT INTO tasks (id, kind, args, unique_key, created, state, ended, note) VALUES
	('a', 'purge', x'', '', 5, 'queued', 0, ''),
	('b', 'archive_class', CAST('{"class": [1, null, 1e400], "text": "ü\u0000<"}' AS BLOB), 'ü', 6, 'queued', 0, ''),
	('c', 'purge', x'', 'ü', 7, 'done', 70, '"deleted" 3 rows' || char(10) || 'and'),
	('d', 'purge', x'', 'ü', 8, 'dead', 80, 'no luck');
INSERT INTO requests (id, generation, submitter, pool, assignment, idempotency, state, finished, spec) VALUES
	('r', 1, 'ann', 'default', '', '', 'completed', 90, CAST('{"id":"r","gen":1,"pool":"default","submitter":"ann"}' AS BLOB));
INSERT INTO attempts (id, generation, origin, accepted, recorded, state, result, stdout, stderr) VALUES
	('r', 1, '1.1 v', 1, 90, 'completed', CAST('{"id":"r","generation":1,"state":"completed"}' AS BLOB), x'6f6b', x'');
`

// A file of any older schema is only used once it was migrated: then it keeps what it had, and a copy is beside it.
func TestOlderFilesAreBroughtUp(t *testing.T) {
	t.Parallel()
	for version := 1; version < len(migrations); version++ {
		path := filepath.Join(t.TempDir(), "drover.db")
		db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(off)")
		require.NoError(t, err)
		before := min(version, 4)
		_, err = db.ExecContext(t.Context(), strings.Join(migrations[:before], "")+oldTasks+strings.Join(migrations[before:version], "")+
			fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, version))
		require.NoError(t, err)
		require.NoError(t, db.Close())

		unopened, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, existing := range []bool{false, true} {
			_, err = Open(t.Context(), path, Options{Existing: existing})
			require.Equal(t, core.CodeVersion, core.CodeOf(err))
			require.ErrorIs(t, err, core.ErrOlderSchema)
		}
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, unopened, after, "it was changed by one that only opened it")
		from, to, copied, err := Migrate(t.Context(), path, agree)
		require.NoError(t, err)
		require.Equal(t, []int{version, len(migrations)}, []int{from, to})
		was, err := schemaOf(t.Context(), copied)
		require.NoError(t, err)
		require.Equal(t, version, was)
		info, err := os.Stat(copied)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		from, _, copied, err = Migrate(t.Context(), path, agree)
		require.NoError(t, err)
		require.Equal(t, len(migrations), from)
		require.Empty(t, copied, "there is nothing to do")

		s, err := Open(t.Context(), path, Options{Existing: true})
		require.NoError(t, err)
		first, err := s.ID(t.Context())
		require.NoError(t, err)
		require.Len(t, first, 32)
		keepsTasks(t, s)
		keepsResults(t, s)
		takesAccounts(t, s)
		require.NoError(t, s.Close())

		s, err = Open(t.Context(), path, Options{})
		require.NoError(t, err)
		again, err := s.ID(t.Context())
		require.NoError(t, err)
		require.Equal(t, first, again)
		require.NoError(t, s.Close())
	}
}

// agree agrees to a migration.
func agree(map[core.Binding]string) error { return nil }

// A migration to which the caller does not agree changes nothing, and tells to what the store belongs.
func TestMigrationsAreAgreedTo(t *testing.T) { //nolint:paralleltest // it adds a migration
	path := filepath.Join(t.TempDir(), "drover.db")
	s, err := Open(t.Context(), path, Options{})
	require.NoError(t, err)
	_, err = s.PutBinding(t.Context(), core.BindNamespace, "drover", false)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	were := migrations
	migrations = append(slices.Clone(migrations), "CREATE TABLE more (a TEXT) STRICT;")
	defer func() { migrations = were }()
	_, _, _, err = Migrate(t.Context(), path, func(its map[core.Binding]string) error {
		require.Equal(t, map[core.Binding]string{core.BindNamespace: "drover"}, its)
		return core.Errorf(core.CodeBusy, "", "it works")
	})
	require.Equal(t, core.CodeBusy, core.CodeOf(err))
	its, err := schemaOf(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, len(were), its)
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "nor was it copied")
}

// keepsTasks shows that oldTasks are there, and are tasks like others.
func keepsTasks(t *testing.T, s *Store) {
	t.Helper()
	all, err := s.ListTasks(t.Context(), core.TaskFilter{})
	require.NoError(t, err)
	require.Equal(t, []core.Task{
		{ID: "d", Generation: 1, Kind: "purge", Unique: "ü", Created: 8, State: core.TaskDead, Ended: 80, Note: "no luck"},
		{ID: "c", Generation: 1, Kind: "purge", Unique: "ü", Created: 7, State: core.TaskDone, Ended: 70, Note: "\"deleted\" 3 rows\nand"},
		{
			ID: "b", Generation: 1, Kind: "archive_class", Args: json.RawMessage(`{"class":[1,null,1e400],"text":"ü\u0000<"}`), Unique: "ü",
			Created: 6, State: core.TaskQueued,
		},
		{ID: "a", Generation: 1, Kind: "purge", Created: 5, State: core.TaskQueued},
	}, all)
	open, err := s.UnfinishedTasks(t.Context(), "", 10)
	require.NoError(t, err)
	require.Equal(t, []core.Task{all[3], all[2]}, open)
	same, err := s.CreateTask(t.Context(), open[1])
	require.NoError(t, err)
	require.False(t, same)
	_, err = s.RetryTask(t.Context(), "d", 9)
	require.Equal(t, core.CodeConflict, core.CodeOf(err), "b has its key")
	is, err := s.EndTask(t.Context(), core.TaskEnd{ID: "b", Generation: 1, State: core.TaskDone})
	require.NoError(t, err)
	require.True(t, is)
	again, err := s.RetryTask(t.Context(), "d", 9)
	require.NoError(t, err)
	require.Equal(t, 2, again.Generation)
	n, err := s.Purge(t.Context(), time.UnixMilli(71), 10)
	require.NoError(t, err)
	require.Equal(t, 1, n, "c")
}

// keepsResults shows that outputs of old results can expire.
func keepsResults(t *testing.T, s *Store) {
	t.Helper()
	row, err := s.Get(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, "ok", row.Result.Stdout)
	n, err := s.ExpireOutputs(t.Context(), "default", time.UnixMilli(91), 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	row, err = s.Get(t.Context(), "r")
	require.NoError(t, err)
	require.Empty(t, row.Result.Stdout)
	require.Positive(t, row.Result.Expired)
}

// takesAccounts shows that users can sign in.
func takesAccounts(t *testing.T, s *Store) {
	t.Helper()
	_, err := s.PutUser(t.Context(), storetest.User("ann"))
	require.NoError(t, err)
	_, err = s.PutAccount(t.Context(), school.Account{User: "ann", Language: "de"})
	require.NoError(t, err)
	require.NoError(t, s.AddToken(t.Context(), storetest.Token("ann", "t")))
	require.NoError(t, s.AddIdentity(t.Context(), storetest.IdentityOf("ann", "1")))
}
