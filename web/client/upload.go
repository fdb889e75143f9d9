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
	"drover/core/requests/intake"
)

// errUnwanted is returned to the writer of a file that the site does not read any further.
var errUnwanted = errors.New("the site reads no further")

// form makes a body of the parts that write writes, while they are sent, and again for each try.
func form(write func(form *multipart.Writer) error) func() upload {
	return func() upload {
		out, in := io.Pipe()
		form := multipart.NewWriter(in)
		var broken atomic.Pointer[error]
		go func() {
			err := write(form)
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

// files makes a body of files, each a part under its path.
func files(all iter.Seq2[intake.Upload, error]) func() upload {
	return form(func(form *multipart.Writer) error {
		for file, err := range all {
			if err == nil {
				err = writeFile(form, "file", file.Path, file.Mode, file.Content)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// writeFile adds a file to a form.
func writeFile(form *multipart.Writer, name, path string, mode uint32, content io.Reader) error {
	head := textproto.MIMEHeader{}
	head.Set("Content-Disposition", mime.FormatMediaType("form-data", map[string]string{"name": name, "filename": path}))
	if head.Get("Content-Disposition") == "" {
		return core.Errorf(core.CodeInvalid, path, "the name of the file %q cannot be sent", path)
	}
	head.Set("Content-Type", "application/octet-stream")
	if mode != 0 {
		head.Set("File-Mode", strconv.FormatUint(uint64(mode), 8))
	}
	part, err := form.CreatePart(head)
	if err != nil {
		return err
	}
	_, err = io.Copy(part, reading{content, path})
	return err
}

// reading distinguishes a file that cannot be read from a site that does not accept it.
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
