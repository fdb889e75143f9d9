package student

import (
	"io"

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
)

// drained is how many bytes of a refused form are still read: a browser that cannot send it to the end shows no
// answer.
const drained = 64 << 20

// submitTo makes a submission. Files are passed on as they arrive.
func (d *student) submitTo(r *page.Request) error {
	body := transfer.Bounded(r.W, r.Body, nil)
	f, err := transfer.Read(body, r.Header.Get("Content-Type"))
	typed := form{Kind: harness.TestPublic}
	var s school.Submission
	if err == nil {
		h := classes.NewSubmission{
			Class: r.PathValue("class"), Assignment: r.PathValue("assignment"),
			Kind: f.Fields[fieldKind], Files: f.Files(), Idempotency: f.Fields[fieldKey],
		}
		s, err = d.deps.Classes.Submit(r.Context(), r.Actor(), h)
		typed = form{Kind: h.Kind, Keep: f.Fields[transfer.FieldArchives] == transfer.Keep, Name: f.Fields[transfer.FieldName]}
	}
	if err == nil {
		return r.Redirect(path("submissions", s.ID), r.T("Submitted."))
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(body, drained))
	a, unseen := d.readAssignment(r, typed)
	if unseen != nil {
		return unseen
	}
	return r.Again(err, "student/assignment", a)
}
