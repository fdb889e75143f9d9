package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"drover/core/school"
	"drover/core/store/sqlite"
	"drover/core/store/sqlite/sqlitetest"
	"drover/core/store/storetest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestSuite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) school.ResultStore { return sqlitetest.Open(t) })
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	storetest.Identity(t, func(n int) (school.ResultStore, error) {
		return sqlite.Open(t.Context(), filepath.Join(dir, fmt.Sprintf("%d.db", n)), sqlite.Options{})
	})
}
