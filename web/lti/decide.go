package lti

import (
	"drover/core/classes"
	"drover/core/classes/lti"
	"drover/core/school"
	"drover/web/page"
)

// decision is what pages show on which somebody decides about a launch.
type decision struct {
	lti.Pending

	Token    string
	Platform school.LTIPlatform
	Class    string
	Classes  []classes.ClassEntry      // that the reader teaches
	Assigns  []classes.AssignmentEntry // of the class
	Form     school.Class              // of a new class, as typed
}

func (s *pages) decision(r *page.Request) (decision, error) {
	r.W.Header().Set("Referrer-Policy", "no-referrer") // the decision is in the URL
	d := decision{Token: r.FormValue("t")}
	var err error
	d.Pending, d.Platform, err = s.LTI.Pending(r.Context(), r.Actor(), d.Token)
	return d, err
}

// tie asks whether an identity is to be tied to an account that has another way in.
func (s *pages) tie(r *page.Request) error {
	d, err := s.decision(r)
	if err != nil {
		return err
	}
	return r.Render("lti/tie", d)
}

func (s *pages) doTie(r *page.Request) error {
	if _, err := s.LTI.Tie(r.Context(), r.Actor(), r.PostFormValue("t"), s.kept(r)); err != nil {
		return err
	}
	return r.Redirect("/", r.T("Done. From now on links on the learning platform sign you in. Open the link there again."))
}

// connect asks with which class a course is to be connected.
func (s *pages) connect(r *page.Request) error {
	d, err := s.connecting(r)
	if err != nil {
		return err
	}
	return r.Render("lti/connect", d)
}

// mostClasses bounds the classes to choose from.
const mostClasses = 500

func (s *pages) connecting(r *page.Request) (decision, error) {
	d, err := s.decision(r)
	if err != nil {
		return d, err
	}
	d.Classes, err = s.taught(r, r.Actor())
	d.Form.Title = d.Title
	return d, err
}

func (s *pages) doConnect(r *page.Request) error {
	token, to, err := r.PostFormValue("t"), "", error(nil)
	made := newClass(r)
	if r.PostFormValue("how") == "new" {
		to, err = s.LTI.ConnectNew(r.Context(), r.Actor(), token, made)
	} else {
		to, err = s.LTI.Connect(r.Context(), r.Actor(), token, r.PostFormValue("class"))
	}
	if err == nil {
		return r.Redirect(to, r.T("The course is connected: its people come to this class."))
	}
	d, unseen := s.connecting(r)
	if unseen != nil {
		return unseen
	}
	if r.PostFormValue("how") == "new" {
		d.Form = made
	}
	return r.Again(err, "lti/connect", d)
}

// link asks to which assignment a link leads.
func (s *pages) link(r *page.Request) error {
	d, err := s.linking(r)
	if err != nil {
		return err
	}
	return r.Render("lti/link", d)
}

func (s *pages) linking(r *page.Request) (decision, error) {
	d, err := s.decision(r)
	if err != nil {
		return d, err
	}
	c, err := s.LTI.Course(r.Context(), d.Pending)
	if err != nil {
		return d, err
	}
	d.Class = c.Class
	d.Assigns, _, err = s.Classes.ListAssignments(r.Context(), r.Actor(), classes.AssignmentFilter{Class: c.Class})
	return d, err
}

func (s *pages) doLink(r *page.Request) error {
	to, err := s.LTI.Lead(r.Context(), r.Actor(), r.PostFormValue("t"), r.PostFormValue("assignment"))
	if err == nil {
		return r.Redirect(to, r.T("The link leads here from now on."))
	}
	d, unseen := s.linking(r)
	if unseen != nil {
		return unseen
	}
	return r.Again(err, "lti/link", d)
}
