package api

import (
	"context"

	"drover/core"
	"drover/core/classes"
	"drover/core/harness"
	"drover/core/school"
)

func gradingTable() []entry {
	return []entry{
		is(Operation{"setHarness", put, "/classes/{class}/assignments/{assignment}/harness", core.ActAssignmentEdit, school.ScopeTeach, 0, "Set the harness: its folder as a tar (.tar, .tgz, …) or zip"}, (*server).setHarness),
		is(Operation{"removeHarness", remove, "/classes/{class}/assignments/{assignment}/harness", core.ActAssignmentEdit, school.ScopeTeach, 0, "Remove the harness: submissions are kept and not graded"}, (*server).removeHarness),
		is(Operation{"viewProgress", get, "/classes/{class}/assignments/{assignment}/progress", core.ActGradeView, school.ScopeRead, 0, "Return the progress of the class, and the distribution of scores"}, (*server).viewProgress),
		is(Operation{"listMissing", get, "/classes/{class}/assignments/{assignment}/missing", core.ActGradeView, school.ScopeRead, 0, "List the students without a submission, by handle, each with the deadlines that apply"}, (*server).listMissing),
		is(Operation{"viewReport", get, "/classes/{class}/assignments/{assignment}/report", core.ActGradeView, school.ScopeRead, 0, "Report flaky and slow tests, from the newest results"}, (*server).viewReport),
		is(Operation{"changeGrade", put, "/submissions/{id}/grade", core.ActGradeChange, school.ScopeTeach, 0, "Change the grade of a submission, or undo a change"}, (*server).changeGrade),
		is(Operation{"changeUserGrade", put, "/classes/{class}/assignments/{assignment}/grades/{user}", core.ActGradeChange, school.ScopeTeach, 0, "Change the grade of a user's newest submission, or undo a change"}, (*server).changeUserGrade),
	}
}

func (s *server) setHarness(ctx context.Context, a core.Actor, in *InAssignment) (*tagged[school.Assignment], error) {
	as, err := s.Classes.SetHarness(ctx, a, in.Class, in.Assignment, s.body(ctx, harness.MaxPackBytes+1))
	return changedTo(as, err)
}

func (s *server) removeHarness(ctx context.Context, a core.Actor, in *InAssignment) (*tagged[school.Assignment], error) {
	as, err := s.Classes.RemoveHarness(ctx, a, in.Class, in.Assignment)
	return changedTo(as, err)
}

func changedTo(as school.Assignment, err error) (*tagged[school.Assignment], error) {
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
	Score    *float64 `json:"score,omitempty" doc:"omit to undo a change, so that the result counts again"`
	MaxScore *float64 `json:"max_score,omitempty" doc:"default: the result's"`
	Reason   string   `json:"reason" doc:"for the record"`
}

func (s *server) changeGrade(ctx context.Context, a core.Actor, in *struct {
	One
	Body NewGrade
},
) (*answer[school.Standing], error) {
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
) (*answer[school.Standing], error) {
	return s.grade(ctx, a, classes.GradeChange{Class: in.Class, Assignment: in.Assignment, User: in.User}, in.Body)
}

func (s *server) grade(ctx context.Context, a core.Actor, c classes.GradeChange, g NewGrade) (*answer[school.Standing], error) {
	c.Score, c.MaxScore, c.Reason = g.Score, g.MaxScore, g.Reason
	return answered(s.Classes.ChangeGrade(ctx, a, c))
}
