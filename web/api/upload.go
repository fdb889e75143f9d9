package api

import (
	"context"
	"errors"
	"io"
	"iter"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"strconv"

	"drover/core"
	"drover/core/requests/intake"
	"drover/web/transfer"
)

// modeHeader is the header of a part with its file's permissions, in octal.
const modeHeader = "File-Mode"

// body returns the body of a request that may be large, bounded in bytes and time.
func (s *server) body(ctx context.Context, most int64) io.Reader {
	e := exchanged(ctx)
	return transfer.Bounded(e.w, http.MaxBytesReader(e.w, e.r.Body, most), s.Now)
}

// form opens a multipart/form-data body, of which nothing has been read yet.
func (s *server) form(ctx context.Context) (*multipart.Reader, error) {
	kind, with, err := mime.ParseMediaType(exchanged(ctx).r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || with["boundary"] == "" {
		return nil, core.Errorf(core.CodeInvalid, "", "the body is no multipart/form-data: send each file as a part of a form, as curl -F file=@main.py does")
	}
	return multipart.NewReader(s.body(ctx, transfer.MaxBody), with["boundary"]), nil
}

// each yields the parts of a form as they arrive: none is held in memory, and each is read before the next one
// begins.
func each[T any](form *multipart.Reader, is func(*multipart.Part) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			part, err := form.NextRawPart()
			if err == io.EOF { //nolint:errorlint // as multipart has it: not one that is inside another
				return
			}
			var one T
			if err != nil {
				err = broken(err)
			} else {
				one, err = is(part)
			}
			if !yield(one, err) || err != nil {
				return
			}
		}
	}
}

// uploads yields the files of a multipart/form-data body.
func (s *server) uploads(ctx context.Context) iter.Seq2[intake.Upload, error] {
	return func(yield func(intake.Upload, error) bool) {
		form, err := s.form(ctx)
		if err != nil {
			yield(intake.Upload{}, err)
			return
		}
		each(form, fileOf)(yield)
	}
}

// fileOf returns a part of a form as a file, under the exact path in the form.
func fileOf(part *multipart.Part) (intake.Upload, error) {
	_, with, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	path, named := with["filename"]
	if err != nil || !named {
		return intake.Upload{}, core.Errorf(core.CodeInvalid, "", "part %.80q of the form is no file: give it a filename, the path under which it is kept", part.FormName())
	}
	mode := uint64(0)
	if text := part.Header.Get(modeHeader); text != "" {
		if mode, err = strconv.ParseUint(text, 8, 9); err != nil {
			return intake.Upload{}, core.Errorf(core.CodeInvalid, path, "%s %.20q of file %.80q is no octal number of at most 777", modeHeader, text, path)
		}
	}
	return intake.Upload{Path: path, Mode: uint32(mode), Content: whole{part}}, nil
}

// whole reads a part, and returns its faults as errors of core.
type whole struct{ part io.Reader }

func (w whole) Read(b []byte) (int, error) {
	n, err := w.part.Read(b)
	if err != nil && err != io.EOF { //nolint:errorlint // as io.Reader has it
		err = broken(err)
	}
	return n, err
}

// broken returns why a body cannot be read to its end.
func broken(err error) error {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return core.Wrap(err, core.CodeLimit, "", "the body has more than %d bytes", large.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &Problem{
			Status: http.StatusRequestTimeout, Title: http.StatusText(http.StatusRequestTimeout), Code: core.CodeLimit, Type: problemType(core.CodeLimit),
			Detail: "the body comes too slowly: send it again over a faster connection",
		}
	default:
		return core.Wrap(err, core.CodeInvalid, "", "the body ends too early, or is no form: send it again")
	}
}
