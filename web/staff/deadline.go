package staff

import (
	"cmp"
	"net/url"
	"slices"

	"drover/core"
	"drover/core/school"
	"drover/web/page"
)

func (s *staff) deadlineRoutes() []page.Route {
	const of = "/classes/{class}/assignments/{assignment}/deadlines"
	return []page.Route{
		{Pattern: "GET " + of, Action: core.ActDeadlineEdit, Serve: s.deadlines},
		{Pattern: "POST " + of, Action: core.ActDeadlineEdit, Serve: s.setDeadline},
		{Pattern: "POST " + of + "/remove", Action: core.ActDeadlineEdit, Serve: s.removeDeadline},
	}
}

// deadlineRows is how many personal deadlines a page has.
const deadlineRows = 100

// deadlinesPage lists personal deadlines, with the form for one.
type deadlinesPage struct {
	school.Assignment
	All   []school.Deadline
	Next  string
	Typed url.Values
	Zone  string
}

func (s *staff) deadlinesPage(r *page.Request) (*deadlinesPage, error) {
	class := r.PathValue("class")
	as, err := s.Classes.EditableAssignment(r.Context(), r.Actor(), class, r.PathValue("assignment"))
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	p := &deadlinesPage{Assignment: as, Typed: url.Values{"user": {q.Get("user")}}, Zone: zone(r)}
	all, err := s.Classes.Deadlines(r.Context(), r.Actor(), class, as.Handle, "")
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(x, y school.Deadline) int { return cmp.Compare(x.User, y.User) })
	first, _ := slices.BinarySearchFunc(all, q.Get("after")+"\x00", func(d school.Deadline, after string) int { return cmp.Compare(d.User, after) })
	p.All = all[first:min(first+deadlineRows, len(all))]
	if first+deadlineRows < len(all) {
		p.Next = "?" + url.Values{"after": {p.All[deadlineRows-1].User}}.Encode()
	}
	for i := range all { // the form begins with the user's present ones
		if d := &all[i]; d.User == q.Get("user") {
			p.Typed.Set("due", momentText(d.Due))
			p.Typed.Set("cutoff", momentText(d.Cutoff))
			p.Typed.Set("reason", d.Reason)
		}
	}
	return p, nil
}

func (s *staff) deadlines(r *page.Request) error {
	p, err := s.deadlinesPage(r)
	if err != nil {
		return err
	}
	return r.Render("staff/deadlines", p)
}

func (s *staff) setDeadline(r *page.Request) error {
	return s.putDeadline(r, func(f *form, d *school.Deadline) string {
		d.Due = f.moment(r, "due", page.Sentence("Due"))
		d.Cutoff = f.moment(r, "cutoff", page.Sentence("Cutoff"))
		d.Reason = f.line("reason")
		if f.err == nil && d.Due == 0 && d.Cutoff == 0 {
			f.wrong(r.T("Say until when."))
		}
		return r.T("%s has deadlines of its own now.", r.PersonName(d.Class, d.User))
	})
}

func (s *staff) removeDeadline(r *page.Request) error {
	return s.putDeadline(r, func(_ *form, d *school.Deadline) string {
		return r.T("%s has the assignment's deadlines again.", r.PersonName(d.Class, d.User))
	})
}

// putDeadline sets the deadline that fill reads from the form.
func (s *staff) putDeadline(r *page.Request, fill func(f *form, d *school.Deadline) (said string)) error {
	p, err := s.deadlinesPage(r)
	if err != nil {
		return err
	}
	f, err := typed(r)
	if err != nil {
		return err
	}
	p.Typed = f.Typed
	d := school.Deadline{Class: p.Class, Assignment: p.Handle, User: f.line("user")}
	said := fill(f, &d)
	if err = f.err; err == nil {
		err = s.Classes.SetDeadline(r.Context(), r.Actor(), d)
	}
	if err != nil {
		return r.Again(mendable(err), "staff/deadlines", p)
	}
	return r.Redirect(assignmentPath(p.Class, p.Handle)+"/deadlines", said)
}
