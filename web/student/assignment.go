package student

import (
	"cmp"
	"crypto/rand"
	"strings"
	"time"

	"drover/core"
	"drover/core/classes"
	"drover/core/harness"
	"drover/core/school"
	"drover/web/page"
	"drover/web/transfer"
)

// attemptsShown is how many submissions a page lists.
const attemptsShown = 50

// assignment shows an assignment, the form for submissions, and the reader's submissions.
type assignment struct {
	Class    classes.ClassEntry
	Is       classes.AssignmentEntry
	Progress badge
	Counted  *school.Counted  // the reader's submission that counts; nil for none
	Own      *school.Deadline // the reader's personal deadline, if there is one

	Handout   *shownHandout        // nil if there is none
	Languages []core.ImageLanguage // that submissions can be in, if the VMs say
	Open      bool                 // it accepts submissions
	Limits    string               // on its files, in words
	MaxFiles  int                  // that it accepts
	Needed    string               // required files, one a line
	Form      form
	Last      *classes.SubmissionEntry // the reader's newest submission; nil for none, and where older ones are listed
	Attempts  []classes.SubmissionEntry
	Plot      *plot // nil for too few scores
	Next      string
}

// assignment shows an assignment; with "again", the form holds an earlier submission of the reader to it.
func (d *student) assignment(r *page.Request) error {
	filled := form{Kind: harness.TestPublic, Again: r.URL.Query().Get(fieldAgain)}
	if filled.Again != "" {
		e, err := d.earlier(r, filled.Again)
		if err != nil {
			return err
		}
		filled.Kind = e.kind
		filled.fill(e)
	}
	a, err := d.readAssignment(r, filled)
	if err != nil {
		return err
	}
	return r.Render("student/assignment", a)
}

func (d *student) readAssignment(r *page.Request, typed form) (assignment, error) {
	ctx, actor, reg := r.Context(), r.Actor(), d.deps.Classes
	is, err := reg.ViewAssignment(ctx, actor, r.PathValue("class"), r.PathValue("assignment"))
	if err != nil {
		return assignment{}, err
	}
	a := assignment{Is: is, Form: typed, Progress: progresses[is.Progress].said(r)}
	a.MaxFiles, a.Needed = cmp.Or(is.MaxFiles, core.MaxFiles), strings.Join(is.Required, "\n")
	a.Limits = r.N(a.MaxFiles, "At most %d file.", "At most %d files.")
	if is.MaxBytes > 0 {
		a.Limits += " " + r.T("At most %s together.", r.Size(is.MaxBytes))
	}
	a.Form.Key = rand.Text()
	if a.Form.Git == nil {
		a.Form.Git = d.newGit()
	}
	if len(a.Form.Texts) == 0 {
		a.Form.Texts = []transfer.Text{{}}
		if len(is.Required) > 0 && a.Form.Again == "" {
			a.Form.Texts[0].Name = is.Required[0]
		}
	}
	if a.Class, err = reg.ViewClass(ctx, actor, is.Class); err != nil {
		return a, err
	}
	if is.Extended {
		own, err := reg.Deadlines(ctx, actor, is.Class, is.Handle, actor.Handle)
		if err != nil {
			return a, err
		}
		if len(own) > 0 {
			a.Own = &own[0]
		}
	}
	if is.Submitted > 0 {
		if a.Counted, err = reg.Counts(ctx, actor, is.Class, is.Handle, actor.Handle); err != nil {
			return a, err
		}
	}
	a.Open = d.takes(r, is)
	if a.Handout, err = d.readHandout(r, is); err != nil {
		return a, err
	}
	if a.Languages, err = reg.Languages(ctx, actor, is.Class, is.Handle); err != nil {
		return a, err
	}
	return a, d.attempts(r, &a)
}

// takes reports whether an assignment accepts submissions of the reader now.
func (d *student) takes(r *page.Request, is classes.AssignmentEntry) bool {
	mine := core.Object{Class: is.Class, Owner: r.Actor().Handle}
	late := is.Cutoff != 0 && r.Now().UnixMilli() > is.Cutoff
	return !is.Deleting && core.Allow(r.Actor(), core.ActSubmit, mine) == nil && (!late || core.Allow(r.Actor(), core.ActSubmitFor, mine) == nil)
}

func absolute(r *page.Request, ms int64) string {
	if ms == 0 {
		return ""
	}
	return r.Absolute(time.UnixMilli(ms))
}

// attempts lists the reader's submissions, newest first.
func (d *student) attempts(r *page.Request, a *assignment) error {
	all, err := d.deps.Classes.ListSubmissions(r.Context(), r.Actor(), school.SubmissionFilter{
		Class: a.Is.Class, Assignment: a.Is.Handle, User: r.Actor().Handle, Before: r.URL.Query().Get("before"), Limit: attemptsShown,
	})
	if err != nil {
		return err
	}
	a.Attempts = all
	if len(all) > 0 && r.URL.Query().Get("before") == "" {
		a.Last = &all[0]
	}
	a.Plot = drawScores(r, a.Attempts)
	if len(all) == attemptsShown {
		a.Next = more(r.Request, "before", all[len(all)-1].Submission.ID)
	}
	return nil
}
