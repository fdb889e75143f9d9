package staff

import (
	"net/url"
	"slices"
	"strings"

	"drover/core"
	"drover/core/classes"
	"drover/web/page"
)

func (s *staff) rosterRoutes() []page.Route {
	return []page.Route{
		{Pattern: "GET /classes/{class}/roster", Action: core.ActRosterView, Serve: s.roster},
		{Pattern: "POST /classes/{class}/roster", Action: core.ActEnrolStudent, Serve: s.enrol},
		{Pattern: "POST /classes/{class}/roster/change", Action: core.ActEnrolStudent, Serve: s.changeRoster},
		{Pattern: "GET /classes/{class}/roster/import", Action: core.ActEnrolStudent, Serve: s.importForm},
		{Pattern: "POST /classes/{class}/roster/import", Action: core.ActEnrolStudent, Body: maxImportBody, Serve: s.importRoster},
		{Pattern: "POST /classes/{class}/roster/import/undo", Action: core.ActEnrolStudent, Serve: s.undoImport},
	}
}

// rosterRows is how many people a page of a roster has.
const rosterRows = 100

// rosterPage lists the members of a class.
type rosterPage struct {
	Class   classes.ClassEntry
	Members []classes.Member
	Roles   []core.UserRole // that the reader may give
	Next    string
	Typed   url.Values
	Chosen  map[string]bool
	Search  string
}

func (s *staff) roster(r *page.Request) error {
	p, err := s.rosterOf(r, r.URL.Query())
	if err != nil {
		return err
	}
	return r.Render("staff/roster", p)
}

func (s *staff) rosterOf(r *page.Request, q url.Values) (rosterPage, error) {
	p := rosterPage{Typed: url.Values{}, Search: strings.TrimSpace(q.Get("q"))}
	var err error
	if p.Class, err = s.Classes.ViewClass(r.Context(), r.Actor(), r.PathValue("class")); err != nil {
		return p, err
	}
	find := classes.RosterQuery{Text: p.Search, After: q.Get("after"), Limit: rosterRows}
	if p.Members, err = s.Classes.FindMembers(r.Context(), r.Actor(), p.Class.Handle, find); err != nil {
		return p, err
	}
	if len(p.Members) == rosterRows {
		next := url.Values{"after": {p.Members[rosterRows-1].User}}
		if p.Search != "" {
			next.Set("q", p.Search)
		}
		p.Next = "?" + next.Encode()
	}
	for _, can := range []struct {
		action core.Action
		role   core.UserRole
	}{{core.ActEnrolStudent, core.RoleStudent}, {core.ActEnrolAssistant, core.RoleAssistant}, {core.ActEnrolTeacher, core.RoleTeacher}} {
		if may(r, can.action, p.Class.Handle) == nil {
			p.Roles = append(p.Roles, can.role)
		}
	}
	return p, nil
}

// rosterAgain shows the roster again, with an error and the form as typed.
func (s *staff) rosterAgain(r *page.Request, wrong error, f *form) error {
	p, err := s.rosterOf(r, url.Values{"after": {f.line("after")}, "q": {f.line("q")}})
	if err != nil {
		return err
	}
	p.Typed, p.Chosen = f.Typed, make(map[string]bool)
	for _, user := range f.Typed["member"] {
		p.Chosen[user] = true
	}
	if core.Is(wrong, core.CodeNotFound) || core.Is(wrong, core.CodeForbidden) { // of the user that was typed
		wrong = core.Wrap(wrong, core.CodeInvalid, p.Class.Handle, "%s", r.T("That did not work"))
	}
	return r.Again(wrong, "staff/roster", p)
}

func (s *staff) enrol(r *page.Request) error {
	class := r.PathValue("class")
	f, err := typed(r)
	if err != nil {
		return err
	}
	user := f.line("user")
	if err := s.Classes.Enrol(r.Context(), r.Actor(), class, user, core.UserRole(f.line("role"))); err != nil {
		return s.rosterAgain(r, err, f)
	}
	return r.Redirect(classPath(class)+"/roster", r.T("%s is in the class.", user))
}

// changeRoster changes the role of the ticked members, or removes them from the class.
func (s *staff) changeRoster(r *page.Request) error {
	class := r.PathValue("class")
	f, err := typed(r)
	if err != nil {
		return err
	}
	users := slices.Compact(slices.Sorted(slices.Values(f.Typed["member"])))
	switch {
	case len(users) == 0:
		f.wrong(r.T("Tick whom you mean."))
	case len(users) > rosterRows:
		f.wrong(r.T("At most %d at once.", rosterRows))
	}
	if f.err != nil {
		return s.rosterAgain(r, f.err, f)
	}
	drop, section := f.line("do") == "drop", f.line("do") == "section"
	for _, user := range users {
		if section {
			err = s.Classes.SetSection(r.Context(), r.Actor(), class, user, f.line("section"))
		} else if drop {
			err = s.Classes.Drop(r.Context(), r.Actor(), class, user)
		} else {
			err = s.Classes.Enrol(r.Context(), r.Actor(), class, user, core.UserRole(f.line("role")))
		}
		if err != nil {
			return s.rosterAgain(r, err, f)
		}
	}
	said := r.N(len(users), "%d person has the role now.", "%d people have the role now.")
	if section {
		said = r.N(len(users), "The section of %d person is set.", "The section of %d people is set.")
	}
	if drop {
		said = r.N(len(users), "%d person was dropped from the class; the submissions stay.", "%d people were dropped from the class; their submissions stay.")
	}
	return r.Redirect(classPath(class)+"/roster", said)
}
