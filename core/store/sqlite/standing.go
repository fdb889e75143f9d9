package sqlite

import (
	"context"
	"database/sql"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"
)

// selectStandings reads submissions s with state and score, all from one index of requests.
const selectStandings = "SELECT " + submissionColumns + ", r.state, r.blame, r.outcome, r.score, r.max_score FROM "

const joinRequest = ` LEFT JOIN requests r INDEXED BY requests_submission
	ON r.submission = s.id AND r.submission <> '' AND r.id = s.request`

// ListSubmissions returns a page of submissions, see school.Submissions.
func (s *Store) ListSubmissions(ctx context.Context, f school.SubmissionFilter) ([]school.Standing, error) {
	limit, err := bounds.Submissions(f)
	if err != nil {
		return nil, err
	}
	query, args := selection(selectStandings+"submissions s"+joinRequest, []condition{
		{"s.class = ?", f.Class},
		{"s.assignment = ?", f.Assignment},
		{"s.user = ?", f.User},
		{"s.id < ?", f.Before},
		{"s.idempotency = ? AND s.idempotency <> ''", f.Idempotency},
	})
	if f.Asked { // with a class, so there is a condition before
		query += " AND EXISTS (SELECT 1 FROM comments c WHERE c.submission = s.id AND c.open = 1)"
	}
	return s.standings(ctx, query+" ORDER BY s.id DESC LIMIT ?", append(args, limit)...)
}

// Standings returns each user's submission that counts, see school.Submissions.
func (s *Store) Standings(ctx context.Context, class, assignment, after string, limit int) ([]school.Standing, error) {
	if err := bounds.Rows(limit); err != nil {
		return nil, err
	}
	return s.standings(ctx, selectStandings+"leads l CROSS JOIN submissions s ON s.id = l.submission"+joinRequest+
		" WHERE l.class = ? AND l.assignment = ? AND l.user > ? ORDER BY l.user LIMIT ?",
		class, assignment, after, limit)
}

func (s *Store) standings(ctx context.Context, query string, args ...any) ([]school.Standing, error) {
	var all []school.Standing
	err := s.rows(ctx, query, args, func(rows *sql.Rows) error {
		var row submissionRow
		var state, blame, outcome sql.NullString
		var score, most *float64
		if err := rows.Scan(append(row.into(), &state, &blame, &outcome, &score, &most)...); err != nil {
			return err
		}
		sub, err := row.submission()
		all = append(all, sub.Standing(core.RequestState(state.String), core.Blame(blame.String), core.ResultOutcome(outcome.String), score, most))
		return err
	})
	return all, err
}
