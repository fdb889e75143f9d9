// Package sqlite keeps the result store in one SQLite file: drover's default, for one machine. Several processes may
// use one file.
//
// A write returns only after its transaction was fsynced, so accepted work survives a loss of power. Concurrent
// writes of one process share a transaction and its fsync. The space of deleted rows in the file is used again.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"drover/core/school"
	"drover/core/service/clock"
)

// Options are a Store's settings.
type Options struct {
	Clock    clock.Clock // default: the machine's
	Existing bool        // a missing or empty file is no store: none is made
}

// Store is a school.ResultStore in a file. It is safe for concurrent use.
type Store struct {
	path  string
	clock clock.Clock

	write *sql.DB // one connection, the committer's
	read  *sql.DB
	*committer

	mu    sync.Mutex
	known map[string]*sql.Stmt // of read, by text

	closing sync.Once
}

var _ school.ResultStore = (*Store)(nil)

// Open opens the file, and makes it if it is missing (its folder must exist; mode 0600) or empty. Returns INVALID for a
// path that cannot be a store, NOTFOUND if it must exist and does not, VERSION if a newer drover wrote it or it has to be
// migrated first, UNAVAILABLE.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	path, err := checkPath(path)
	if err != nil {
		return nil, err
	}
	if opts.Clock == nil {
		opts.Clock = clock.Real{}
	}
	if opts.Existing {
		err = exists(ctx, path)
	} else {
		err = create(path)
	}
	if err != nil {
		return nil, err
	}
	if err := inspect(ctx, path); err != nil {
		return nil, err
	}
	s := &Store{path: path, clock: opts.Clock, known: map[string]*sql.Stmt{}}
	if s.write, err = connect(ctx, path, durable(), 1); err != nil {
		return nil, err
	}
	conn, err := s.write.Conn(ctx)
	if err != nil {
		return nil, errors.Join(fault(err, path), s.write.Close())
	}
	if err := fill(ctx, conn, path, false); err != nil {
		return nil, errors.Join(err, conn.Close(), s.write.Close())
	}
	reading := durable()
	reading.Set("_query_only", "1")
	reading.Add("_pragma", fmt.Sprintf("cache_size(-%d)", cacheKiB))
	if s.read, err = connect(ctx, path, reading, readers); err != nil {
		return nil, errors.Join(err, conn.Close(), s.write.Close())
	}
	s.committer = newCommitter(conn)
	return s, nil
}

// Close completes the writes in progress and closes the file. The last one that closes it leaves one file, without
// -wal and -shm. Later calls return UNAVAILABLE.
func (s *Store) Close() error {
	var err error
	s.closing.Do(func() {
		close(s.quit)
		<-s.done
		err = errors.Join(s.read.Close(), s.finalize(), s.conn.Close(), s.write.Close())
	})
	return fault(err, s.path)
}

// ID names the store, see school.ResultStore.
func (s *Store) ID(ctx context.Context) (string, error) {
	var id string
	err := s.rows(ctx, "SELECT id FROM store WHERE one = 1", nil, func(rows *sql.Rows) error { return rows.Scan(&id) })
	return id, err
}

// Ping writes and commits a small record. Returns UNAVAILABLE if that fails.
func (s *Store) Ping(ctx context.Context) error {
	_, err := commit(ctx, s.committer, s.path, 0, func(t *tx) (int, error) {
		return t.exec("INSERT INTO pings (one, at) VALUES (1, ?1) ON CONFLICT DO UPDATE SET at = ?1", s.now())
	})
	return err
}

// now returns the store's time in ms since 1970.
func (s *Store) now() int64 { return s.clock.Now().UnixMilli() }

// prepared returns a reader's statement. The number of different texts is bounded
// by the code.
func (s *Store) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stmt := s.known[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := s.read.PrepareContext(ctx, query)
	if err == nil {
		s.known[query] = stmt
	}
	return stmt, err
}

// rows runs a query outside of the committer and calls scan for each row.
func (s *Store) rows(ctx context.Context, query string, args []any, scan func(row *sql.Rows) error) (err error) {
	select {
	case <-s.quit:
		return closed()
	default:
	}
	stmt, err := s.prepared(ctx, query)
	if err != nil {
		return fault(err, s.path)
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return fault(err, s.path)
	}
	defer func() { err = fault(errors.Join(err, rows.Close()), s.path) }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
