package mongo

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
	_, err = s.hang(ctx, experiments, m{"_id": e.ID}, e.Class, e.Assignment, "", func() (bool, error) {
		_, err := s.revise(ctx, r)
		return true, err
	})
	return 1, err
}

// GetExperiment returns an experiment, see school.Experiments.
func (s *Store) GetExperiment(ctx context.Context, id string) (school.Experiment, error) {
	return single[school.Experiment](ctx, s, school.NoExperiment(id), experiments, m{"_id": id})
}

// ListExperiments lists experiments of an assignment, see school.Experiments.
func (s *Store) ListExperiments(ctx context.Context, class, assignment string, limit int) ([]school.Experiment, error) {
	if err := bounds.Rows(limit); err != nil {
		return nil, err
	}
	return documents[school.Experiment](ctx, s, experiments, m{"class": class, "assignment": assignment}, by("-_id"), limit)
}
