package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"
)

// created is the answer of Create.
type created struct {
	row core.Row
	is  bool
}

// Create makes a request durable, see school.ResultStore.
func (s *Store) Create(ctx context.Context, spec core.Spec) (core.Row, bool, error) {
	doc, err := bounds.Spec(spec)
	if err != nil {
		return core.Row{}, false, err
	}
	made, err := commit(ctx, s.committer, spec.ID, len(doc), func(t *tx) (created, error) {
		is, err := t.create(&spec, doc, false)
		if err != nil || is {
			return created{core.Row{Spec: spec, State: core.RequestQueued}, is}, err
		}
		row, err := t.taken(&spec)
		return created{row: row}, err
	})
	return made.row, made.is, err
}

// create inserts a request, unless another one has its id or its idempotency key. With kept, purges spare it.
func (t *tx) create(spec *core.Spec, doc []byte, kept bool) (bool, error) {
	n, err := t.exec(`INSERT INTO requests (id, generation, submitter, pool, assignment, submission, idempotency, notify, kept, state, finished, spec)
		VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, 'queued', 0, ?) ON CONFLICT DO NOTHING`,
		spec.ID, spec.Submitter, spec.Pool, spec.Assignment, spec.Submission, spec.Idempotency, spec.Notifies(), kept, doc)
	return n == 1, err
}

// taken returns the existing row of spec's id or idempotency key. Returns CONFLICT if it is another request.
func (t *tx) taken(spec *core.Spec) (core.Row, error) {
	if spec.Idempotency != "" {
		row, err := t.row(fullRow+" WHERE r.submitter = ? AND r.idempotency = ? AND r.idempotency <> ''", spec.Submitter, spec.Idempotency)
		if !errors.Is(err, sql.ErrNoRows) {
			return row, err
		}
	}
	row, err := t.row(fullRow+" WHERE r.id = ?", spec.ID)
	if err != nil {
		return core.Row{}, err
	}
	if !spec.SameAs(row.Spec) {
		return core.Row{}, core.RequestTaken(spec.ID)
	}
	return row, nil
}

// The columns of a row: with its whole output, and without.
const (
	fullRow  = `SELECT r.spec, r.state, r.finished, a.result, a.stdout, a.stderr ` + fromRows
	briefRow = briefColumns + fromRows
	fromRows = `FROM requests r ` + joinAttempt

	briefColumns = `SELECT r.spec, r.state, r.finished, a.result, NULL, NULL `
	joinAttempt  = `LEFT JOIN attempts a ON a.id = r.id AND a.generation = r.generation AND a.accepted = 1`
)

// scanRow reads one row of fullRow or briefRow.
func scanRow(scan func(into ...any) error) (core.Row, error) {
	var row core.Row
	var spec, result, stdout, stderr []byte
	if err := scan(&spec, &row.State, &row.Finished, &result, &stdout, &stderr); err != nil {
		return core.Row{}, err
	}
	if err := decode(spec, &row.Spec, "a request"); err != nil {
		return core.Row{}, err
	}
	if result != nil {
		row.Result = &core.Result{}
		if err := decode(result, row.Result, row.Spec.ID); err != nil {
			return core.Row{}, err
		}
		row.Result.Stdout, row.Result.Stderr = string(stdout), string(stderr)
	}
	return row, nil
}

// decode decodes a document that the store wrote itself.
func decode(doc []byte, into any, id string) error {
	return core.Wrap(json.Unmarshal(doc, into), core.CodeUnavailable, id, "the result store holds something unreadable for %s: restore a backup", id)
}

func (t *tx) row(query string, args ...any) (core.Row, error) {
	return scanRow(func(into ...any) error { return t.one(query, args, into...) })
}

// Get returns one row with its whole result, see school.ResultStore.
func (s *Store) Get(ctx context.Context, id string) (core.Row, error) {
	rows, err := s.list(ctx, fullRow+" WHERE r.id = ?", id)
	if err != nil {
		return core.Row{}, err
	}
	if len(rows) == 0 {
		return core.Row{}, core.NoRequest(id)
	}
	return rows[0], nil
}

func (s *Store) list(ctx context.Context, query string, args ...any) ([]core.Row, error) {
	var all []core.Row
	err := s.rows(ctx, query, args, func(rows *sql.Rows) error {
		row, err := scanRow(rows.Scan)
		all = append(all, row)
		return err
	})
	return all, err
}

// Unfinished lists specs without an end, see school.ResultStore.
func (s *Store) Unfinished(ctx context.Context, after string, limit int) ([]core.Spec, error) {
	if err := bounds.Page(limit); err != nil {
		return nil, err
	}
	return s.specs(ctx, "SELECT spec FROM requests WHERE state = 'queued' AND id > ? ORDER BY id LIMIT ?", after, limit)
}

func (s *Store) specs(ctx context.Context, query string, args ...any) ([]core.Spec, error) {
	var all []core.Spec
	err := s.rows(ctx, query, args, func(rows *sql.Rows) error {
		var doc sql.RawBytes
		if err := rows.Scan(&doc); err != nil {
			return err
		}
		var spec core.Spec
		err := decode(doc, &spec, "a request")
		all = append(all, spec)
		return err
	})
	return all, err
}

