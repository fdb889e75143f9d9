package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"

	"drover/core"
)

// A batch is the writes of one transaction: at most this many, with about this many bytes.
const (
	batchWrites = 256
	batchBytes  = 8 << 20
)

// committer owns the one connection that writes. While it commits, callers queue up; all that wait then share the
// next transaction and its one fsync. It never waits for a batch to fill.
type committer struct {
	conn  *sql.Conn
	known map[string]*sql.Stmt // by text; used by the loop only

	queue chan write // unbuffered: every received write is answered
	quit  chan struct{}
	done  chan struct{}

	commits, writes atomic.Int64
}

// write is one caller's part of a batch.
type write interface {
	run(t *tx) error
	reply(err error)
	size() int
}

// job is a write with an answer.
type job[T any] struct {
	do     func(t *tx) (T, error)
	bytes  int
	answer T
	result chan outcome[T]
}

type outcome[T any] struct {
	answer T
	err    error
}

func (j *job[T]) run(t *tx) (err error) { j.answer, err = j.do(t); return err }
func (j *job[T]) size() int             { return j.bytes }

func (j *job[T]) reply(err error) {
	if err != nil {
		var none T
		j.answer = none
	}
	j.result <- outcome[T]{j.answer, err}
}

func newCommitter(conn *sql.Conn) *committer {
	c := &committer{
		conn: conn, known: map[string]*sql.Stmt{},
		queue: make(chan write), quit: make(chan struct{}), done: make(chan struct{}),
	}
	go c.loop()
	return c
}

// commit runs do within a batch and returns its answer once it is durable. Do may run twice, returns refusals (a
// *core.Error) before it writes anything, and keeps nothing of t. The end of ctx ends the waiting, but not a write
// that has begun.
func commit[T any](ctx context.Context, c *committer, id string, bytes int, do func(t *tx) (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, fault(err, id)
	}
	j := &job[T]{do: do, bytes: bytes, result: make(chan outcome[T], 1)}
	select {
	case c.queue <- j:
	case <-ctx.Done():
		return none, fault(ctx.Err(), id)
	case <-c.quit:
		return none, closed()
	}
	select {
	case out := <-j.result:
		return out.answer, fault(out.err, id)
	case <-ctx.Done():
		select {
		case out := <-j.result:
			return out.answer, fault(out.err, id)
		default:
		}
		return none, core.Wrap(ctx.Err(), core.CodeUnavailable, id, "the caller stopped waiting; what it wrote may be there: ask again")
	}
}

func (c *committer) loop() {
	defer close(c.done)
	for {
		select {
		case first := <-c.queue:
			c.commit(c.gather(first))
		case <-c.quit:
			return
		}
	}
}

// finalize prepares the connection for its end. SQLite closes a file only when all statements are closed, and copies the
// log into it only if nobody else has it open at that moment: of two that close it at once neither might.
func (c *committer) finalize() error {
	var errs []error
	for _, stmt := range c.known {
		errs = append(errs, stmt.Close())
	}
	if c.writes.Load() > 0 {
		_, _ = c.conn.ExecContext(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)") // else the log still has it
	}
	return errors.Join(errs...)
}

// gather takes all writes that wait now.
func (c *committer) gather(first write) []write {
	batch, bytes := []write{first}, first.size()
	for len(batch) < batchWrites && bytes < batchBytes {
		select {
		case next := <-c.queue:
			batch, bytes = append(batch, next), bytes+next.size()
		default:
			return batch
		}
	}
	return batch
}

// commit runs a batch and answers each of its writes. If the transaction fails, each write gets its own, so that only
// the faulty one fails.
func (c *committer) commit(batch []write) {
	verdicts, begun, err := c.transact(batch)
	if err != nil && begun && len(batch) > 1 {
		for _, w := range batch {
			c.commit([]write{w})
		}
		return
	}
	for i, w := range batch {
		if err != nil {
			w.reply(err)
			continue
		}
		w.reply(verdicts[i])
	}
}

// transact runs writes in one transaction. The verdicts are the writes' own refusals; err means that nothing of the
// transaction was written.
func (c *committer) transact(writes []write) (verdicts []error, begun bool, err error) {
	ctx := context.Background() // no caller's end may cancel the transaction that all share
	t := &tx{ctx: ctx, c: c}
	if _, err := t.exec("BEGIN IMMEDIATE"); err != nil {
		return nil, false, err
	}
	verdicts = make([]error, len(writes))
	for i, w := range writes {
		verdicts[i] = w.run(t)
		var refusal *core.Error
		if verdicts[i] != nil && !errors.As(verdicts[i], &refusal) {
			t.rollback()
			return nil, true, verdicts[i]
		}
	}
	if _, err := t.exec("COMMIT"); err != nil {
		t.rollback()
		return nil, true, err
	}
	c.commits.Add(1)
	c.writes.Add(int64(len(writes)))
	return verdicts, true, nil
}

// rollback ends a failed transaction. An error means only that SQLite has rolled it back itself.
func (t *tx) rollback() { _, _ = t.exec("ROLLBACK") }

// tx is the running transaction; its statements are prepared once.
type tx struct {
	ctx context.Context // of the transaction
	c   *committer
}

func (t *tx) prepared(query string) (*sql.Stmt, error) {
	if stmt := t.c.known[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := t.c.conn.PrepareContext(t.ctx, query)
	if err == nil {
		t.c.known[query] = stmt
	}
	return stmt, err
}

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(query string, args ...any) (int, error) {
	stmt, err := t.prepared(query)
	if err != nil {
		return 0, err
	}
	done, err := stmt.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, err
	}
	n, err := done.RowsAffected()
	return int(n), err
}

// each calls fn for every row that a query finds.
func (t *tx) each(query string, args []any, fn func(rows *sql.Rows) error) error {
	stmt, err := t.prepared(query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(t.ctx, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// one scans at most one row. Returns sql.ErrNoRows if there is none.
func (t *tx) one(query string, args []any, into ...any) error {
	stmt, err := t.prepared(query)
	if err != nil {
		return err
	}
	return stmt.QueryRowContext(t.ctx, args...).Scan(into...)
}
