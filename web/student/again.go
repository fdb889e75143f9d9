package student

import (
	"bytes"
	"context"
	"io"
	"iter"
	"unicode/utf8"

	"drover/core"
	"drover/core/classes"
	"drover/core/requests/intake"
	"drover/web/page"
	"drover/web/transfer"
)

// Bounds on files of an earlier submission that a form has as text: their number, and bytes of each.
const (
	maxEdited      = 10
	maxEditedBytes = 64 << 10
)

// earlier is a submission that is submitted again, with changes.
type earlier struct {
	kind    string
	files   *classes.Files
	texts   []transfer.Text // to edit
	carried []core.File     // all others
}

// earlier returns a submission of the reader to the assignment of the page. Returns NOTFOUND for any other.
func (d *student) earlier(r *page.Request, id string) (earlier, error) {
	files, err := d.deps.Classes.OpenFiles(r.Context(), r.Actor(), id)
	if err != nil {
		return earlier{}, err
	}
	s := files.Submission
	if s.Class != r.PathValue("class") || s.Assignment != r.PathValue("assignment") || s.User != r.Actor().Handle {
		return earlier{}, core.Errorf(core.CodeNotFound, id, "%s", r.T("This is no submission of yours to this assignment."))
	}
	e := earlier{kind: s.Kind, files: files}
	for _, f := range s.Files {
		text, err := e.editable(r.Context(), f)
		if err != nil {
			return e, err
		}
		if text == "" {
			e.carried = append(e.carried, f)
			continue
		}
		e.texts = append(e.texts, transfer.Text{Name: f.Path, Content: text})
	}
	return e, nil
}

// editable returns a file's text, if a text area returns it unchanged; "" for all other files.
func (e *earlier) editable(ctx context.Context, f core.File) (string, error) {
	if len(e.texts) == maxEdited || f.Size > maxEditedBytes || f.Mode != 0 && f.Mode != 0o644 {
		return "", nil
	}
	_, content, err := e.files.Open(ctx, f.Path)
	if err != nil {
		return "", err
	}
	defer content.Close() //nolint:errcheck // only read from
	text, err := io.ReadAll(io.LimitReader(content, maxEditedBytes+1))
	if err != nil {
		return "", core.Wrap(err, core.CodeUnavailable, f.Path, "the file cannot be read")
	}
	if !utf8.Valid(text) || bytes.ContainsAny(text, "\x00\r") {
		return "", nil
	}
	return string(text), nil
}

// after yields the files of a form, and then those of the earlier submission that the form does not have.
func (e *earlier) after(ctx context.Context, f *transfer.Form) iter.Seq2[intake.Upload, error] {
	return func(yield func(intake.Upload, error) bool) {
		for u, err := range f.Files() {
			if !yield(u, err) || err != nil {
				return
			}
		}
		for _, one := range e.carried {
			if !f.Sent(one.Path) && !e.carry(ctx, one, yield) {
				return
			}
		}
	}
}

// carry yields a file of the earlier submission. Returns false if that is the end.
func (e *earlier) carry(ctx context.Context, f core.File, yield func(intake.Upload, error) bool) bool {
	_, content, err := e.files.Open(ctx, f.Path)
	if err != nil {
		yield(intake.Upload{}, err)
		return false
	}
	defer content.Close() //nolint:errcheck // only read from
	return yield(intake.Upload{Path: f.Path, Mode: f.Mode, Content: content}, nil)
}
