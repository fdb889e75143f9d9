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
	"drover/core/school"
)

func experimentTable() []entry {
	return []entry{
		is(Operation{"startExperiment", post, "/classes/{class}/assignments/{assignment}/experiments", core.ActExperiment, school.ScopeTeach, 201, "Start an experiment: rerun submissions with a harness as a tar or zip, or without a body with the assignment's own"}, (*server).startExperiment),
		is(Operation{"listExperiments", get, "/classes/{class}/assignments/{assignment}/experiments", core.ActExperiment, school.ScopeRead, 0, "List the newest experiments of an assignment"}, (*server).listExperiments),
		is(Operation{"viewExperiment", get, "/experiments/{id}", core.ActExperiment, school.ScopeRead, 0, "Return an experiment and its progress"}, (*server).viewExperiment),
		is(Operation{"listOutcomes", get, "/experiments/{id}/outcomes", core.ActExperiment, school.ScopeRead, 0, "List what an experiment would change, submission by submission"}, (*server).listOutcomes),
		is(Operation{"applyExperiment", post, "/experiments/{id}/apply", core.ActExperiment, school.ScopeTeach, 0, "Apply an experiment: its results count"}, (*server).applyExperiment),
		is(Operation{"abortExperiment", post, "/experiments/{id}/abort", core.ActExperiment, school.ScopeTeach, 0, "Abort an experiment: its results do not count"}, (*server).abortExperiment),
	}
}

func (s *server) startExperiment(ctx context.Context, a core.Actor, in *struct {
	InAssignment
	User   []string `query:"user,explode" maxItems:"200" doc:"only these users'; the newest submission of every user by default"`
	Repeat int      `query:"repeat" minimum:"1" maximum:"100" default:"1" doc:"runs of each submission: more than one detects flaky tests"`
},
) (*tagged[school.Experiment], error) {
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
) (*answer[Page[school.Experiment]], error) {
	return all(s.Classes.Experiments(ctx, a, in.Class, in.Assignment, in.Limit))
}

// ExperimentStatus is an experiment with how far it is.
type ExperimentStatus struct {
	school.Experiment
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
	Next string `json:"next" doc:"cursor of the next page; empty on the last page"`
}

func (s *server) listOutcomes(ctx context.Context, a core.Actor, in *struct {
	One
	Cursor
	Differing bool `query:"differing" doc:"only submissions that differ, are flaky, or have no result"`
},
) (*struct {
	Link string `header:"Link" doc:"URL of the next page, rel=next"`
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
		Link string `header:"Link" doc:"URL of the next page, rel=next"`
		Body Outcomes
	}{page.Link, Outcomes{v, page.Body.Next}}, nil
}

func (s *server) applyExperiment(ctx context.Context, a core.Actor, in *One) (*answer[classes.Applied], error) {
	return answered(s.Classes.ApplyExperiment(ctx, a, in.ID))
}

func (s *server) abortExperiment(ctx context.Context, a core.Actor, in *One) (*answer[school.Experiment], error) {
	return answered(s.Classes.AbortExperiment(ctx, a, in.ID))
}
