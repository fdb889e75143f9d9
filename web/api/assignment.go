package api

import (
	"context"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
)

func assignmentTable() []entry {
	return []entry{
		is(Operation{"listMyAssignments", get, "/assignments", "", school.ScopeRead, 0, "List the assignments of all the caller's classes, what is due next first"}, (*server).listMyAssignments),
		is(Operation{"listAssignments", get, "/classes/{class}/assignments", core.ActAssignmentView, school.ScopeRead, 0, "List the assignments of a class, what is due next first"}, (*server).listAssignments),
		is(Operation{"createAssignment", post, "/classes/{class}/assignments", core.ActAssignmentEdit, school.ScopeTeach, 201, "Create an assignment, without a harness"}, (*server).createAssignment),
		is(Operation{"viewAssignment", get, "/classes/{class}/assignments/{assignment}", core.ActAssignmentView, school.ScopeRead, 0, "Return an assignment, with the caller's deadlines"}, (*server).viewAssignment),
		is(Operation{"changeAssignment", patch, "/classes/{class}/assignments/{assignment}", core.ActAssignmentEdit, school.ScopeTeach, 0, "Change an assignment"}, (*server).changeAssignment),
		is(Operation{"deleteAssignment", remove, "/classes/{class}/assignments/{assignment}", core.ActAssignmentEdit, school.ScopeTeach, 202, "Delete an assignment with all its contents, by a task"}, (*server).deleteAssignment),
		is(Operation{"listPoolChoices", get, "/classes/{class}/pools", core.ActAssignmentEdit, school.ScopeRead, 0, "List the pools for grading assignments of a class, with their limits"}, (*server).listPoolChoices),
		is(Operation{"findAssignment", get, "/find/assignment", core.ActAssignmentView, school.ScopeRead, 0, "Find an assignment by class/assignment, each a unique part of a handle or title"}, (*server).findAssignment),
	}
}

// AssignmentFields are what can be changed of an assignment.
type AssignmentFields struct {
	Title      string        `json:"title"`
	Text       string        `json:"text,omitempty" doc:"Markdown"`
	Due        int64         `json:"due_ms,omitempty" doc:"ms since 1970; 0: never"`
	Cutoff     int64         `json:"cutoff_ms,omitempty" doc:"not before due_ms; later submissions are refused; 0: never"`
	HideUntil  int64         `json:"hide_until_ms,omitempty" doc:"hidden from students until then"`
	AllowFinal bool          `json:"allow_final,omitempty" doc:"accepts final submissions too"`
	Counts     school.Policy `json:"counts,omitempty" enum:"newest,best,final" doc:"which submission of a user counts; newest by default; a final one is kept once it is made"`
	Grace      int           `json:"grace_minutes,omitempty" doc:"minutes after due_ms that are not late"`
	Penalty    float64       `json:"penalty_percent,omitempty" doc:"percent of the score that each started day after due_ms costs"`
	Floor      float64       `json:"floor_percent,omitempty" doc:"percent of the score that penalties leave at least"`
	Required   []string      `json:"required,omitempty" doc:"paths of files that every submission must have"`
	Pool       string        `json:"pool,omitempty" doc:"pool in which submissions are graded"`
	Priority   core.Priority `json:"priority,omitempty" enum:"high,normal,low" doc:"priority of the requests; normal by default"`
	Limits     core.Limits   `json:"limits,omitempty" doc:"limits of the requests; the pool's by default"`
	ShowOutput bool          `json:"show_output,omitempty" doc:"students see what the harness prints"`
	MaxFiles   int           `json:"max_files,omitempty" doc:"maximum files of a submission; 0: the general maximum"`
	MaxBytes   int64         `json:"max_bytes,omitempty" doc:"maximum bytes of a submission; 0: what the pool's disk holds"`
}

// NewAssignment is an assignment to make.
type NewAssignment struct {
	Handle string `json:"handle" doc:"permanent name within the class, such as hw1"`
	AssignmentFields
}

// InAssignment names an assignment.
type InAssignment struct {
	InClass
	Assignment string `path:"assignment" doc:"handle of the assignment"`
}

func fieldsOf(as school.Assignment) AssignmentFields {
	return AssignmentFields{
		Title: as.Title, Text: as.Text, Due: as.Due, Cutoff: as.Cutoff, HideUntil: as.HideUntil, AllowFinal: as.AllowFinal,
		Pool: as.Pool, Priority: as.Priority, Limits: as.Limits, ShowOutput: as.ShowOutput, MaxFiles: as.MaxFiles, MaxBytes: as.MaxBytes,
		Counts: as.Policy(), Grace: as.Grace, Penalty: as.Penalty, Floor: as.Floor, Required: as.Required,
	}
}

