package student

import (
	"io"

	"drover/core"
	"drover/core/classes"
	"drover/core/harness"
	"drover/core/school"
	"drover/web/page"
	"drover/web/transfer"
)

// Fields of the form that submits, besides those of transfer.
const (
	fieldKind = "kind"
	fieldKey  = "key"

	fieldAgain = "again" // id of the earlier submission that the form was filled from
	fieldCarry = "carry" // carried: its files that are not in the form are submitted, too
	carried    = "on"
)

// drained is how many bytes of a refused form are still read: a browser that cannot send it to the end shows no
// answer.
const drained = 64 << 20

// form is the form as typed, or its defaults.
type form struct {
	Key     string // idempotency key: sending the form twice makes one submission
	Kind    string
	Keep    bool            // do not unpack archives
	Texts   []transfer.Text // at least one
	Again   string          // id of the earlier submission that it was filled from
	Carry   bool            // submit Carried again
	Carried []core.File     // of the earlier submission, that cannot be edited
	Git     *gitForm        // nil if this site fetches no repositories
}

// fill puts an earlier submission into the form.
func (f *form) fill(e earlier) { f.Texts, f.Carried, f.Carry = e.texts, e.carried, len(e.carried) > 0 }

// submitTo makes a submission. Files are passed on as they arrive.
func (d *student) submitTo(r *page.Request) error {
	body := &io.LimitedReader{R: transfer.Bounded(r.W, r.Body, nil), N: transfer.MaxBody + 1}
	f, err := transfer.Read(body, r.Header.Get("Content-Type"))
	typed := form{Kind: harness.TestPublic}
	var s school.Submission
	if err == nil {
		typed = form{Kind: f.Fields[fieldKind], Keep: f.Fields[transfer.FieldArchives] == transfer.Keep, Again: f.Fields[fieldAgain], Carry: f.Fields[fieldCarry] == carried}
		s, err = d.submitForm(r, f, &typed)
	}
	if err == nil {
		return r.Redirect(path("submissions", s.ID), r.T("Submitted."))
	}
	body.N = min(body.N, drained)
	if f != nil {
		f.Rest()
		typed.Texts = f.Texts
	}
	_, _ = io.Copy(io.Discard, body)
	a, unseen := d.readAssignment(r, typed)
	if unseen != nil {
		return unseen
	}
	return r.Again(err, "student/assignment", a)
}

// submitForm submits what a form has, and what it carries over.
func (d *student) submitForm(r *page.Request, f *transfer.Form, typed *form) (school.Submission, error) {
	files := f.Files()
	if typed.Again != "" {
		e, err := d.earlier(r, typed.Again)
		if err != nil {
			typed.Again = ""
			return school.Submission{}, err
		}
		f.Replaced = true
		if typed.Carried = e.carried; typed.Carry {
			files = e.after(r.Context(), f)
		}
	}
	return d.deps.Classes.Submit(r.Context(), r.Actor(), classes.NewSubmission{
		Class: r.PathValue("class"), Assignment: r.PathValue("assignment"),
		Kind: typed.Kind, Files: files, Idempotency: f.Fields[fieldKey],
	})
}
