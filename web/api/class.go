package api

import (
	"context"

	"drover/core"
	"drover/core/classes"
)

func classTable() []entry {
	return []entry{
		is(Operation{"listClasses", get, "/classes", "", core.ScopeRead, 0, "List the classes that one may see, in order of handle"}, (*server).listClasses),
		is(Operation{"createClass", post, "/classes", core.ActClassManage, core.ScopeAdmin, 201, "Make a class"}, (*server).createClass),
		is(Operation{"viewClass", get, "/classes/{class}", core.ActClassView, core.ScopeRead, 0, "Look at a class"}, (*server).viewClass),
		is(Operation{"changeClass", patch, "/classes/{class}", core.ActClassEdit, core.ScopeTeach, 0, "Change a class"}, (*server).changeClass),
		is(Operation{"deleteClass", remove, "/classes/{class}", core.ActClassManage, core.ScopeAdmin, 202, "Delete a class with all that hangs on it, by a task"}, (*server).deleteClass),
		is(Operation{"findClass", get, "/find/class", core.ActClassView, core.ScopeRead, 0, "Find the one class that part of a handle or title means, or mine"}, (*server).findClass),
	}
}

// ClassFields are what can be changed of a class.
type ClassFields struct {
	Title string `json:"title"`
	Term  string `json:"term,omitempty"`
}

// NewClass is a class to make.
type NewClass struct {
	Handle string `json:"handle" doc:"its name for ever, such as cs101-2026"`
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

func (s *server) createClass(ctx context.Context, a core.Actor, in *struct{ Body NewClass }) (*tagged[core.Class], error) {
	c, err := s.Classes.CreateClass(ctx, a, core.Class{Handle: in.Body.Handle, Title: in.Body.Title, Term: in.Body.Term})
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
) (*tagged[core.Class], error) {
	return apply(ctx, in.Changing, versioned[core.Class]{
		view: func(ctx context.Context) (core.Class, error) {
			c, err := s.Classes.ViewClass(ctx, a, in.Class)
			return c.Class, err
		},
		of: func(c *core.Class) int64 { return c.Revision },
		change: func(ctx context.Context, c core.Class) (core.Class, error) {
			fields := ClassFields{c.Title, c.Term}
			if err := in.Body.onto(&fields); err != nil {
				return c, err
			}
			c.Title, c.Term = fields.Title, fields.Term
			return s.Classes.EditClass(ctx, a, c)
		},
	})
}

func (s *server) deleteClass(ctx context.Context, a core.Actor, in *InClass) (*started, error) {
	return begun(s.Classes.DeleteClass(ctx, a, in.Class))
}

// query is what somebody looks for.
type query struct {
	Query string `query:"query" required:"true" maxLength:"200" doc:"handle, title, or a part of either; mine stands for one's own classes"`
}

func (s *server) findClass(ctx context.Context, a core.Actor, in *query) (*answer[core.Class], error) {
	return answered(s.Classes.FindClass(ctx, a, in.Query))
}

// started is the answer with a task that does the work.
type started struct {
	Location string `header:"Location" doc:"of the task"`
	Body     core.Task
}

func begun(t core.Task, err error) (*started, error) {
	if err != nil {
		return nil, err
	}
	return &started{Location: at("tasks", t.ID), Body: t}, nil
}
