package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"drover/core"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// The connections of one Store, and how long a write waits for another process.
const (
	readers     = 4
	cacheKiB    = 64 << 10 // at most, of each reader: a page about a class reads some 18,000 pages of a large file
	lockTimeout = 10 * time.Second
)

// creating guards the creation of files: closing a descriptor of a file that SQLite has open in this process would
// release its locks.
var creating sync.Mutex

// create creates the file, accessible to its owner only, if it is missing, and makes its name durable. SQLite gives
// -wal and -shm the same mode.
func create(path string) error {
	creating.Lock()
	defer creating.Unlock()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // the operator names the path
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return core.Errorf(core.CodeInvalid, path, "the folder of result store %s does not exist: make it, or name another path", path)
	case err != nil:
		return core.Wrap(err, core.CodeUnavailable, path, "result store %s cannot be made", path)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return core.Wrap(errors.Join(err, f.Close()), core.CodeUnavailable, path, "the folder of result store %s cannot be opened", path)
	}
	if err := errors.Join(dir.Sync(), dir.Close(), f.Close()); err != nil {
		return core.Wrap(err, core.CodeUnavailable, path, "result store %s cannot be made durable", path)
	}
	return nil
}

// dsn returns the data source name for the file with the settings of a connection.
func dsn(path string, settings url.Values) string {
	settings.Set("mode", "rw") // never create the file: create does, with the right mode
	settings.Set("_busy_timeout", strconv.FormatInt(lockTimeout.Milliseconds(), 10))
	settings.Set("_error_rc", "1")
	return (&url.URL{Scheme: "file", Path: path, RawQuery: settings.Encode()}).String()
}

// durable are the settings of the Store's connections. With journal mode WAL and
// synchronous FULL a commit returns after its frames are in the -wal file and
// that file is fsynced; a checkpoint fsyncs the log before, and the main file
// after, it copies pages.
func durable() url.Values {
	return url.Values{
		"_journal_mode": {"WAL"},
		"_synchronous":  {"FULL"},
		"_dqs":          {"0"},
		"_pragma":       {"journal_size_limit(67108864)", "trusted_schema(0)"}, // the log shrinks to 64 MiB after a burst
	}
}

// connect opens at most size connections to the file.
func connect(ctx context.Context, path string, settings url.Values, size int) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsn(path, settings))
	if err != nil {
		return nil, core.Wrap(err, core.CodeInternal, path, "result store %s cannot be opened", path)
	}
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	// While another process changes the journal mode of a new file, SQLite returns BUSY at once, whatever the timeout
	// is.
	for until := time.Now().Add(lockTimeout); ; {
		err := db.PingContext(ctx)
		if err == nil {
			return db, nil
		}
		if !busy(err) || time.Now().After(until) {
			return nil, errors.Join(fault(err, path), db.Close())
		}
		select {
		case <-time.After(lockTimeout / 1000):
		case <-ctx.Done():
		}
	}
}

// inspect refuses a file that is not drover's before anything in it is changed.
func inspect(ctx context.Context, path string) error {
	its, err := schemaOf(ctx, path)
	if err != nil {
		return err
	}
	return current(its, path)
}

// current returns VERSION, because of core.ErrOlderSchema, if a file has to be migrated first.
func current(version int, path string) error {
	if version == 0 || version == len(migrations) {
		return nil
	}
	return core.Wrap(core.ErrOlderSchema, core.CodeVersion, path, "result store %s has schema %d, this program needs %d", path, version, len(migrations))
}

// version returns the file's schema version, 0 for an empty one. Returns VERSION if this program does not know it,
// INVALID if the file is another program's.
func version(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, path string,
) (int, error) {
	var app, version, objects int
	err := db.QueryRowContext(ctx, `SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_application_id a, pragma_user_version v`).Scan(&app, &version, &objects)
	switch {
	case err != nil:
		return 0, fault(err, path)
	case app != applicationID && (app != 0 || objects != 0):
		return 0, core.Errorf(core.CodeInvalid, path, "%s is another program's database: name another path", path)
	case version > len(migrations):
		return 0, core.Errorf(core.CodeVersion, path, "result store %s has schema %d, this program knows up to %d: use the drover that wrote it, or a newer one",
			path, version, len(migrations))
	}
	return version, nil
}

// fill brings a file to this program's schema, in one transaction: an empty one, or with older any.
func fill(ctx context.Context, conn *sql.Conn, path string, older bool) (err error) {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return fault(err, path)
	}
	end := "ROLLBACK"
	defer func() {
		if _, failed := conn.ExecContext(context.WithoutCancel(ctx), end); failed != nil {
			err = errors.Join(err, fault(failed, path))
		}
	}()
	was, err := version(ctx, conn, path)
	if err == nil && !older {
		err = current(was, path) // another program may have been faster
	}
	if err != nil || was == len(migrations) {
		return err
	}
	steps := append(slices.Clone(migrations[was:]),
		fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(migrations)))
	for _, step := range steps {
		if _, err := conn.ExecContext(ctx, step); err != nil {
			return fault(err, path)
		}
	}
	end = "COMMIT"
	return nil
}

// checkPath returns the absolute path of a store, or INVALID.
func checkPath(path string) (string, error) {
	if path == "" || strings.ContainsAny(path, "?#\x00") {
		return "", core.Errorf(core.CodeInvalid, path, "a result store is named by a path without ? and #: sqlite://PATH")
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return "", core.Wrap(err, core.CodeInvalid, path, "path %s of the result store has no absolute form", path)
	}
	return full, nil
}
