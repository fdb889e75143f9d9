package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"
)

// handed is the answer of CreateSubmission.
type handed struct {
	submission school.Submission
	is         bool
}

// CreateSubmission makes a submission durable, see school.Submissions.
func (s *Store) CreateSubmission(ctx context.Context, sub school.Submission, grading *core.Spec) (school.Submission, bool, error) {
	doc, spec, err := bounds.Submission(sub, grading)
	if err != nil {
		return school.Submission{}, false, err
	}
	made, err := commit(ctx, s.committer, sub.ID, len(doc)+len(spec), func(t *tx) (handed, error) {
		if first, err := t.handed(&sub); err != nil || first.ID != "" {
			return handed{submission: first}, err
		}
		if err := t.takes(sub.Class, sub.Assignment); err != nil {
			return handed{}, err
		}
		if err := t.hasUser(sub.User); err != nil {
			return handed{}, err
		}
		if grading != nil {
			is, err := t.create(grading, spec, true)
			if err != nil || !is {
				return handed{}, cmp.Or(err, core.RequestTaken(grading.ID))
			}
		}
		_, err := t.exec("INSERT INTO submissions (id, class, assignment, user, idempotency, request, doc) VALUES (?, ?, ?, ?, ?, ?, ?)",
			sub.ID, sub.Class, sub.Assignment, sub.User, sub.Idempotency, sub.Request, doc)
		if err == nil {
			err = t.weigh(sub.ID, school.Submitted)
		}
		return handed{sub, true}, err
	})
	return made.submission, made.is, err
}

// handed returns the existing submission of sub's id or idempotency key, if there is one. Returns CONFLICT if the id
// belongs to another submission.
func (t *tx) handed(sub *school.Submission) (school.Submission, error) {
	const query = "SELECT " + submissionColumns + " FROM submissions s WHERE "
	if sub.Idempotency != "" {
		first, err := t.submission(query+"s.user = ? AND s.idempotency = ? AND s.idempotency <> ''", sub.User, sub.Idempotency)
		if err != nil || first.ID != "" {
			return first, err
		}
	}
	first, err := t.submission(query+"s.id = ?", sub.ID)
	if err == nil && first.ID != "" && !bounds.SameSubmission(first, *sub) {
		return school.Submission{}, school.SubmissionTaken(sub.ID)
	}
	return first, err
}

// submission returns the submission that a query finds, or nothing.
func (t *tx) submission(query string, args ...any) (school.Submission, error) {
	var row submissionRow
	err := t.one(query, args, row.into()...)
	if errors.Is(err, sql.ErrNoRows) {
		return school.Submission{}, nil
	}
	if err != nil {
		return school.Submission{}, err
	}
	return row.submission()
}

// keep makes purges spare a request. Returns NOTFOUND if the request was not made for the submission.
func (t *tx) keep(id, request string) error {
	n, err := t.exec("UPDATE requests SET kept = 1 WHERE id = ? AND submission = ?", request, id)
	if err == nil && n == 0 {
		return school.NoRequestFor(request, id)
	}
	return err
}

// submissionColumns are what submissionRow reads.
const submissionColumns = "s.doc, s.idempotency, s.request, s.grade"

// submissionRow is a submission as it is stored.
type submissionRow struct {
	doc, grade           []byte
	idempotency, request string
}

func (r *submissionRow) into() []any { return []any{&r.doc, &r.idempotency, &r.request, &r.grade} }

func (r *submissionRow) submission() (school.Submission, error) {
	var sub school.Submission
	if err := decode(r.doc, &sub, "a submission"); err != nil {
		return school.Submission{}, err
	}
	sub.Idempotency, sub.Request = r.idempotency, r.request
	if r.grade == nil {
		return sub, nil
	}
	sub.Grade = &school.Grade{}
	return sub, decode(r.grade, sub.Grade, sub.ID)
}

// GetSubmission returns a submission, see school.Submissions.
func (s *Store) GetSubmission(ctx context.Context, id string) (school.Submission, error) {
	var found *school.Submission
	err := s.rows(ctx, "SELECT "+submissionColumns+" FROM submissions s WHERE s.id = ?", []any{id}, func(rows *sql.Rows) error {
		var row submissionRow
		if err := rows.Scan(row.into()...); err != nil {
			return err
		}
		sub, err := row.submission()
		found = &sub
		return err
	})
	if err == nil && found == nil {
		err = school.NoSubmission(id)
	}
	if err != nil {
		return school.Submission{}, err
	}
	return *found, nil
}

