package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"
)

// leads came with version 15: which submission of each user to each assignment counts, and sections of classes.
const leads = `
CREATE TABLE leads (
	class      TEXT NOT NULL,
	assignment TEXT NOT NULL,
	user       TEXT NOT NULL,
	submission TEXT NOT NULL,
	kind       TEXT NOT NULL,    -- of the submission
	at         INTEGER NOT NULL,
	PRIMARY KEY (class, user, assignment)
) STRICT, WITHOUT ROWID;
CREATE INDEX leads_assignment ON leads (class, assignment, user, submission);
INSERT INTO leads (class, assignment, user, submission, kind, at)
	SELECT s.class, s.assignment, s.user, s.id, CAST(s.doc AS TEXT) ->> '$.kind', CAST(s.doc AS TEXT) ->> '$.at_ms'
	FROM (SELECT coalesce(max(CASE WHEN grade IS NOT NULL THEN id END), max(id)) AS id FROM submissions GROUP BY class, assignment, user) AS first
	JOIN submissions s ON s.id = first.id;
ALTER TABLE enrolments ADD COLUMN section TEXT NOT NULL DEFAULT '';
`

// leadStates is a migration: what stands in a lead of its submission's result and grade, so that pages of a class read
// one row for each student and assignment.
const leadStates = `
ALTER TABLE leads ADD COLUMN state TEXT NOT NULL DEFAULT '';   -- and the others, of the request
ALTER TABLE leads ADD COLUMN blame TEXT NOT NULL DEFAULT '';
ALTER TABLE leads ADD COLUMN outcome TEXT NOT NULL DEFAULT '';
ALTER TABLE leads ADD COLUMN score REAL;
ALTER TABLE leads ADD COLUMN max_score REAL;
ALTER TABLE leads ADD COLUMN grade BLOB;
UPDATE leads SET (state, blame, outcome, score, max_score, grade) =
	(SELECT coalesce(r.state, ''), coalesce(r.blame, ''), coalesce(r.outcome, ''), r.score, r.max_score, s.grade
	FROM submissions s LEFT JOIN requests r ON r.submission = s.id AND r.submission <> '' AND r.id = s.request WHERE s.id = leads.submission)
	WHERE submission IN (SELECT id FROM submissions);
`

// place is where one submission counts.
type place struct{ class, assignment, user string }

// candidateColumns are what a candidate reads of submissions s, after joinRequest.
const candidateColumns = "s.id, CAST(s.doc AS TEXT) ->> '$.kind', CAST(s.doc AS TEXT) ->> '$.at_ms', s.grade, r.score"

// scanCandidate reads candidateColumns, after others.
func scanCandidate(scan func(into ...any) error, others ...any) (school.Candidate, error) {
	var c school.Candidate
	var doc []byte
	if err := scan(append(others, &c.ID, &c.Kind, &c.At, &doc, &c.Score)...); err != nil || doc == nil {
		return c, err
	}
	var g school.Grade
	err := decode(doc, &g, c.ID)
	c.Graded, c.Score = true, &g.Score
	return c, err
}

// candidate returns a submission as it competes, and where.
func (t *tx) candidate(id string) (school.Candidate, place, error) {
	var at place
	c, err := scanCandidate(func(into ...any) error {
		return t.one("SELECT s.class, s.assignment, s.user, "+candidateColumns+" FROM submissions s"+joinRequest+" WHERE s.id = ?", []any{id}, into...)
	}, &at.class, &at.assignment, &at.user)
	return c, at, err
}

// weigh lets a submission that is new, or has changed, compete with the one that counts. If it is the one, and falls,
// all submissions of its user to the assignment compete. Its lead follows any change of its result or grade.
func (t *tx) weigh(id string, why school.Change) error {
	mine, at, err := t.candidate(id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	as, err := t.ruled(at)
	if err != nil {
		return err
	}
	matters := why.Matters(&as)
	var lead string
	err = t.one("SELECT submission FROM leads WHERE class = ? AND user = ? AND assignment = ?", []any{at.class, at.user, at.assignment}, &lead)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return t.lead(id)
	case err != nil:
		return err
	case lead == id && why.Falls() && matters:
		return t.compete(at, &as)
	case lead == id:
		return t.lead(id)
	case !matters:
		return nil
	}
	its, _, err := t.candidate(lead)
	if err != nil || !as.Leads(mine, its) {
		return err
	}
	return t.lead(id)
}

// lead makes a submission the one that counts, as its result and grade are now.
func (t *tx) lead(id string) error {
	_, err := t.exec(`INSERT OR REPLACE INTO leads (class, assignment, user, submission, kind, at, state, blame, outcome, score, max_score, grade)
		SELECT s.class, s.assignment, s.user, s.id, CAST(s.doc AS TEXT) ->> '$.kind', CAST(s.doc AS TEXT) ->> '$.at_ms',
		coalesce(r.state, ''), coalesce(r.blame, ''), coalesce(r.outcome, ''), r.score, r.max_score, s.grade
		FROM submissions s`+joinRequest+" WHERE s.id = ?", id)
	return err
}

