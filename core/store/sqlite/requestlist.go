package sqlite

import (
	"context"
	"slices"
	"strings"

	"drover/core"
	"drover/core/store/bounds"
)

// poolStates is a migration: a pool has most of the store's requests, and those in one of its states may be few of them.
const poolStates = `
DROP INDEX requests_pool;
CREATE INDEX requests_pool ON requests (pool, state, id);
`

// stored are the states that a row may have.
var stored = []core.RequestState{
	core.RequestQueued, core.RequestCompleted, core.RequestFailed, core.RequestCancelled, core.RequestTimedOut, core.RequestDead,
}

// List returns a page of rows, see school.ResultStore.
//
// SQLite knows nothing about how many rows match, so the statement says which index is read: that of the submitter or the
// assignment, who have few requests. Lists of a pool or of states merge a list for each state, so that they read no more
// rows than they return.
func (s *Store) List(ctx context.Context, f core.Filter) ([]core.Row, error) {
	limit, err := bounds.Filter(f)
	if err != nil {
		return nil, err
	}
	few := f.Submitter != "" || f.Assignment != "" || f.Idempotency != ""
	if !few && (f.Pool != "" || len(f.States) > 0) {
		return s.merged(ctx, f, limit)
	}
	query, args := selection(briefRow, []condition{
		{"r.submitter = ?", f.Submitter},
		{"+r.pool = ?", f.Pool},
		{"r.assignment = ? AND r.assignment <> ''", f.Assignment},
		{"r.idempotency = ? AND r.idempotency <> ''", f.Idempotency},
		{"r.id > ?", f.After},
		{"r.id < ?", f.Before},
	})
	if n := len(f.States); n > 0 {
		query += " AND +r.state IN (?" + strings.Repeat(", ?", n-1) + ")"
		for _, state := range f.States {
			args = append(args, string(state))
		}
	}
	return s.list(ctx, query+" ORDER BY r.id DESC LIMIT ?", append(args, limit)...)
}

// merged returns a page of a pool's rows, of rows in some states, or of both.
func (s *Store) merged(ctx context.Context, f core.Filter, limit int) ([]core.Row, error) {
	states := slices.Clone(stored)
	if len(f.States) > 0 {
		states = slices.DeleteFunc(states, func(one core.RequestState) bool { return !slices.Contains(f.States, one) })
	}
	if len(states) == 0 { // no row has what was asked for
		return nil, nil
	}
	var each []string
	var args []any
	for _, state := range states {
		query, its := selection("SELECT id FROM requests", []condition{
			{"state = ?", string(state)}, {"pool = ?", f.Pool}, {"id > ?", f.After}, {"id < ?", f.Before},
		})
		each, args = append(each, query), append(args, its...)
	}
	rows, err := s.list(ctx, briefColumns+"FROM ("+strings.Join(each, " UNION ALL ")+" ORDER BY id DESC LIMIT ?) AS k CROSS JOIN requests r ON r.id = k.id "+joinAttempt,
		append(args, limit)...)
	slices.SortFunc(rows, func(a, b core.Row) int { return strings.Compare(b.Spec.ID, a.Spec.ID) })
	return rows, err
}
