package api

import (
	"context"

	"drover/core"
	"drover/core/classes"
	"drover/core/harness"
)

func gradingTable() []entry {
	return []entry{
		is(Operation{"setHarness", put, "/classes/{class}/assignments/{assignment}/harness", core.ActAssignmentEdit, core.ScopeTeach, 0, "Set the harness: its folder as a tar (.tar, .tgz, …) or zip"}, (*server).setHarness),
		is(Operation{"removeHarness", remove, "/classes/{class}/assignments/{assignment}/harness", core.ActAssignmentEdit, core.ScopeTeach, 0, "Remove the harness: what is submitted is kept and not graded"}, (*server).removeHarness),
		is(Operation{"viewProgress", get, "/classes/{class}/assignments/{assignment}/progress", core.ActGradeView, core.ScopeRead, 0, "How far the class is, and how its scores are spread"}, (*server).viewProgress),
		is(Operation{"listMissing", get, "/classes/{class}/assignments/{assignment}/missing", core.ActGradeView, core.ScopeRead, 0, "List the students who have submitted nothing, in order of handle, each with the dates that count for that one"}, (*server).listMissing),
		is(Operation{"viewReport", get, "/classes/{class}/assignments/{assignment}/report", core.ActGradeView, core.ScopeRead, 0, "Which tests are flaky, and which are slow, by the newest results"}, (*server).viewReport),
		is(Operation{"changeGrade", put, "/submissions/{id}/grade", core.ActGradeChange, core.ScopeTeach, 0, "Give a submission a person's grade, or take it back"}, (*server).changeGrade),
		is(Operation{"changeUserGrade", put, "/classes/{class}/assignments/{assignment}/grades/{user}", core.ActGradeChange, core.ScopeTeach, 0, "Give a user's newest submission a person's grade, or take it back"}, (*server).changeUserGrade),
		is(Operation{"startArchive", post, "/classes/{class}/assignments/{assignment}/archive", core.ActExport, core.ScopeTeach, 202, "Have an archive of submissions made, by a task; one's own needs no more than to see them"}, (*server).startArchive),
		is(Operation{"startAssignmentCSV", post, "/classes/{class}/assignments/{assignment}/csv", core.ActExport, core.ScopeTeach, 202, "Have a CSV file of the scores made, by a task"}, (*server).startCSV),
		is(Operation{"startGradebook", post, "/classes/{class}/gradebook", core.ActExport, core.ScopeTeach, 202, "Have a CSV file of all scores of a class made, by a task"}, (*server).startGradebook),
	}
}

func (s *server) setHarness(ctx context.Context, a core.Actor, in *InAssignment) (*tagged[core.Assignment], error) {
	as, err := s.Classes.SetHarness(ctx, a, in.Class, in.Assignment, s.body(ctx, harness.MaxPackBytes+1))
	return changedTo(as, err)
}

func (s *server) removeHarness(ctx context.Context, a core.Actor, in *InAssignment) (*tagged[core.Assignment], error) {
	as, err := s.Classes.RemoveHarness(ctx, a, in.Class, in.Assignment)
	return changedTo(as, err)
}

func changedTo(as core.Assignment, err error) (*tagged[core.Assignment], error) {
	if err != nil {
		return nil, err
	}
	return read(Reading{}, as.Revision, as), nil
}

func (s *server) viewProgress(ctx context.Context, a core.Actor, in *InAssignment) (*answer[classes.Progress], error) {
	return answered(s.Classes.Progress(ctx, a, in.Class, in.Assignment))
}

func (s *server) listMissing(ctx context.Context, a core.Actor, in *struct {
	InAssignment
	Cursor
},
) (*listed[classes.Absence], error) {
	found, err := s.Classes.Missing(ctx, a, in.Class, in.Assignment, in.Cursor.Cursor, in.more())
	if err != nil {
		return nil, err
	}
	return paged(ctx, in.Cursor, found, func(one *classes.Absence) string { return one.User }), nil
}

func (s *server) viewReport(ctx context.Context, a core.Actor, in *InAssignment) (*answer[classes.Report], error) {
	return answered(s.Classes.Report(ctx, a, in.Class, in.Assignment))
}

// NewGrade is a person's grade.
type NewGrade struct {
	Score    *float64 `json:"score,omitempty" doc:"left out: the person's grade is taken back, the result counts again"`
	MaxScore *float64 `json:"max_score,omitempty" doc:"left out: the result's"`
	Reason   string   `json:"reason" doc:"for the record"`
}

func (s *server) changeGrade(ctx context.Context, a core.Actor, in *struct {
	One
	Body NewGrade
},
) (*answer[core.Standing], error) {
	v, err := s.Classes.ViewSubmission(ctx, a, in.ID)
	if err != nil {
		return nil, err
	}
	return s.grade(ctx, a, classes.GradeChange{Class: v.Submission.Class, Assignment: v.Submission.Assignment, Submission: in.ID}, in.Body)
}

func (s *server) changeUserGrade(ctx context.Context, a core.Actor, in *struct {
	InAssignment
	OneUser
	Body NewGrade
},
) (*answer[core.Standing], error) {
	return s.grade(ctx, a, classes.GradeChange{Class: in.Class, Assignment: in.Assignment, User: in.User}, in.Body)
}

func (s *server) grade(ctx context.Context, a core.Actor, c classes.GradeChange, g NewGrade) (*answer[core.Standing], error) {
	c.Score, c.MaxScore, c.Reason = g.Score, g.MaxScore, g.Reason
	return answered(s.Classes.ChangeGrade(ctx, a, c))
}

func (s *server) startArchive(ctx context.Context, a core.Actor, in *struct {
	InAssignment
	User   string `query:"user" maxLength:"64" doc:"only this one's; every student's if left out"`
	Latest bool   `query:"latest" doc:"only the newest of each"`
},
) (*started, error) {
	return begun(s.Classes.StartArchive(ctx, a, core.ArchiveArgs{Class: in.Class, Assignment: in.Assignment, User: in.User, Latest: in.Latest}))
}

func (s *server) startCSV(ctx context.Context, a core.Actor, in *struct {
	InAssignment
	Header bool `query:"header" doc:"with a line of column names"`
},
) (*started, error) {
	return begun(s.Classes.StartAssignmentCSV(ctx, a, core.AssignmentCSVArgs{Class: in.Class, Assignment: in.Assignment, Header: in.Header}))
}

func (s *server) startGradebook(ctx context.Context, a core.Actor, in *struct {
	InClass
	Fill string `query:"fill" maxLength:"40" doc:"what stands where there is no score"`
},
) (*started, error) {
	return begun(s.Classes.StartGradebook(ctx, a, core.GradebookArgs{Class: in.Class, Fill: in.Fill}))
}
