package sqlite

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"drover/core"

	"github.com/stretchr/testify/require"
)

// A file of any older schema is brought to this one, and keeps what it had.
func TestOlderFilesAreBroughtUp(t *testing.T) {
	t.Parallel()
	for version := 1; version < len(migrations); version++ {
		path := filepath.Join(t.TempDir(), "drover.db")
		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), strings.Join(migrations[:version], "")+fmt.Sprintf(
			"PRAGMA application_id = %d; PRAGMA user_version = %d; INSERT INTO tasks VALUES ('t', 'k', x'', '', 5, 'queued', 0, '')", applicationID, version))
		require.NoError(t, err)
		require.NoError(t, db.Close())

		s, err := Open(t.Context(), path, Options{})
		require.NoError(t, err)
		first, err := s.ID(t.Context())
		require.NoError(t, err)
		require.Len(t, first, 32)
		tasks, err := s.UnfinishedTasks(t.Context(), "", 10)
		require.NoError(t, err)
		require.Equal(t, []core.Task{{ID: "t", Generation: 1, Kind: "k", Created: 5, State: core.TaskQueued}}, tasks)
		require.NoError(t, s.Close())

		s, err = Open(t.Context(), path, Options{})
		require.NoError(t, err)
		again, err := s.ID(t.Context())
		require.NoError(t, err)
		require.Equal(t, first, again)
		require.NoError(t, s.Close())
	}
}
