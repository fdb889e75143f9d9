package lti

import (
	"net/url"

	"drover/core"
	"drover/core/classes"
	"drover/core/classes/lti"
	"drover/core/school"
	"drover/web/page"
)

// classPage is what connects a class, or one of its assignments, with learning platforms.
type classPage struct {
	Class      classes.ClassEntry
	Assignment string
	Courses    []school.LTICourse
	Sendings   []lti.Sending
	Titles     map[string]string    // of assignments
	Compared   *lti.Compared        // what a course's list would change
	Import     bool                 // the reader may do that
	Last       *school.RosterImport // nil: there is none, or the reader may not undo it
	Grades     bool                 // the reader may have scores sent
}

func (s *pages) classRoutes() []page.Route {
	return []page.Route{
		{Pattern: "GET /classes/{class}/platform", Action: core.ActRosterView, Serve: s.class},
		{Pattern: "POST /classes/{class}/platform/members", Action: core.ActEnrolStudent, Serve: s.members},
		{Pattern: "POST /classes/{class}/platform/undo", Action: core.ActEnrolStudent, Serve: s.undo},
		{Pattern: "POST /classes/{class}/platform/scores", Action: core.ActGradeChange, Serve: s.resend},
		{Pattern: "GET /classes/{class}/assignments/{assignment}/platform", Action: core.ActRosterView, Serve: s.assignment},
	}
}

func (s *pages) classPage(r *page.Request, assignment string) (classPage, error) {
	d := classPage{Assignment: assignment}
	var err error
	class := r.PathValue("class")
	if d.Class, err = s.Classes.ViewClass(r.Context(), r.Actor(), class); err != nil {
		return d, err
	}
	d.Import = core.Allow(r.Actor(), core.ActEnrolStudent, core.Object{Class: class}) == nil
	d.Grades = core.Allow(r.Actor(), core.ActGradeChange, core.Object{Class: class}) == nil
	if d.Courses, err = s.LTI.Courses(r.Context(), r.Actor(), class); err != nil {
		return d, err
	}
	if d.Sendings, err = s.LTI.Sendings(r.Context(), r.Actor(), class, assignment); err != nil {
		return d, err
	}
	if d.Last, err = s.lastImport(r, &d); err != nil {
		return d, err
	}
	all, _, err := s.Classes.ListAssignments(r.Context(), r.Actor(), classes.AssignmentFilter{Class: class, All: true})
	d.Titles = make(map[string]string, len(all))
	for i := range all {
		d.Titles[all[i].Handle] = all[i].Title
	}
	return d, err
}

// lastImport returns the import that the reader may undo on the page of a class, nil for none.
func (s *pages) lastImport(r *page.Request, d *classPage) (*school.RosterImport, error) {
	if !d.Import || d.Assignment != "" || len(d.Courses) == 0 {
		return nil, nil //nolint:nilnil // there is none
	}
	last, err := s.Classes.LastImport(r.Context(), r.Actor(), d.Class.Handle)
	if core.Is(err, core.CodeNotFound) {
		return nil, nil //nolint:nilnil // the same
	}
	return &last, err
}

// undo undoes the last import, which may be one of a file.
func (s *pages) undo(r *page.Request) error {
	class := r.PathValue("class")
	done, err := s.Classes.UndoImport(r.Context(), r.Actor(), class)
	if core.Is(err, core.CodeConflict) {
		d, failed := s.classPage(r, "")
		if failed != nil {
			return failed
		}
		return r.Again(core.Errorf(core.CodeInvalid, class, "%s", r.T("The last import is undone already.")), "lti/class", d)
	}
	if err != nil {
		return err
	}
	return r.Redirect(home(class), r.T("The import is undone: %d dropped, %d changed back, %d users deleted.", done.Dropped, done.Changed, done.Deleted))
}

func (s *pages) class(r *page.Request) error {
	d, err := s.classPage(r, "")
	if err != nil {
		return err
	}
	return r.Render("lti/class", d)
}

func (s *pages) assignment(r *page.Request) error {
	if _, err := s.Classes.ViewAssignment(r.Context(), r.Actor(), r.PathValue("class"), r.PathValue("assignment")); err != nil {
		return err
	}
	d, err := s.classPage(r, r.PathValue("assignment"))
	if err != nil {
		return err
	}
	return r.Render("lti/assignment", d)
}

// members shows what a course's list would change, and imports it once that was seen.
func (s *pages) members(r *page.Request) error {
	class, course, seen := r.PathValue("class"), r.PostFormValue("course"), r.PostFormValue("seen")
	var done lti.Compared
	var err error
	if seen == "" {
		done, err = s.LTI.Compare(r.Context(), r.Actor(), class, course)
	} else {
		done, err = s.LTI.Take(r.Context(), r.Actor(), class, course, seen)
	}
	if err == nil && seen != "" && done.Imported.Failed == 0 {
		return r.Redirect(home(class), r.N(done.Imported.Enrolled+done.Imported.Changed, "%d person was enrolled or changed.", "%d people were enrolled or changed."))
	}
	if core.Is(err, core.CodeUnavailable) { // the platform's fault, which the page shows
		err = core.Wrap(err, core.CodeInvalid, class, "%s", r.T("The course's list cannot be read"))
	}
	d, failed := s.classPage(r, "")
	if failed != nil {
		return failed
	}
	if err != nil {
		return r.Again(err, "lti/class", d)
	}
	d.Compared = &done
	return r.Render("lti/class", d)
}

// resend sends scores of one link at once.
func (s *pages) resend(r *page.Request) error {
	class, assignment := r.PathValue("class"), r.PostFormValue("assignment")
	back, at := home(class), "lti/class"
	if assignment != "" {
		back, at = "/classes/"+url.PathEscape(class)+"/assignments/"+url.PathEscape(assignment)+"/platform", "lti/assignment"
	}
	n, err := s.LTI.Resend(r.Context(), r.Actor(), class, r.PostFormValue("link"))
	if err == nil {
		return r.Redirect(back, r.N(n, "%d score was sent.", "%d scores were sent."))
	}
	if core.Is(err, core.CodeUnavailable) {
		err = core.Wrap(err, core.CodeInvalid, class, "%s", r.T("The scores cannot be sent"))
	}
	d, failed := s.classPage(r, assignment)
	if failed != nil {
		return failed
	}
	return r.Again(err, at, d)
}

func home(class string) string { return "/classes/" + url.PathEscape(class) + "/platform" }
