package staff

import (
	"cmp"
	"math"
	"net/url"
	"strconv"
	"strings"

	"drover/core"
	"drover/core/classes"
	"drover/web/page"
	"drover/web/services"
)

func (s *staff) gradeRoutes() []page.Route {
	return []page.Route{
		{Pattern: "GET /submissions/{id}/grade", Action: core.ActGradeChange, Serve: s.grade},
		{Pattern: "POST /submissions/{id}/grade", Action: core.ActGradeChange, Serve: s.changeGrade},
	}
}

func gradePath(id string) string { return "/submissions/" + url.PathEscape(id) + "/grade" }

// gradePage is the form of a submission's grade, with its history.
type gradePage struct {
	classes.SubmissionView
	Class, Assignment, User string
	History                 []core.AuditEntry // of the user's submissions to the assignment
	Walk                    *services.Walk    // nil unless the reader came from a list
	Typed                   url.Values
}

// Query returns the query of the page, which keeps the list from which the reader came.
func (p gradePage) Query() string {
	if p.Walk == nil {
		return ""
	}
	return "?" + url.Values{services.FromKey: {p.Walk.From}}.Encode()
}

// Next returns the submission that is graded after this one: the next without a score, else the next of the list.
func (p gradePage) Next() string {
	if p.Walk == nil {
		return ""
	}
	return cmp.Or(p.Walk.Ungraded, p.Walk.After)
}

func (s *staff) gradePage(r *page.Request) (gradePage, error) {
	v, err := s.Classes.ViewSubmission(r.Context(), r.Actor(), r.PathValue("id"))
	if err != nil {
		return gradePage{}, err
	}
	sub := v.Submission
	p := gradePage{SubmissionView: v, Class: sub.Class, Assignment: sub.Assignment, User: sub.User, Typed: url.Values{}}
	if err := may(r, core.ActGradeChange, sub.Class); err != nil {
		return p, err
	}
	if v.Score != nil {
		p.Typed.Set("score", pointsText(*v.Score))
	}
	if g := sub.Grade; g != nil && g.MaxScore != nil {
		p.Typed.Set("max_score", pointsText(*g.MaxScore))
	}
	if p.Walk, err = s.WalkOf(r.Context(), r.Actor(), r.URL.Query(), sub); err != nil {
		return p, err
	}
	p.History, err = s.Classes.GradeHistory(r.Context(), r.Actor(), sub.Class, sub.Assignment, sub.User)
	return p, err
}

func (s *staff) grade(r *page.Request) error {
	p, err := s.gradePage(r)
	if err != nil {
		return err
	}
	return r.Render("staff/grade", p)
}

// changeGrade sets or removes a person's grade of the submission.
func (s *staff) changeGrade(r *page.Request) error {
	p, err := s.gradePage(r)
	if err != nil {
		return err
	}
	f, err := typed(r)
	if err != nil {
		return err
	}
	p.Typed = f.Typed
	change := classes.GradeChange{Class: p.Class, Assignment: p.Assignment, User: p.User, Submission: p.Submission.ID, Reason: f.line("reason")}
	back := f.line("do") == "back"
	if !back {
		change.Score = f.points(r, "score", page.Sentence("Score"))
		change.MaxScore = f.points(r, "max_score", page.Sentence("Of at most"))
		if change.Score == nil {
			f.wrong(r.T("Enter the number of points."))
		}
	}
	if err = f.err; err == nil {
		_, err = s.Classes.ChangeGrade(r.Context(), r.Actor(), change)
	}
	if err != nil {
		return r.Again(err, "staff/grade", p)
	}
	if back {
		return r.Redirect(gradePath(p.Submission.ID)+p.Query(), r.T("The grade was undone: the result counts again."))
	}
	if next := p.Next(); next != "" && f.line("do") == "next" {
		return r.Redirect(gradePath(next)+p.Query(), r.T("The grade of %s is changed.", r.PersonName(p.Class, p.User)))
	}
	return r.Redirect(gradePath(p.Submission.ID)+p.Query(), r.T("The grade is changed."))
}

// points reads a number of points; empty is nil.
func (f *form) points(r *page.Request, name, label string) *float64 {
	text := strings.ReplaceAll(f.line(name), ",", ".")
	if text == "" {
		return nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		f.wrong(r.T("%s: %.40q is not a number.", r.T(label), text))
		return nil
	}
	return &x
}

// pointsText formats a number of points for a form.
func pointsText(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