// Bind makes another request count, see school.Submissions.
func (s *Store) Bind(ctx context.Context, id, from, to string) (bool, error) {
	if err := core.CheckName("request id", to); err != nil {
		return false, err
	}
	return commit(ctx, s.committer, id, 0, func(t *tx) (bool, error) {
		var request string
		err := t.one("SELECT request FROM submissions WHERE id = ?", []any{id}, &request)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return false, school.NoSubmission(id)
		case err != nil || request != from:
			return false, err
		}
		if err := t.keep(id, to); err != nil {
			return false, err
		}
		if _, err = t.exec("UPDATE submissions SET request = ? WHERE id = ?", to, id); err == nil {
			err = t.weigh(id, school.Unscored)
		}
		return err == nil, err
	})
}

// SetGrade sets or removes a grade, see school.Submissions.
func (s *Store) SetGrade(ctx context.Context, id string, g *school.Grade) error {
	var doc []byte // NULL is none
	if g != nil {
		var err error
		if doc, err = encode(g, id); err != nil {
			return err
		}
	}
	_, err := commit(ctx, s.committer, id, len(doc), func(t *tx) (int, error) {
		had := false
		err := t.one("SELECT grade IS NOT NULL FROM submissions WHERE id = ?", []any{id}, &had)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, school.NoSubmission(id)
		}
		if err != nil {
			return 0, err
		}
		n, err := t.exec("UPDATE submissions SET grade = ? WHERE id = ?", doc, id)
		why := school.Graded
		if had {
			why = school.Regraded
		}
		if err == nil {
			err = t.weigh(id, why)
		}
		return n, err
	})
	return err
}

// removable selects the submissions of an assignment that one batch deletes: those whose requests have all ended.
const removable = `(SELECT s.id FROM submissions s WHERE s.class = ?1 AND s.assignment = ?2 AND NOT EXISTS
	(SELECT 1 FROM requests r WHERE r.submission = s.id AND r.submission <> '' AND r.state = 'queued') ORDER BY s.id LIMIT ?3)`

// DeleteSubmissions removes submissions of an assignment, see school.Submissions.
func (s *Store) DeleteSubmissions(ctx context.Context, class, assignment string, limit int) (removed, left int, err error) {
	if err := bounds.Page(limit); err != nil {
		return 0, 0, err
	}
	for removed < limit {
		batch := min(purgeBatch, limit-removed)
		n, err := commit(ctx, s.committer, assignment, 0, func(t *tx) (int, error) { return t.deleteSubmissions(class, assignment, batch) })
		removed += n
		if err != nil {
			return removed, 0, err
		}
		if n < batch {
			break
		}
	}
	err = s.rows(ctx, `SELECT count(DISTINCT s.id) FROM requests r JOIN submissions s ON s.id = r.submission
		WHERE r.submission <> '' AND r.state = 'queued' AND s.class = ? AND s.assignment = ?`,
		[]any{class, assignment}, func(rows *sql.Rows) error { return rows.Scan(&left) })
	return removed, left, err
}

func (t *tx) deleteSubmissions(class, assignment string, batch int) (int, error) {
	var users []string
	err := t.each("SELECT user FROM submissions WHERE id IN "+removable, []any{class, assignment, batch}, func(rows *sql.Rows) error {
		var user string
		err := rows.Scan(&user)
		users = append(users, user)
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, query := range []string{
		"DELETE FROM leads WHERE class = ?1 AND assignment = ?2 AND submission IN " + removable,
		"DELETE FROM attempts WHERE id IN (SELECT id FROM requests WHERE submission <> '' AND submission IN " + removable + ")",
		"DELETE FROM outbox WHERE event = 'request.ended' AND id IN (SELECT id FROM requests WHERE submission <> '' AND submission IN " + removable + ")",
		"DELETE FROM requests WHERE submission <> '' AND submission IN " + removable,
		"DELETE FROM comments WHERE submission IN " + removable,
	} {
		if _, err := t.exec(query, class, assignment, batch); err != nil {
			return 0, err
		}
	}
	n, err := t.exec("DELETE FROM submissions WHERE id IN "+removable, class, assignment, batch)
	slices.Sort(users)
	for _, user := range slices.Compact(users) {
		at := place{class, assignment, user}
		var as school.Assignment
		if err == nil {
			as, err = t.ruled(at)
		}
		if err == nil {
			err = t.compete(at, &as)
		}
	}
	return n, err
}
