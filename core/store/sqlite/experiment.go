package sqlite

import (
	"cmp"
	"context"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"
)

// PutExperiment makes or changes an experiment, see school.Experiments.
func (s *Store) PutExperiment(ctx context.Context, e school.Experiment) (int64, error) {
	if err := cmp.Or(core.CheckNames("experiment id", e.ID, "class", e.Class, "assignment", e.Assignment), core.CheckRevision(e.ID, e.Revision)); err != nil {
		return 0, err
	}
	if err := school.CheckMove(ctx, s, e); err != nil {
		return 0, err
	}
	row := revised{what: "experiment " + e.ID, table: "experiments", key: []column{{"id", e.ID}}, revision: e.Revision}
	e.Revision++
	doc, err := encode(e, e.ID)
	if err != nil {
		return 0, err
	}
	row.columns = []column{{"class", e.Class}, {"assignment", e.Assignment}, {"doc", doc}}
	return commit(ctx, s.committer, e.ID, len(doc), func(t *tx) (int64, error) {
		if row.revision == 0 {
			if err := t.takes(e.Class, e.Assignment); err != nil {
				return 0, err
			}
		}
		return t.put(row)
	})
}

// GetExperiment returns an experiment, see school.Experiments.
func (s *Store) GetExperiment(ctx context.Context, id string) (school.Experiment, error) {
	return single[school.Experiment](ctx, s, school.NoExperiment(id), "SELECT doc FROM experiments WHERE id = ?", id)
}

// ListExperiments lists experiments of an assignment, see school.Experiments.
func (s *Store) ListExperiments(ctx context.Context, class, assignment string, limit int) ([]school.Experiment, error) {
	if err := bounds.Rows(limit); err != nil {
		return nil, err
	}
	return documents[school.Experiment](ctx, s, "SELECT doc FROM experiments WHERE class = ? AND assignment = ? ORDER BY id DESC LIMIT ?", class, assignment, limit)
}
