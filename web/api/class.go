package api

import (
	"context"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
)

func classTable() []entry {
	return []entry{
		is(Operation{"listClasses", get, "/classes", "", school.ScopeRead, 0, "List the classes that the caller may see, by handle"}, (*server).listClasses),
		is(Operation{"createClass", post, "/classes", core.ActClassManage, school.ScopeAdmin, 201, "Create a class"}, (*server).createClass),
		is(Operation{"viewClass", get, "/classes/{class}", core.ActClassView, school.ScopeRead, 0, "Return a class"}, (*server).viewClass),
		is(Operation{"changeClass", patch, "/classes/{class}", core.ActClassEdit, school.ScopeTeach, 0, "Change a class"}, (*server).changeClass),
		is(Operation{"deleteClass", remove, "/classes/{class}", core.ActClassManage, school.ScopeAdmin, 202, "Delete a class with all its contents, by a task"}, (*server).deleteClass),
		is(Operation{"findClass", get, "/find/class", core.ActClassView, school.ScopeRead, 0, "Find a class by a unique part of its handle or title, or by mine"}, (*server).findClass),
	}
}

// ClassFields are what can be changed of a class.
type ClassFields struct {
	Title    string `json:"title"`
	Term     string `json:"term,omitempty"`
	LateDays int    `json:"late_days,omitempty" doc:"of each student, which cover penalties for lateness"`
}

// NewClass is a class to make.
type NewClass struct {
	Handle string `json:"handle" doc:"permanent name, such as cs101-2026"`
	ClassFields
}

// InClass names a class.
type InClass struct {
	Class string `path:"class" doc:"handle of the class"`
}

func (s *server) listClasses(ctx context.Context, a core.Actor, in *Cursor) (*listed[classes.ClassEntry], error) {
	found, err := s.Classes.ListClasses(ctx, a, in.Cursor, in.more())
	if err != nil {
		return nil, err
	}
	return paged(ctx, *in, found, func(c *classes.ClassEntry) string { return c.Handle }), nil
}

func (s *server) createClass(ctx context.Context, a core.Actor, in *struct{ Body NewClass }) (*tagged[school.Class], error) {
	c, err := s.Classes.CreateClass(ctx, a, school.Class{Handle: in.Body.Handle, Title: in.Body.Title, Term: in.Body.Term, LateDays: in.Body.LateDays})
	if err != nil {
		return nil, err
	}
	return made(c.Revision, c, "classes", c.Handle), nil
}

func (s *server) viewClass(ctx context.Context, a core.Actor, in *struct {
	InClass
	Reading
},
) (*tagged[classes.ClassEntry], error) {
	c, err := s.Classes.ViewClass(ctx, a, in.Class)
	if err != nil {
		return nil, err
	}
	return read(in.Reading, c.Revision, c), nil
}

func (s *server) changeClass(ctx context.Context, a core.Actor, in *struct {
	InClass
	Changing
	Body Change[ClassFields]
},
) (*tagged[school.Class], error) {
	return apply(ctx, in.Changing, versioned[school.Class]{
		view: func(ctx context.Context) (school.Class, error) {
			c, err := s.Classes.ViewClass(ctx, a, in.Class)
			return c.Class, err
		},
		of: func(c *school.Class) int64 { return c.Revision },
		change: func(ctx context.Context, c school.Class) (school.Class, error) {
			fields := ClassFields{c.Title, c.Term, c.LateDays}
			if err := in.Body.onto(&fields); err != nil {
				return c, err
			}
			c.Title, c.Term, c.LateDays = fields.Title, fields.Term, fields.LateDays
			return s.Classes.EditClass(ctx, a, c)
		},
	})
}

func (s *server) deleteClass(ctx context.Context, a core.Actor, in *InClass) (*started, error) {
	return begun(s.Classes.DeleteClass(ctx, a, in.Class))
}

// query is what somebody looks for.
type query struct {
	Query string `query:"query" required:"true" maxLength:"200" doc:"handle, title, or a part of either; mine means the caller's classes"`
}

func (s *server) findClass(ctx context.Context, a core.Actor, in *query) (*answer[school.Class], error) {
	return answered(s.Classes.FindClass(ctx, a, in.Query))
}

// started is the answer with a task that does the work.
type started struct {
	Location string `header:"Location" doc:"id of the task"`
	Body     core.Task
}

func begun(t core.Task, err error) (*started, error) {
	if err != nil {
		return nil, err
	}
	return &started{Location: at("tasks", t.ID), Body: t}, nil
}