// ruled returns what of an assignment says which submission of a user counts.
func (t *tx) ruled(at place) (school.Assignment, error) {
	a := school.Assignment{Class: at.class, Handle: at.assignment}
	var policy sql.NullString
	var due, grace sql.NullInt64
	var penalty, floor sql.NullFloat64
	var personal []byte
	err := t.one(`SELECT a.doc ->> '$.counts', a.doc ->> '$.due_ms', a.doc ->> '$.grace_minutes', a.doc ->> '$.penalty_percent', a.doc ->> '$.floor_percent', d.doc
		FROM (SELECT class, handle, CAST(doc AS TEXT) AS doc FROM assignments WHERE class = ? AND handle = ?) AS a
		LEFT JOIN deadlines d ON d.class = a.class AND d.assignment = a.handle AND d.user = ?`,
		[]any{at.class, at.assignment, at.user}, &policy, &due, &grace, &penalty, &floor, &personal)
	if errors.Is(err, sql.ErrNoRows) {
		return a, nil
	}
	a.Counts, a.Due, a.Grace, a.Penalty, a.Floor = school.Policy(policy.String), due.Int64, int(grace.Int64), penalty.Float64, floor.Float64
	if err != nil || personal == nil {
		return a, err
	}
	var d school.Deadline
	err = decode(personal, &d, at.user)
	return a.For(&d), err
}

// compete finds the submission that counts among all of a user's to an assignment.
func (t *tx) compete(at place, as *school.Assignment) error {
	var best *school.Candidate
	err := t.each("SELECT "+candidateColumns+" FROM submissions s"+joinRequest+" WHERE s.class = ? AND s.assignment = ? AND s.user = ?",
		[]any{at.class, at.assignment, at.user}, func(rows *sql.Rows) error {
			c, err := scanCandidate(rows.Scan)
			if err == nil && (best == nil || as.Leads(c, *best)) {
				best = &c
			}
			return err
		})
	if err != nil || best == nil {
		return err
	}
	return t.lead(best.ID)
}

// competeAll finds the submissions that count of all users to an assignment: one pass over its submissions.
func (t *tx) competeAll(as *school.Assignment) error {
	users := map[string]*school.Assignment{}
	err := t.each("SELECT doc FROM deadlines WHERE class = ? AND assignment = ?", []any{as.Class, as.Handle}, func(rows *sql.Rows) error {
		var doc []byte
		var d school.Deadline
		err := rows.Scan(&doc)
		if err == nil {
			err = decode(doc, &d, as.Name())
		}
		its := as.For(&d)
		users[d.User] = &its
		return err
	})
	if err != nil {
		return err
	}
	best := map[string]school.Candidate{}
	err = t.each("SELECT s.user, "+candidateColumns+" FROM submissions s"+joinRequest+" WHERE s.class = ? AND s.assignment = ?",
		[]any{as.Class, as.Handle}, func(rows *sql.Rows) error {
			var user string
			c, err := scanCandidate(rows.Scan, &user)
			its := users[user]
			if its == nil {
				its = as
			}
			if was, is := best[user]; err == nil && (!is || its.Leads(c, was)) {
				best[user] = c
			}
			return err
		})
	for _, c := range best {
		if err == nil {
			err = t.lead(c.ID)
		}
	}
	return err
}

// moved finds the submission of a user that counts, after the personal deadline has moved.
func (t *tx) moved(at place) error {
	as, err := t.ruled(at)
	if err != nil || as.Policy() != school.CountsBest {
		return err
	}
	return t.compete(at, &as)
}

// reordered reports whether other submissions may count by an assignment's changed rules.
func (t *tx) reordered(as *school.Assignment) (bool, error) {
	was, err := t.ruled(place{class: as.Class, assignment: as.Handle})
	return !was.SameOrder(as), err
}

// Leads returns which submissions count, see school.Leads.
func (s *Store) Leads(ctx context.Context, class string, users []string) ([]school.Lead, error) {
	if err := bounds.Leads(users); err != nil || len(users) == 0 {
		return nil, err
	}
	asked, err := json.Marshal(slices.Compact(slices.Sorted(slices.Values(users))))
	if err != nil {
		return nil, core.Wrap(err, core.CodeInternal, class, "names of users cannot be written as JSON")
	}
	var all []school.Lead
	err = s.rows(ctx, `SELECT l.assignment, l.user, l.submission, l.kind, l.at, l.grade, l.state, l.blame, l.outcome, l.score, l.max_score
		FROM (SELECT value AS user FROM json_each(?)) AS u CROSS JOIN leads l ON l.class = ? AND l.user = u.user`,
		[]any{string(asked), class}, func(rows *sql.Rows) error {
			l := school.Lead{Class: class}
			var doc []byte
			if err := rows.Scan(&l.Assignment, &l.User, &l.Submission, &l.Kind, &l.At, &doc, &l.State, &l.Blame, &l.Outcome, &l.Score, &l.MaxScore); err != nil {
				return err
			}
			if doc != nil {
				l.Grade = &school.Grade{}
				if err := decode(doc, l.Grade, l.Submission); err != nil {
					return err
				}
			}
			l.Graded()
			all = append(all, l)
			return nil
		})
	slices.SortFunc(all, func(a, b school.Lead) int {
		return cmp.Or(strings.Compare(a.User, b.User), strings.Compare(a.Assignment, b.Assignment))
	})
	return all, err
}
