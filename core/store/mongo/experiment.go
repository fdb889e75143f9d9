package mongo

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
	r := revised{what: "experiment " + e.ID, in: experiments, id: e.ID, name: e.ID, revision: e.Revision}
	e.Revision++
	doc, err := encode(e, e.ID)
	if err != nil {
		return 0, err
	}
	r.fields = m{"class": e.Class, "assignment": e.Assignment, "json": doc}
	if r.revision > 0 {
		return s.revise(ctx, r)
	}
	_, err = s.hang(ctx, experiments, e.ID, e.Class, e.Assignment, "", func() (bool, error) {
		_, err := s.revise(ctx, r)
		return true, err
	})
	return 1, err
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
	return single[core.Experiment](ctx, s, none, experiments, m{"_id": id})
}

// ListExperiments lists those of an assignment, see core.Experiments.
func (s *Store) ListExperiments(ctx context.Context, class, assignment string, limit int) ([]core.Experiment, error) {
	if err := bounds.Rows(limit); err != nil {
		return nil, err
	}
	return documents[core.Experiment](ctx, s, experiments, m{"class": class, "assignment": assignment}, by("-_id"), limit)
}