func (f AssignmentFields) onto(as *school.Assignment) {
	as.Title, as.Text, as.Due, as.Cutoff, as.HideUntil, as.AllowFinal = f.Title, f.Text, f.Due, f.Cutoff, f.HideUntil, f.AllowFinal
	as.Pool, as.Priority, as.Limits, as.ShowOutput, as.MaxFiles, as.MaxBytes = f.Pool, f.Priority, f.Limits, f.ShowOutput, f.MaxFiles, f.MaxBytes
	as.Rules = school.Rules{Counts: f.Counts, Grace: f.Grace, Penalty: f.Penalty, Floor: f.Floor, Required: f.Required}
}

// AssignmentPage is a list of assignments, which are few enough for one page.
type AssignmentPage struct {
	Page[classes.AssignmentEntry]
	Left int `json:"left" doc:"number of assignments not listed because they ended more than a week ago: request all"`
}

// Ended says whether old ones are listed too.
type Ended struct {
	All bool `query:"all" doc:"include those that ended more than a week ago"`
}

func (s *server) assignments(ctx context.Context, a core.Actor, f classes.AssignmentFilter) (*answer[AssignmentPage], error) {
	found, left, err := s.Classes.ListAssignments(ctx, a, f)
	if err != nil {
		return nil, err
	}
	return &answer[AssignmentPage]{AssignmentPage{Page[classes.AssignmentEntry]{Items: found}, left}}, nil
}

func (s *server) listMyAssignments(ctx context.Context, a core.Actor, in *Ended) (*answer[AssignmentPage], error) {
	return s.assignments(ctx, a, classes.AssignmentFilter{All: in.All})
}

func (s *server) listAssignments(ctx context.Context, a core.Actor, in *struct {
	InClass
	Ended
},
) (*answer[AssignmentPage], error) {
	return s.assignments(ctx, a, classes.AssignmentFilter{Class: in.Class, All: in.All})
}

func (s *server) createAssignment(ctx context.Context, a core.Actor, in *struct {
	InClass
	Body NewAssignment
},
) (*tagged[school.Assignment], error) {
	as := school.Assignment{Class: in.Class, Handle: in.Body.Handle}
	in.Body.onto(&as)
	as, err := s.Classes.CreateAssignment(ctx, a, as)
	if err != nil {
		return nil, err
	}
	return made(as.Revision, as, "classes", as.Class, "assignments", as.Handle), nil
}

func (s *server) viewAssignment(ctx context.Context, a core.Actor, in *struct {
	InAssignment
	Reading
},
) (*tagged[classes.AssignmentEntry], error) {
	e, err := s.Classes.ViewAssignment(ctx, a, in.Class, in.Assignment)
	if err != nil {
		return nil, err
	}
	return read(in.Reading, e.Revision, e), nil
}

func (s *server) changeAssignment(ctx context.Context, a core.Actor, in *struct {
	InAssignment
	Changing
	Body Change[AssignmentFields]
},
) (*tagged[school.Assignment], error) {
	return apply(ctx, in.Changing, versioned[school.Assignment]{
		view: func(ctx context.Context) (school.Assignment, error) {
			return s.Classes.EditableAssignment(ctx, a, in.Class, in.Assignment)
		},
		of: func(as *school.Assignment) int64 { return as.Revision },
		change: func(ctx context.Context, as school.Assignment) (school.Assignment, error) {
			fields := fieldsOf(as)
			if err := in.Body.onto(&fields); err != nil {
				return as, err
			}
			fields.onto(&as)
			return s.Classes.EditAssignment(ctx, a, as)
		},
	})
}

func (s *server) deleteAssignment(ctx context.Context, a core.Actor, in *InAssignment) (*started, error) {
	return begun(s.Classes.DeleteAssignment(ctx, a, in.Class, in.Assignment))
}

func (s *server) listPoolChoices(ctx context.Context, a core.Actor, in *InClass) (*answer[Page[classes.PoolChoice]], error) {
	return all(s.Classes.PoolChoices(ctx, a, in.Class))
}

func (s *server) findAssignment(ctx context.Context, a core.Actor, in *query) (*answer[school.Assignment], error) {
	return answered(s.Classes.FindAssignment(ctx, a, in.Query))
}
