package lti

import (
	"net/url"
	"strconv"
	"strings"

	"drover/core"
	"drover/core/classes"
	"drover/core/classes/lti"
	"drover/core/school"
	"drover/web/page"
)

// choicePage is where a teacher chooses what a platform links in a course.
type choicePage struct {
	lti.Choice

	Token   string
	Assigns []classes.AssignmentEntry
	Ticked  map[string]bool
	Points  string
	Classes []classes.ClassEntry // with which the course can be connected, while it is not
	Form    school.Class         // of a new class, as typed
}

// actor is who is signed in, if anybody is.
func actor(r *page.Request) core.Actor {
	if r.Caller == nil {
		return core.Actor{}
	}
	return r.Actor()
}

func (s *pages) deep(r *page.Request) error {
	d, err := s.choice(r, r.FormValue("t"))
	if err != nil {
		return err
	}
	return r.Render("lti/deep", d)
}

// choice reads what a page of a choice shows, and sets its headers.
func (s *pages) choice(r *page.Request, token string) (choicePage, error) {
	r.W.Header().Set("Referrer-Policy", "no-referrer") // the decision is in the URL
	d := choicePage{Token: token, Ticked: map[string]bool{}, Points: strconv.FormatFloat(lti.UsualPoints, 'f', -1, 64)}
	var err error
	if d.Choice, err = s.LTI.Choice(r.Context(), actor(r), token); err != nil {
		return d, err
	}
	if d.Framed {
		framed(r, &d.Platform, "'self'")
	}
	if d.Class == "" {
		d.Form.Title = d.Title
		d.Classes, err = s.taught(r, d.Actor)
		return d, err
	}
	d.Assigns, _, err = s.Classes.ListAssignments(r.Context(), d.Actor, classes.AssignmentFilter{Class: d.Class, All: true})
	return d, err
}

// doDeep answers the platform with what was chosen, or connects the course first.
func (s *pages) doDeep(r *page.Request) error {
	token, how := r.PostFormValue("t"), r.PostFormValue("how")
	if how == "class" || how == "new" {
		return s.connectFirst(r, token, how == "new")
	}
	chosen, points := r.PostForm["assignment"], strings.TrimSpace(r.PostFormValue("points"))
	if how == "none" {
		chosen, points = nil, "1"
	} else if len(chosen) == 0 {
		return s.deepAgain(r, token, core.Errorf(core.CodeInvalid, "", "%s", r.T("Choose an assignment.")))
	}
	most, err := strconv.ParseFloat(strings.Replace(points, ",", ".", 1), 64)
	if err != nil {
		return s.deepAgain(r, token, core.Errorf(core.CodeInvalid, "", "%s", r.T("The points have to be a number.")))
	}
	c, err := s.LTI.Choice(r.Context(), actor(r), token)
	if err != nil {
		return err
	}
	answer, err := s.LTI.AnswerChoice(r.Context(), actor(r), token, chosen, most)
	if err != nil {
		return s.deepAgain(r, token, err)
	}
	carries(r, &c, answer.Return)
	return r.Render("lti/return", struct {
		lti.Answer

		Platform string
	}{answer, c.Platform.Name})
}

// connectFirst connects the course of a choice with a class, and goes on to choose.
func (s *pages) connectFirst(r *page.Request, token string, fresh bool) error {
	made := newClass(r)
	var err error
	if fresh {
		_, err = s.LTI.ConnectNew(r.Context(), actor(r), token, made)
	} else {
		_, err = s.LTI.Connect(r.Context(), actor(r), token, r.PostFormValue("class"))
	}
	if err != nil {
		return s.deepAgain(r, token, err)
	}
	d, err := s.choice(r, token)
	if err != nil {
		return err
	}
	return r.Render("lti/deep", d)
}

// deepAgain shows a choice again, as it was typed.
func (s *pages) deepAgain(r *page.Request, token string, wrong error) error {
	d, err := s.choice(r, token)
	if err != nil {
		return err
	}
	for _, handle := range r.PostForm["assignment"] {
		d.Ticked[handle] = true
	}
	if points := r.PostFormValue("points"); points != "" {
		d.Points = points
	}
	if r.PostFormValue("how") == "new" {
		d.Form = newClass(r)
	}
	return r.Again(wrong, "lti/deep", d)
}

// carries lets the page's form go to one address of the platform, and nowhere else.
func carries(r *page.Request, c *lti.Choice, address string) {
	ancestors := "'none'"
	if c.Framed {
		ancestors = strings.Join(c.Platform.PageOrigins(), " ")
		r.W.Header().Del("X-Frame-Options")
	}
	r.W.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action "+withoutQuery(address)+
		"; base-uri 'none'; frame-ancestors "+ancestors)
	// A window that a platform opened answers to the page that opened it.
	r.W.Header().Set("Cross-Origin-Opener-Policy", "unsafe-none")
}

// withoutQuery is an address as a policy can have it.
func withoutQuery(address string) string {
	address, _, _ = strings.Cut(address, "?")
	return address
}

// launched shows in the platform's frame what follows a launch there.
func (s *pages) launched(r *page.Request, l *lti.Launch, entry lti.Entry) error {
	if entry.Window {
		framed(r, &l.Platform, "'none'")
		return r.Render("lti/elsewhere", l.Platform)
	}
	d, err := s.choice(r, entry.Choose)
	if err != nil {
		return err
	}
	r.W.Header().Set("Cache-Control", "no-store")
	return r.Render("lti/deep", d)
}

// newClass is the form of a new class.
func newClass(r *page.Request) school.Class {
	return school.Class{Handle: strings.TrimSpace(r.PostFormValue("handle")), Title: strings.TrimSpace(r.PostFormValue("title"))}
}

// taught are the classes that a user may connect with courses.
func (s *pages) taught(r *page.Request, a core.Actor) ([]classes.ClassEntry, error) {
	mine, err := s.Classes.ListClasses(r.Context(), a, "", mostClasses)
	var may []classes.ClassEntry
	for i := range mine {
		if core.Allow(a, core.ActClassEdit, core.Object{Class: mine[i].Handle}) == nil {
			may = append(may, mine[i])
		}
	}
	return may, err
}

// deepLogin reports whether a login is to choose content, which is done in the platform's own frame.
func deepLogin(target string) bool {
	u, err := url.Parse(target)
	return err == nil && u.Path == "/lti/deep"
}
