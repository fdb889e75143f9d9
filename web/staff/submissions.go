package staff

import (
	"net/url"
	"slices"
	"strings"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
	"drover/web/page"
	"drover/web/services"
)

func (s *staff) submissionRoutes() []page.Route {
	const at = "/classes/{class}/assignments/{assignment}/submissions"
	return []page.Route{
		{Pattern: "GET " + at, Action: core.ActGradeView, Serve: s.submissions},
		{Pattern: "GET " + at + "/all", Action: core.ActGradeView, Serve: s.attempts},
		{Pattern: "GET " + at + "/csv", Action: core.ActGradeView, Serve: s.submissionsCSV},
	}
}

const submissionRows = 50 // on a page

// onlies are the values of the filter: in the URL, and in words.
var onlies = []struct{ Name, Text string }{
	{classes.OnlySubmitted, page.Sentence("has submitted")},
	{classes.OnlyMissing, page.Sentence("has not submitted")},
	{classes.OnlyUngraded, page.Sentence("without a score")},
	{classes.OnlyLate, page.Sentence("late")},
	{classes.OnlyAsked, page.Sentence("with open questions")},
	{classes.OnlyFinal, page.Sentence("final")},
}

// submissionsPage lists students with the submission that counts.
type submissionsPage struct {
	*classes.AssignmentEntry
	Rows     []classes.StudentEntry
	Found    int // students that the filter matches
	All      int // before it
	First    int // place of the first row
	Next     string
	From     string // the list's query, for the pages of its submissions
	Outcomes []core.ResultOutcome
	Onlies   any
	Sections []string
	Columns  []column
	Mails    string // addresses of those found, if a list of who has not submitted is shown
	Forms    []taskForm
	Filter   classes.StudentFilter
	Typed    url.Values
}

// column is the head of a column: a link that orders by it.
type column struct {
	Text, URL string
	Order     string // ascending or descending; "" if the list is not ordered by it
	Number    bool
}

func (s *staff) submissions(r *page.Request) error {
	p, err := s.submissionsPage(r)
	if err != nil {
		return err
	}
	if err := p.Filter.Check(); err != nil {
		return r.Again(err, "staff/submissions", p)
	}
	all, err := s.Classes.Standings(r.Context(), r.Actor(), p.Class, p.Handle)
	if err != nil {
		return err
	}
	p.Sections = classes.Sections(all)
	found := p.Filter.Select(all)
	p.All, p.Found = len(all), len(found)
	p.cut(found, p.Typed.Get("after"))
	if p.Filter.Only == classes.OnlyMissing {
		p.Mails = mails(found)
	}
	return r.Render("staff/submissions", p)
}

// submissionsPage returns the page without its list.
func (s *staff) submissionsPage(r *page.Request) (*submissionsPage, error) {
	as, err := s.Classes.ViewAssignment(r.Context(), r.Actor(), r.PathValue("class"), r.PathValue("assignment"))
	if err == nil {
		err = may(r, core.ActGradeView, as.Class)
	}
	typed := r.URL.Query()
	p := &submissionsPage{
		AssignmentEntry: &as, Outcomes: core.ResultOutcomes(), Onlies: onlies, Filter: services.StudentFilter(typed),
		Forms: taskForms(core.ArgAssignment, typed), Typed: typed,
	}
	p.From = services.StudentQuery(p.Filter).Encode()
	p.Columns = []column{{Text: r.T("Student")}, {Text: r.T("Submitted")}, {Text: r.T("Score"), Number: true}}
	for i, by := range []string{classes.ByName, classes.ByTime, classes.ByScore} {
		p.Columns[i].order(p.Filter, by)
	}
	return p, err
}

// order makes the link of a column: a second click reverses it.
func (c *column) order(f classes.StudentFilter, by string) {
	switch f.Sort {
	case by:
		c.Order = "ascending"
		by = "-" + by
	case "-" + by:
		c.Order = "descending"
	case "":
		if by == classes.ByName {
			c.Order = "ascending"
			by = "-" + by
		}
	}
	f.Sort = by
	c.URL = "?" + services.StudentQuery(f).Encode()
}

// cut keeps the rows of one page: those after a user.
func (p *submissionsPage) cut(found []classes.StudentEntry, after string) {
	if after != "" {
		p.First = slices.IndexFunc(found, func(e classes.StudentEntry) bool { return e.User == after }) + 1
	}
	p.Rows = found[p.First:]
	if len(p.Rows) > submissionRows {
		p.Rows = p.Rows[:submissionRows]
		q := services.StudentQuery(p.Filter)
		q.Set("after", p.Rows[submissionRows-1].User)
		p.Next = "?" + q.Encode()
	}
}

// mails joins the addresses of students for a mail program.
func mails(all []classes.StudentEntry) string {
	var some []string
	for i := range all {
		if all[i].Email != "" {
			some = append(some, all[i].Email)
		}
	}
	return strings.Join(some, ", ")
}

// attemptsPage lists all submissions, newest first.
type attemptsPage struct {
	*classes.AssignmentEntry
	Found []attemptRow
	Next  string
	Typed url.Values
}

type attemptRow struct {
	classes.SubmissionEntry
	Name   string
	Counts bool
}

func (s *staff) attempts(r *page.Request) error {
	q := r.URL.Query()
	as, err := s.Classes.ViewAssignment(r.Context(), r.Actor(), r.PathValue("class"), r.PathValue("assignment"))
	if err == nil {
		err = may(r, core.ActGradeView, as.Class)
	}
	if err != nil {
		return err
	}
	p := attemptsPage{AssignmentEntry: &as, Typed: q}
	f := school.SubmissionFilter{Class: as.Class, Assignment: as.Handle, User: q.Get("user"), Before: q.Get("before"), Limit: submissionRows}
	found, err := s.Classes.ListSubmissions(r.Context(), r.Actor(), f)
	if err != nil {
		return r.Again(mendable(err), "staff/attempts", p)
	}
	all, err := s.Classes.Standings(r.Context(), r.Actor(), as.Class, as.Handle)
	if err != nil {
		return err
	}
	by := map[string]*classes.StudentEntry{}
	for i := range all {
		by[all[i].User] = &all[i]
	}
	for _, one := range found {
		row := attemptRow{SubmissionEntry: one, Name: one.Submission.User}
		if e := by[one.Submission.User]; e != nil {
			row.Name, row.Counts = e.Title(), e.Counts != nil && e.Counts.Submission.ID == one.Submission.ID
		}
		p.Found = append(p.Found, row)
	}
	if len(found) == submissionRows {
		q.Set("before", found[submissionRows-1].Submission.ID)
		p.Next = "?" + q.Encode()
	}
	return r.Render("staff/attempts", p)
}
