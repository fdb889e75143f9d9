package staff

import (
	"net/url"

	"drover/core"
	"drover/core/classes"
	"drover/web/page"
)

func (s *staff) exportRoutes() []page.Route {
	const of = "/classes/{class}/assignments/{assignment}/submissions"
	return []page.Route{
		{Pattern: "POST " + of + "/archive", Action: core.ActExport, Serve: s.archive},
		{Pattern: "POST " + of + "/csv", Action: core.ActExport, Serve: s.assignmentCSV},
		{Pattern: "GET /classes/{class}/gradebook", Action: core.ActExport, Serve: s.gradebook},
		{Pattern: "POST /classes/{class}/gradebook", Action: core.ActExport, Serve: s.makeGradebook},
	}
}

// archive starts the zip of what was submitted: of all, or of one.
func (s *staff) archive(r *page.Request) error {
	return s.export(r, func(class, assignment string, f *form) (core.Task, error) {
		return s.Classes.StartArchive(r.Context(), r.Actor(), core.ArchiveArgs{
			Class: class, Assignment: assignment, User: f.line("user"), Latest: f.checked("latest"),
		})
	})
}

func (s *staff) assignmentCSV(r *page.Request) error {
	return s.export(r, func(class, assignment string, f *form) (core.Task, error) {
		return s.Classes.StartAssignmentCSV(r.Context(), r.Actor(), core.AssignmentCSVArgs{
			Class: class, Assignment: assignment, Header: f.checked("header"),
		})
	})
}

// export starts a task of the page of submissions, which shows what is wrong.
func (s *staff) export(r *page.Request, start func(class, assignment string, f *form) (core.Task, error)) error {
	p, err := s.submissionsPage(r)
	if err != nil {
		return err
	}
	f, err := typed(r)
	if err != nil {
		return err
	}
	p.Typed = f.Typed
	t, err := start(p.Class, p.Handle, f)
	if err != nil {
		return r.Again(mendable(err), "staff/submissions", p)
	}
	return r.Redirect(taskPath(t.ID), "")
}

// exportRows is how many tasks a gradebook's page has.
const exportRows = 20

// gradebookPage is the form of a class's gradebook, with what was made before.
type gradebookPage struct {
	Class classes.ClassEntry
	Tasks []core.Task // the reader's own about the class
	Typed url.Values
}

func (s *staff) gradebookPage(r *page.Request) (gradebookPage, error) {
	p := gradebookPage{Typed: url.Values{"fill": {"0"}}}
	var err error
	if p.Class, err = s.Classes.ViewClass(r.Context(), r.Actor(), r.PathValue("class")); err != nil {
		return p, err
	}
	if err := may(r, core.ActExport, p.Class.Handle); err != nil {
		return p, err
	}
	all, err := s.Classes.ListTasks(r.Context(), r.Actor(), core.TaskFilter{Class: p.Class.Handle, Requester: r.Actor().Handle, Limit: exportRows})
	for _, t := range all {
		switch t.Kind {
		case core.KindArchive, core.KindAssignmentCSV, core.KindGradebook:
			p.Tasks = append(p.Tasks, t)
		}
	}
	return p, err
}

func (s *staff) gradebook(r *page.Request) error {
	p, err := s.gradebookPage(r)
	if err != nil {
		return err
	}
	return r.Render("staff/gradebook", p)
}

func (s *staff) makeGradebook(r *page.Request) error {
	p, err := s.gradebookPage(r)
	if err != nil {
		return err
	}
	f, err := typed(r)
	if err != nil {
		return err
	}
	p.Typed = f.Typed
	t, err := s.Classes.StartGradebook(r.Context(), r.Actor(), core.GradebookArgs{Class: p.Class.Handle, Fill: f.line("fill")})
	if err != nil {
		return r.Again(err, "staff/gradebook", p)
	}
	return r.Redirect(taskPath(t.ID), "")
}