// Rerun starts a new generation, see school.ResultStore. Returns LIMIT after
// core.MaxGenerations of them.
func (s *Store) Rerun(ctx context.Context, id string, submitted int64) (core.Spec, error) {
	return commit(ctx, s.committer, id, core.MaxSpecBytes, func(t *tx) (core.Spec, error) {
		row, err := t.row(briefRow+" WHERE r.id = ?", id)
		spec := row.Spec
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return core.Spec{}, core.NoRequest(id)
		case err != nil:
			return core.Spec{}, err
		}
		removed := false
		if err := t.one("SELECT removed FROM requests WHERE id = ?", []any{id}, &removed); err != nil {
			return core.Spec{}, err
		}
		if removed {
			return core.Spec{}, core.BeingRemoved(id)
		}
		if spec, err = spec.Again(row.State, submitted); err != nil {
			return core.Spec{}, err
		}
		doc, err := encode(spec, id)
		if err != nil {
			return core.Spec{}, err
		}
		_, err = t.exec(`UPDATE requests SET generation = ?, state = 'queued', finished = 0, blame = '', outcome = '', score = NULL, max_score = NULL, spec = ?,
			changes = x'', begun = '' WHERE id = ?`, spec.Generation, doc, id)
		if err == nil && spec.Submission != "" {
			err = t.weigh(spec.Submission, school.Unscored)
		}
		return spec, err
	})
}

// digestPage is how many specs Digests holds at once, so that no long read keeps SQLite from checkpointing the log.
const digestPage = 100

// Digests calls fn with every digest in the store, see school.ResultStore.
func (s *Store) Digests(ctx context.Context, fn func(digest string) error) error {
	images, err := s.ListImages(ctx)
	if err != nil {
		return err
	}
	for _, image := range images {
		if err := fn(image.Digest); err != nil {
			return err
		}
	}
	if err := s.downloads(ctx, fn); err != nil {
		return err
	}
	if err := s.batchDigests(ctx, fn); err != nil { // before requests, which may still be in them
		return err
	}
	for after := ""; ; {
		page, err := s.specs(ctx, "SELECT spec FROM requests WHERE id > ? ORDER BY id LIMIT ?", after, digestPage)
		if err != nil {
			return err
		}
		for i := range page {
			if err := eachDigest(&page[i], fn); err != nil {
				return err
			}
		}
		if len(page) < digestPage {
			break
		}
		after = page[len(page)-1].ID
	}
	for _, query := range namingFiles {
		if err := s.files(ctx, query, fn); err != nil {
			return err
		}
	}
	return nil
}

// namingFiles are the queries for files of rows other than requests: each returns a page of cursors with a list of
// files.
var namingFiles = []string{
	"SELECT seq, CAST(result AS TEXT) ->> '$.files' FROM attempts WHERE seq > ? ORDER BY seq LIMIT ?",
	"SELECT rowid, CAST(doc AS TEXT) ->> '$.files' FROM submissions WHERE rowid > ? ORDER BY rowid LIMIT ?",
	"SELECT rowid, json_array(CAST(doc AS TEXT) -> '$.harness.file') FROM assignments WHERE rowid > ? ORDER BY rowid LIMIT ?",
	"SELECT rowid, json_array(CAST(doc AS TEXT) -> '$.harness.file') FROM experiments WHERE rowid > ? ORDER BY rowid LIMIT ?",
	"SELECT rowid, CAST(doc AS TEXT) ->> '$.harness.handout' FROM assignments WHERE rowid > ? ORDER BY rowid LIMIT ?",
	"SELECT rowid, CAST(doc AS TEXT) ->> '$.harness.handout' FROM experiments WHERE rowid > ? ORDER BY rowid LIMIT ?",
}

// files calls fn with the digests of files that a query of namingFiles finds.
func (s *Store) files(ctx context.Context, query string, fn func(digest string) error) error {
	for after := int64(-1); ; {
		rows, digests := 0, []string{}
		err := s.rows(ctx, query, []any{after, digestPage}, func(r *sql.Rows) error {
			var text sql.NullString
			if err := r.Scan(&after, &text); err != nil {
				return err
			}
			rows++
			if !text.Valid {
				return nil
			}
			var files []core.File
			err := decode([]byte(text.String), &files, "files")
			for _, f := range files {
				if f.Digest != "" { // an assignment may have no harness
					digests = append(digests, f.Digest)
				}
			}
			return err
		})
		if err != nil {
			return err
		}
		for _, digest := range digests {
			if err := fn(digest); err != nil {
				return err
			}
		}
		if rows < digestPage {
			return nil
		}
	}
}

func eachDigest(spec *core.Spec, fn func(digest string) error) error {
	for _, f := range []*core.File{spec.Stdin, spec.Harness, spec.Attachment} {
		if f == nil {
			continue
		}
		if err := fn(f.Digest); err != nil {
			return err
		}
	}
	for _, f := range spec.Files {
		if err := fn(f.Digest); err != nil {
			return err
		}
	}
	return nil
}
