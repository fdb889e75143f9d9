package sqlite

import (
	"context"

	"drover/core"
	"drover/core/store/bounds"
)

// PutExperiment makes or changes an experiment, see core.Experiments.
func (s *Store) PutExperiment(ctx context.Context, e core.Experiment) (int64, error) {
	if err := bounds.Experiment(e); err != nil {
		return 0, err
	}
	if err := s.mayMove(ctx, e); err != nil {
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

// mayMove refuses a move that the transition table does not have. The state of a revision never
// changes, so it may be read before.
func (s *Store) mayMove(ctx context.Context, e core.Experiment) error {
	var was core.Experiment
	if e.Revision > 0 {
		var err error
		if was, err = s.GetExperiment(ctx, e.ID); core.Is(err, core.CodeNotFound) {
			return nil // which the change itself says
		} else if err != nil {
			return err
		}
	}
	return bounds.ExperimentMove(was, e)
}

// GetExperiment returns an experiment, see core.Experiments.
func (s *Store) GetExperiment(ctx context.Context, id string) (core.Experiment, error) {
	none := core.Errorf(core.CodeNotFound, id, "there is no experiment %s", id)
	return single[core.Experiment](ctx, s, none, "SELECT doc FROM experiments WHERE id = ?", id)
}

// ListExperiments lists those of an assignment, see core.Experiments.
func (s *Store) ListExperiments(ctx context.Context, class, assignment string, limit int) ([]core.Experiment, error) {
	if err := bounds.Rows(limit); err != nil {
		return nil, err
	}
	return documents[core.Experiment](ctx, s, "SELECT doc FROM experiments WHERE class = ? AND assignment = ? ORDER BY id DESC LIMIT ?", class, assignment, limit)
}
