// Package sqlitetest makes result stores in files for the tests of who uses one.
package sqlitetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/store/sqlite"
)

// Open opens an empty store with a name of its own, which the test closes. Its file is a copy:
// making the schema costs more than most tests do with it. No write waits for a disk.
func Open(t testing.TB) *sqlite.Store {
	t.Helper()
	empty, err := template()
	require.NoError(t, err)
	var name [16]byte
	_, _ = rand.Read(name[:]) // it never fails
	path := filepath.Join(t.TempDir(), "store.db")
	require.NoError(t, os.WriteFile(path, bytes.Replace(empty.file, []byte(empty.name), []byte(hex.EncodeToString(name[:])), 1), 0o600))
	opened.Lock()
	opened.handles[path] = nil // so that connections to it are looked after
	opened.Unlock()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	require.NoError(t, err)
	opened.Lock()
	defer opened.Unlock()
	opened.paths[s] = path
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// Copy opens a copy of a store as it is now, which the test closes: what a backup would bring back.
func Copy(t testing.TB, of *sqlite.Store) *sqlite.Store {
	t.Helper()
	opened.Lock()
	from := opened.paths[of]
	opened.Unlock()
	path := filepath.Join(t.TempDir(), "copy.db")
	db, err := sql.Open("sqlite", "file:"+from+"?mode=ro")
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "VACUUM INTO ?", path)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// made is the file of an empty store.
type made struct {
	file []byte
	name string // what the store is called in it
}

// template is what the test binary copies.
var template = sync.OnceValues(func() (_ made, err error) {
	dir, err := os.MkdirTemp("", "drover-store-")
	if err != nil {
		return made{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "store.db")
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return made{}, err
	}
	name, err := s.ID(ctx)
	if err := errors.Join(err, s.Close()); err != nil {
		return made{}, err
	}
	file, err := os.ReadFile(filepath.Clean(path)) // closed, it is all in one file
	if n := bytes.Count(file, []byte(name)); err == nil && n != 1 {
		err = fmt.Errorf("the name of the store is %d times in its file", n)
	}
	return made{file: file, name: name}, err
})
