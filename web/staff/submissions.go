package staff

import (
	"net/url"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
	"drover/web/page"
)

func (s *staff) submissionRoutes() []page.Route {
	return []page.Route{
		{Pattern: "GET /classes/{class}/assignments/{assignment}/submissions", Action: core.ActGradeView, Serve: s.submissions},
	}
}

const (
	submissionRows = 50   // on a page
	lookedThrough  = 1000 // submissions searched for a status
)

// statuses are the values of the filter: in the URL, and in words.
var statuses = []struct {
	Name   string
	Status classes.Status
	Text   string
}{
	{"waiting", classes.StatusWaiting, page.Sentence("waiting for its tests")},
	{"tested", classes.StatusCompleted, page.Sentence("tested")},
	{"failed", classes.StatusFailed, page.Sentence("tests failed")},
	{"timed-out", classes.StatusTimedOut, page.Sentence("took too long")},
	{"cancelled", classes.StatusCancelled, page.Sentence("cancelled")},
	{"submitted", classes.StatusSubmitted, page.Sentence("submitted")},
}

// submissionsPage lists submissions to an assignment.
type submissionsPage struct {
	*classes.AssignmentEntry
	Found  []classes.SubmissionEntry
	Next   string
	Broken bool // there may be more than were searched
	Most   int  // how many are searched
	States any
	Forms  []taskForm // of files about them
	Typed  url.Values
}

func (s *staff) submissions(r *page.Request) error {
	p, err := s.submissionsPage(r)
	if err != nil {
		return err
	}
	f := school.SubmissionFilter{Class: p.Class, Assignment: p.Handle, User: p.Typed.Get("user"), Before: p.Typed.Get("before")}
	found, err := s.find(r, f, p.Typed.Get("state"))
	if err != nil {
		return r.Again(mendable(err), "staff/submissions", p)
	}
	p.Found, p.Broken = found.Found, found.Broken
	if found.Before != "" {
		p.Typed.Set("before", found.Before)
		p.Next = "?" + p.Typed.Encode()
	}
	return r.Render("staff/submissions", p)
}

// submissionsPage returns the page without its list.
func (s *staff) submissionsPage(r *page.Request) (*submissionsPage, error) {
	class := r.PathValue("class")
	as, err := s.Classes.ViewAssignment(r.Context(), r.Actor(), class, r.PathValue("assignment"))
	if err == nil {
		err = may(r, core.ActGradeView, class)
	}
	typed := r.URL.Query()
	return &submissionsPage{AssignmentEntry: &as, States: statuses, Most: lookedThrough, Forms: taskForms(core.ArgAssignment, typed), Typed: typed}, err
}

// found are submissions, newest first.
type found struct {
	Found  []classes.SubmissionEntry
	Before string // cursor of the next page; "" on the last one
	Broken bool   // there may be more than were searched
}

// find lists submissions with a status. The store cannot select by status, so only a limited number is searched at
// once.
func (s *staff) find(r *page.Request, f school.SubmissionFilter, state string) (found, error) {
	var status classes.Status
	f.Limit = submissionRows
	for _, one := range statuses {
		if one.Name == state {
			status, f.Limit = one.Status, lookedThrough
		}
	}
	if state != "" && status == "" {
		return found{}, core.Errorf(core.CodeInvalid, "", "%s", r.T("%.40q is not a state.", state))
	}
	var got found
	all, err := s.Classes.ListSubmissions(r.Context(), r.Actor(), f)
	for i, e := range all {
		if status != "" && e.Status != status {
			continue
		}
		got.Found = append(got.Found, e)
		if len(got.Found) == submissionRows && (i+1 < len(all) || len(all) == f.Limit) {
			got.Before = e.Submission.ID
			return got, err
		}
	}
	if len(all) == f.Limit {
		got.Before, got.Broken = all[len(all)-1].Submission.ID, true
	}
	return got, err
}
