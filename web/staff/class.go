package staff

import (
	"net/url"
	"strconv"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
	"drover/web/page"
)

func (s *staff) classRoutes() []page.Route {
	return []page.Route{
		{Pattern: "GET /classes/new", Action: core.ActClassManage, Serve: s.newClass},
		{Pattern: "POST /classes", Action: core.ActClassManage, Serve: s.createClass},
		{Pattern: "GET /classes/{class}/edit", Action: core.ActClassEdit, Serve: s.editClass},
		{Pattern: "POST /classes/{class}/edit", Action: core.ActClassEdit, Serve: s.saveClass},
		{Pattern: "POST /classes/{class}/delete", Action: core.ActClassManage, Serve: s.deleteClass},
	}
}

// classPage is the form of a class.
type classPage struct {
	Class classes.ClassEntry // the zero value for a new one
	Typed url.Values
}

func (s *staff) newClass(r *page.Request) error {
	if err := may(r, core.ActClassManage, ""); err != nil {
		return err
	}
	return r.Render("staff/class", classPage{Typed: url.Values{}})
}

func (s *staff) createClass(r *page.Request) error {
	f, err := typed(r)
	if err != nil {
		return err
	}
	c := school.Class{Handle: f.line("handle"), Title: f.line("title"), Term: f.line("term"), LateDays: f.small(r, "late_days", page.Sentence("Late days"))}
	if err = f.err; err == nil {
		c, err = s.Classes.CreateClass(r.Context(), r.Actor(), c)
	}
	if err != nil {
		return r.Again(err, "staff/class", classPage{Typed: f.Typed})
	}
	return r.Redirect(classPath(c.Handle)+"/roster", r.T("Class %s was created. Now enrol its members.", c.Handle))
}

func (s *staff) editClass(r *page.Request) error {
	c, err := s.classToEdit(r)
	if err != nil {
		return err
	}
	return r.Render("staff/class", classPage{Class: c, Typed: url.Values{
		"title": {c.Title}, "term": {c.Term}, "late_days": {wholeText(int64(c.LateDays))}, "revision": {strconv.FormatInt(c.Revision, 10)},
	}})
}

func (s *staff) classToEdit(r *page.Request) (classes.ClassEntry, error) {
	c, err := s.Classes.ViewClass(r.Context(), r.Actor(), r.PathValue("class"))
	if err != nil {
		return c, err
	}
	return c, may(r, core.ActClassEdit, c.Handle)
}

func (s *staff) saveClass(r *page.Request) error {
	old, err := s.classToEdit(r)
	if err != nil {
		return err
	}
	f, err := typed(r)
	if err != nil {
		return err
	}
	c := school.Class{Handle: old.Handle, Title: f.line("title"), Term: f.line("term"), Revision: f.whole(r, "revision", page.Sentence("Revision"))}
	c.LateDays = f.small(r, "late_days", page.Sentence("Late days"))
	if err = f.err; err == nil {
		_, err = s.Classes.EditClass(r.Context(), r.Actor(), c)
	}
	if err != nil {
		return r.Again(err, "staff/class", classPage{Class: old, Typed: f.Typed})
	}
	return r.Redirect(classPath(c.Handle), r.T("Class %s is saved.", c.Handle))
}

func (s *staff) deleteClass(r *page.Request) error {
	c, err := s.classToEdit(r)
	if err == nil {
		err = may(r, core.ActClassManage, "")
	}
	if err != nil {
		return err
	}
	f, err := typed(r)
	if err != nil {
		return err
	}
	var t core.Task
	if f.line("name") != c.Handle {
		f.wrong(r.T("Type %s to delete the class with all its contents.", c.Handle))
	}
	if err = f.err; err == nil {
		t, err = s.Classes.DeleteClass(r.Context(), r.Actor(), c.Handle)
	}
	if err != nil {
		return r.Again(err, "staff/class", classPage{Class: c, Typed: url.Values{
			"title": {c.Title}, "term": {c.Term}, "late_days": {wholeText(int64(c.LateDays))}, "revision": {strconv.FormatInt(c.Revision, 10)}, "name": {f.line("name")},
		}})
	}
	return r.Redirect(taskPath(t.ID), r.T("Class %s is being deleted.", c.Handle))
}
