package client

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"mime/multipart"
	"net/textproto"
	"strconv"
	"sync/atomic"

	"drover/core"
	"drover/core/coursework"
)

// errUnwanted is what a file hears that the site does not read any further.
var errUnwanted = errors.New("the site reads no further")

// files makes a body of files, each a part of a form under its path. They are read as
// they go out, and anew for each try.
func files(all iter.Seq2[coursework.Upload, error]) func() upload {
	return func() upload {
		out, in := io.Pipe()
		form := multipart.NewWriter(in)
		var broken atomic.Pointer[error]
		go func() {
			err := writeFiles(form, all)
			if err == nil {
				err = form.Close()
			}
			if err != nil && !errors.Is(err, errUnwanted) && !errors.Is(err, io.ErrClosedPipe) {
				broken.Store(&err)
			}
			_ = in.CloseWithError(err) // it always succeeds
		}()
		return upload{kind: form.FormDataContentType(), from: out, err: func() error {
			_ = out.CloseWithError(errUnwanted) // it always succeeds
			if err := broken.Load(); err != nil {
				return *err
			}
			return nil
		}}
	}
}

func writeFiles(form *multipart.Writer, all iter.Seq2[coursework.Upload, error]) error {
	for file, err := range all {
		if err != nil {
			return err
		}
		head := textproto.MIMEHeader{}
		head.Set("Content-Disposition", mime.FormatMediaType("form-data", map[string]string{"name": "file", "filename": file.Path}))
		if head.Get("Content-Disposition") == "" {
			return core.Errorf(core.CodeInvalid, file.Path, "the name of the file %q cannot be sent", file.Path)
		}
		head.Set("Content-Type", "application/octet-stream")
		if file.Mode != 0 {
			head.Set("File-Mode", strconv.FormatUint(uint64(file.Mode), 8))
		}
		part, err := form.CreatePart(head)
		if err != nil {
			return err
		}
		if _, err := io.Copy(part, reading{file.Content, file.Path}); err != nil {
			return err
		}
	}
	return nil
}

// reading tells a file that cannot be read from a site that does not take it.
type reading struct {
	from io.Reader
	path string
}

func (r reading) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	if err != nil && err != io.EOF { //nolint:errorlint // as io.Reader has it
		err = core.Wrap(fmt.Errorf("%w", err), core.CodeInvalid, r.path, "the file %s cannot be read", r.path)
	}
	return n, err
}
