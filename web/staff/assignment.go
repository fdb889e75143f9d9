package staff

import (
	"net/url"

	"drover/core"
	"drover/core/school"
	"drover/web/page"
)

func (s *staff) assignmentRoutes() []page.Route {
	const edit = core.ActAssignmentEdit
	return []page.Route{
		{Pattern: "GET /classes/{class}/assignments/new", Action: edit, Serve: s.newAssignment},
		{Pattern: "POST /classes/{class}/assignments/new", Action: edit, Serve: s.createAssignment},
		{Pattern: "GET /classes/{class}/assignments/{assignment}/edit", Action: edit, Serve: s.editAssignment},
		{Pattern: "POST /classes/{class}/assignments/{assignment}/edit", Action: edit, Serve: s.saveAssignment},
		{Pattern: "POST /classes/{class}/assignments/{assignment}/delete", Action: edit, Serve: s.deleteAssignment},
	}
}

// assignmentPage is the form of an assignment.
type assignmentPage struct {
	school.Assignment // as it is stored; without a handle it is a new one
	Pools             []string
	Typed             url.Values
	Preview           bool // of the text that was typed
	Zone              string
}

func (s *staff) assignmentPage(r *page.Request) (*assignmentPage, error) {
	as := school.Assignment{Class: r.PathValue("class"), Priority: core.PriorityNormal}
	var err error
	if handle := r.PathValue("assignment"); handle != "" {
		if as, err = s.Classes.EditableAssignment(r.Context(), r.Actor(), as.Class, handle); err != nil {
			return nil, err
		}
	}
	p := &assignmentPage{Assignment: as, Typed: assignmentTyped(as), Zone: zone(r)}
	pools, err := s.Classes.PoolChoices(r.Context(), r.Actor(), as.Class)
	for _, one := range pools {
		p.Pools = append(p.Pools, one.Name)
	}
	return p, err
}

func (s *staff) newAssignment(r *page.Request) error {
	p, err := s.assignmentPage(r)
	if err != nil {
		return err
	}
	if len(p.Pools) > 0 {
		p.Typed.Set("pool", p.Pools[0])
	}
	return r.Render("staff/assignment", p)
}

func (s *staff) editAssignment(r *page.Request) error {
	p, err := s.assignmentPage(r)
	if err != nil {
		return err
	}
	return r.Render("staff/assignment", p)
}

// sent returns the form as it was sent, and the assignment in it.
func (s *staff) sent(r *page.Request) (*assignmentPage, *form, school.Assignment, error) {
	p, err := s.assignmentPage(r)
	if err != nil {
		return p, nil, school.Assignment{}, err
	}
	f, err := typed(r)
	if err != nil {
		return p, nil, school.Assignment{}, err
	}
	p.Typed = f.Typed
	return p, f, readAssignment(r, f, p.Assignment), nil
}

func (s *staff) createAssignment(r *page.Request) error {
	p, f, as, err := s.sent(r)
	if err != nil {
		return err
	}
	as.Handle = f.line("handle")
	if f.line("do") == "preview" {
		p.Preview = true
		return r.Render("staff/assignment", p)
	}
	if err = f.err; err == nil {
		as, err = s.Classes.CreateAssignment(r.Context(), r.Actor(), as)
	}
	if err != nil {
		return r.Again(mendable(err), "staff/assignment", p)
	}
	return r.Redirect(assignmentPath(as.Class, as.Handle)+"/harness", r.T("Assignment %s was created. It is not graded until it has a harness.", as.Handle))
}

func (s *staff) saveAssignment(r *page.Request) error {
	p, f, as, err := s.sent(r)
	if err != nil {
		return err
	}
	if f.line("do") == "preview" {
		p.Preview = true
		return r.Render("staff/assignment", p)
	}
	as.Revision = f.whole(r, "revision", page.Sentence("Revision"))
	if err = f.err; err == nil {
		_, err = s.Classes.EditAssignment(r.Context(), r.Actor(), as)
	}
	if err != nil {
		return r.Again(mendable(err), "staff/assignment", p)
	}
	return r.Redirect(assignmentPath(as.Class, as.Handle)+"/edit", r.T("Assignment %s is saved.", as.Handle))
}

// mendable converts errors about typed values: an unknown pool is a wrong field, not a missing page.
func mendable(err error) error {
	if core.Is(err, core.CodeNotFound) {
		return core.Errorf(core.CodeInvalid, "", "%s", err)
	}
	return err
}

func (s *staff) deleteAssignment(r *page.Request) error {
	p, err := s.assignmentPage(r)
	if err != nil {
		return err
	}
	f, err := typed(r)
	if err != nil {
		return err
	}
	var t core.Task
	if f.line("name") != p.Handle {
		f.wrong(r.T("Type %s to delete the assignment with all its contents.", p.Handle))
	}
	if err = f.err; err == nil {
		t, err = s.Classes.DeleteAssignment(r.Context(), r.Actor(), p.Class, p.Handle)
	}
	if err != nil {
		p.Typed.Set("name", f.line("name"))
		return r.Again(err, "staff/assignment", p)
	}
	return r.Redirect(taskPath(t.ID), r.T("Assignment %s is being deleted.", p.Handle))
}
