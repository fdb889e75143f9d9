package staff

import (
	"cmp"
	"net/url"
	"slices"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
	"drover/web/page"
)

func (s *staff) studentRoutes() []page.Route {
	const student = "/classes/{class}/students/{user}"
	return []page.Route{
		{Pattern: "GET " + student, Action: core.ActRosterView, Serve: s.student},
		{Pattern: "GET " + student + "/assignments/{assignment}", Action: core.ActRosterView, Serve: s.studentAssignment},
		{Pattern: "GET /submissions/{id}/preview", Action: core.ActSubmissionView, Serve: s.preview},
	}
}

// studentPage shows a member of a class, with what the member sees and has submitted there.
type studentPage struct {
	Class, User string
	Is          *classes.MemberView // nil for a former member
	Found       []classes.SubmissionEntry
	Next        string

	LateDays   int                      // of the class
	Counted    *school.Counted          // of the assignment; nil for none
	Assignment *classes.AssignmentEntry // as the user sees it; on the page of one assignment
}

// Title returns what people call an assignment of the class: its handle where the user does not see it.
func (p *studentPage) Title(assignment string) string {
	if p.Is != nil {
		for i := range p.Is.Assignments {
			if as := &p.Is.Assignments[i]; as.Handle == assignment {
				return cmp.Or(as.Title, assignment)
			}
		}
	}
	return assignment
}

func (s *staff) student(r *page.Request) error {
	p, err := s.studentPage(r, "")
	if err != nil {
		return err
	}
	return r.Render("staff/student", p)
}

// studentPage reads a user's page: of one assignment unless "". A former member has a page as long as there are
// submissions.
func (s *staff) studentPage(r *page.Request, assignment string) (*studentPage, error) {
	p := &studentPage{Class: r.PathValue("class"), User: r.PathValue("user")}
	v, err := s.Classes.ViewMember(r.Context(), r.Actor(), p.Class, p.User)
	gone := core.Is(err, core.CodeNotFound) && assignment == ""
	if err != nil && !gone {
		return p, err
	}
	if !gone {
		p.Is = &v
	}
	if assignment != "" {
		i := slices.IndexFunc(v.Assignments, func(e classes.AssignmentEntry) bool { return e.Handle == assignment })
		if i < 0 {
			return p, core.Errorf(core.CodeNotFound, assignment, "%s sees no assignment %.80q in class %s", p.User, assignment, p.Class)
		}
		p.Assignment = &v.Assignments[i]
	}
	f := school.SubmissionFilter{Class: p.Class, Assignment: assignment, User: p.User, Before: r.URL.Query().Get("before"), Limit: submissionRows}
	all, unlisted := s.Classes.ListSubmissions(r.Context(), r.Actor(), f)
	if gone && len(all) == 0 {
		return p, err
	}
	if p.Found = all; len(all) == submissionRows {
		p.Next = "?" + url.Values{"before": {all[len(all)-1].Submission.ID}}.Encode()
	}
	return p, unlisted
}

// studentAssignment shows an assignment as one user sees it.
func (s *staff) studentAssignment(r *page.Request) error {
	p, err := s.studentPage(r, r.PathValue("assignment"))
	if err != nil {
		return err
	}
	c, err := s.Classes.ViewClass(r.Context(), r.Actor(), p.Class)
	if err != nil {
		return err
	}
	p.LateDays = c.LateDays
	if p.Counted, err = s.Classes.Counts(r.Context(), r.Actor(), p.Class, p.Assignment.Handle, p.User); err != nil {
		return err
	}
	return r.Render("staff/studentassignment", p)
}

// previewPage shows a submission as its owner sees it.
type previewPage struct {
	classes.SubmissionView
	Class, Assignment, User string
}

func (s *staff) preview(r *page.Request) error {
	v, err := s.Classes.PreviewSubmission(r.Context(), r.Actor(), r.PathValue("id"))
	if err != nil {
		return err
	}
	sub := v.Submission
	return r.Render("staff/preview", previewPage{v, sub.Class, sub.Assignment, sub.User})
}
