package sqlitetest

import (
	"context"
	"net/url"
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"modernc.org/libc"
	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"drover/core/store/sqlite"
)

// opened are the handles of a store's connections, by the path of its file, and the paths of stores.
var opened = struct {
	sync.Mutex
	handles map[string][]uintptr
	paths   map[*sqlite.Store]string
}{handles: map[string][]uintptr{}, paths: map[*sqlite.Store]string{}}

func init() { //nolint:gochecknoinits // the driver asks for it before the first connection
	driver.RegisterConnectionHook(func(conn driver.ExecQuerierContext, dsn string) error {
		u, err := url.Parse(dsn)
		if err != nil || !u.Query().Has("_journal_mode") { // what looks into the file first is closed again
			return err
		}
		opened.Lock()
		defer opened.Unlock()
		if handles, ours := opened.handles[u.Path]; ours {
			opened.handles[u.Path] = append(handles, uintptr(reflect.ValueOf(conn).Elem().FieldByName("db").Uint()))
			_, err = conn.ExecContext(context.Background(), "PRAGMA synchronous=off", nil)
		}
		return err
	})
}

// Steps is how many steps of SQLite's virtual machine the statements of an open, idle store have taken, by statement: a
// measure of their work that is the same on every machine.
func Steps(t testing.TB, s *sqlite.Store) map[string]int {
	t.Helper()
	opened.Lock()
	defer opened.Unlock()
	handles := opened.handles[opened.paths[s]]
	require.NotEmpty(t, handles)
	tls := libc.NewTLS()
	defer tls.Close()
	steps := map[string]int{}
	for _, db := range handles {
		for stmt := sqlite3.Xsqlite3_next_stmt(tls, db, 0); stmt != 0; stmt = sqlite3.Xsqlite3_next_stmt(tls, db, stmt) {
			steps[libc.GoString(sqlite3.Xsqlite3_sql(tls, stmt))] += int(sqlite3.Xsqlite3_stmt_status(tls, stmt, sqlite3.SQLITE_STMTSTATUS_VM_STEP, 0))
		}
	}
	return steps
}
