package api

import (
	"bufio"
	"context"
	"errors"
	"io"

	"drover/core"
	"drover/core/classes"
	"drover/core/classes/experiment"
	"drover/core/harness"
)

func experimentTable() []entry {
	return []entry{
		is(Operation{"startExperiment", post, "/classes/{class}/assignments/{assignment}/experiments", core.ActExperiment, core.ScopeTeach, 201, "Run submissions again, for a try: with a harness as a tar or zip, or without a body with the assignment's own"}, (*server).startExperiment),
		is(Operation{"listExperiments", get, "/classes/{class}/assignments/{assignment}/experiments", core.ActExperiment, core.ScopeRead, 0, "List the newest experiments of an assignment"}, (*server).listExperiments),
		is(Operation{"viewExperiment", get, "/experiments/{id}", core.ActExperiment, core.ScopeRead, 0, "Look at an experiment and how far it is"}, (*server).viewExperiment),
		is(Operation{"listOutcomes", get, "/experiments/{id}/outcomes", core.ActExperiment, core.ScopeRead, 0, "What an experiment would change, submission by submission"}, (*server).listOutcomes),
		is(Operation{"applyExperiment", post, "/experiments/{id}/apply", core.ActExperiment, core.ScopeTeach, 0, "Let the results of an experiment count"}, (*server).applyExperiment),
		is(Operation{"abortExperiment", post, "/experiments/{id}/abort", core.ActExperiment, core.ScopeTeach, 0, "Drop an experiment; nothing of it counts"}, (*server).abortExperiment),
	}
}

func (s *server) startExperiment(ctx context.Context, a core.Actor, in *struct {
	InAssignment
	User   []string `query:"user,explode" maxItems:"200" doc:"only theirs; everybody's newest submission if left out"`
	Repeat int      `query:"repeat" minimum:"1" maximum:"100" default:"1" doc:"runs of each submission: more than one tells flaky tests"`
},
) (*tagged[core.Experiment], error) {
	trial := classes.Trial{Users: in.User, Repeat: in.Repeat}
	tar := bufio.NewReader(s.body(ctx, harness.MaxPackBytes+1))
	if _, err := tar.Peek(1); !errors.Is(err, io.EOF) {
		trial.Harness = tar
	}
	e, err := s.Classes.StartExperiment(ctx, a, in.Class, in.Assignment, trial)
	if err != nil {
		return nil, err
	}
	return made(e.Revision, e, "experiments", e.ID), nil
}

func (s *server) listExperiments(ctx context.Context, a core.Actor, in *struct {
	InAssignment
	Limit int `query:"limit" minimum:"1" maximum:"500" default:"50"`
},
) (*answer[Page[core.Experiment]], error) {
	return all(s.Classes.Experiments(ctx, a, in.Class, in.Assignment, in.Limit))
}

// ExperimentStatus is an experiment with how far it is.
type ExperimentStatus struct {
	core.Experiment
	Progress core.TaskProgress `json:"progress"`
}

func (s *server) viewExperiment(ctx context.Context, a core.Actor, in *struct {
	One
	Reading
},
) (*tagged[ExperimentStatus], error) {
	e, progress, err := s.Classes.ExperimentProgress(ctx, a, in.ID)
	if err != nil {
		return nil, err
	}
	return read(in.Reading, e.Revision, ExperimentStatus{e, progress}), nil
}

// Outcomes is a page of an experiment's matrix of verdicts.
type Outcomes struct {
	classes.ExperimentView
	Next string `json:"next" doc:"cursor of the next page; empty on the last"`
}

func (s *server) listOutcomes(ctx context.Context, a core.Actor, in *struct {
	One
	Cursor
	Differing bool `query:"differing" doc:"only of submissions that differ, are flaky, or have no result"`
},
) (*struct {
	Link string `header:"Link" doc:"the next page, rel=next"`
	Body Outcomes
}, error,
) {
	v, err := s.Classes.ViewExperiment(ctx, a, in.ID, classes.OutcomePage{Differing: in.Differing, After: in.Cursor.Cursor, Limit: in.more()})
	if err != nil {
		return nil, err
	}
	page := paged(ctx, in.Cursor, v.Outcomes, func(o *experiment.Outcome) string { return o.Submission })
	v.Outcomes = page.Body.Items
	return &struct {
		Link string `header:"Link" doc:"the next page, rel=next"`
		Body Outcomes
	}{page.Link, Outcomes{v, page.Body.Next}}, nil
}

func (s *server) applyExperiment(ctx context.Context, a core.Actor, in *One) (*answer[classes.Applied], error) {
	return answered(s.Classes.ApplyExperiment(ctx, a, in.ID))
}

func (s *server) abortExperiment(ctx context.Context, a core.Actor, in *One) (*answer[core.Experiment], error) {
	return answered(s.Classes.AbortExperiment(ctx, a, in.ID))
}
