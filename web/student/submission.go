package student

import (
	"drover/core"
	"drover/core/classes"
	"drover/core/harness/explain"
	"drover/web/page"
	"drover/web/services"
	"drover/web/transfer"
)

// submission shows a submission and its result.
type submission struct {
	Is         classes.SubmissionView
	Assignment classes.AssignmentEntry
	Outcome    core.ResultOutcome
	Badge      string // the outcome in words
	Open       bool   // its tests have not ended
	Progress   progress
	Marks      *marks // of the tests that have ended, while others run
	Output     bool   // the reader may see their output
	Cancel     bool   // the reader may stop them
	Score, Max *float64
	End        string // how its tests ended and whose fault it was; "" for a good end
	Others     bool   // it belongs to another user
	Again      bool   // the reader may submit it again, with changes
	Files      []fileRow
	Result     *result  // nil until there is one
	Account    *account // nil for students, and until there is a result
	Tries      []try
	Walk       *services.Walk // nil unless staff came from a list
}

func (d *student) submission(r *page.Request) error {
	v, err := d.deps.Classes.ViewSubmission(r.Context(), r.Actor(), r.PathValue("id"))
	if err != nil {
		return err
	}
	sub := v.Submission
	as, err := d.deps.Classes.ViewAssignment(r.Context(), r.Actor(), sub.Class, sub.Assignment)
	if err != nil {
		return err
	}
	s := submission{Is: v, Assignment: as, Outcome: v.Outcome, Badge: r.Outcome(v.Outcome), End: ending(r, v), Others: sub.User != r.Actor().Handle}
	s.Again = !s.Others && d.takes(r, as)
	s.Score, s.Max = v.Score, v.MaxScore
	s.Result = readResult(r, v.Result, sub.Files, submissionFiles(sub.ID))
	if v.Result != nil && core.Allow(r.Actor(), core.ActGradeView, core.Object{Class: sub.Class}) == nil {
		s.Account = readAccount(r, v.Result, explain.Result(v.Result, explain.About{Grading: true}))
	}
	s.Files = fileRows(submissionFiles(sub.ID), sub.Files)
	if err := d.follow(r, &s); err != nil {
		return err
	}
	if s.Walk, err = d.deps.WalkOf(r.Context(), r.Actor(), r.URL.Query(), sub); err != nil {
		return err
	}
	return r.Render("student/submission", s)
}

// follow adds how far the tests of a submission have come, and how often they were tried.
func (d *student) follow(r *page.Request, s *submission) error {
	sub := s.Is.Submission
	if sub.Request == "" || s.Is.State == "" {
		return nil
	}
	all, err := d.deps.Requests.Attempts(r.Context(), r.Actor(), sub.Request)
	if err != nil {
		return err
	}
	s.Tries = readTries(r, all)
	if s.Open = s.Is.Status == classes.StatusWaiting; !s.Open {
		return nil
	}
	at, err := d.deps.Requests.Status(r.Context(), r.Actor(), sub.Request)
	if err != nil && !core.Is(err, core.CodeUnavailable) { // the submission can be shown without Redis
		return err
	}
	s.Output, s.Progress = at.Output, readProgress(r, at.Waiting, at.Attempt, at.Since)
	s.Marks = readMarks(r, at.Tests)
	if !at.State.Terminal() && at.State != "" && at.State != core.RequestQueued {
		s.Outcome = core.OutcomeOfState(at.State, "", "", nil, nil)
		s.Badge = r.T(states[at.State].Text)
	}
	s.Cancel = at.State != core.RequestCancelling &&
		core.Allow(r.Actor(), core.ActSubmissionRerun, core.Object{Class: sub.Class, Owner: sub.User}) == nil
	return nil
}

func (d *student) resubmit(r *page.Request) error {
	id := r.PathValue("id")
	if err := d.deps.Classes.Resubmit(r.Context(), r.Actor(), id); err != nil {
		return err
	}
	return r.Redirect(path("submissions", id), r.T("It is tested again."))
}

func (d *student) cancel(r *page.Request) error {
	id := r.PathValue("id")
	if _, err := d.deps.Classes.CancelSubmission(r.Context(), r.Actor(), id); err != nil {
		return err
	}
	return r.Redirect(path("submissions", id), r.T("Its tests are stopped. The submission is kept."))
}

func (d *student) zip(r *page.Request) error {
	z, err := d.deps.Classes.OpenZip(r.Context(), r.Actor(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return d.sent(r, z.Write(r.Context(), transfer.Attachment(r.W, z.Name, -1)))
}
