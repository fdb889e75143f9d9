package transfer

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"drover/core"
	"drover/core/classes/portable"
	"drover/core/requests/intake"
)

// MaxBody bounds the body of a form with files; every assignment's limit is lower.
const MaxBody = 600 << 20

// Bounds on the fields of a form: their number, and bytes.
const (
	maxFields = 32
	maxField  = 64 << 10
	maxText   = 1 << 20 // of a typed file
	maxTexts  = 20      // typed files that are remembered
)

// Names of fields of a form with files. They come before its files.
const (
	FieldArchives = "archives" // Keep: do not unpack archives
	FieldName     = "name"     // of the text
	FieldText     = "text"     // a file's content, typed or pasted; after the files
)

// Keep is the value of FieldArchives for archives to stay packed.
const Keep = "keep"

// Form is a form with files that is being received.
type Form struct {
	Fields map[string]string // those before the first file
	// Texts are the typed files that have arrived so far, as typed, for a form that is shown again: at most 1 MiB.
	Texts []Text
	// Replaced drops a typed file whose name is that of a file before it. Otherwise it gets another name.
	Replaced bool

	parts *multipart.Reader
	next  *multipart.Part // the first file; nil once it was read
	names *portable.Names
	sent  map[string]bool // paths of files that were yielded
	kept  int             // bytes of Texts
}

// Text is a typed file.
type Text struct{ Name, Content string }

// Read reads a form up to its first file. Returns INVALID for what is no such form,
// LIMIT for too many or too long fields.
func Read(body io.Reader, contentType string) (*Form, error) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return nil, core.Errorf(core.CodeInvalid, "", "a form with files is sent as multipart/form-data, not %.80q", contentType)
	}
	f := &Form{Fields: make(map[string]string), parts: multipart.NewReader(body, params["boundary"]), names: portable.NewNames(), sent: make(map[string]bool)}
	for len(f.Fields) < maxFields {
		part, err := f.parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if err != nil {
			return nil, broken(err)
		}
		if isContent(part) {
			f.next = part
			return f, nil
		}
		if f.Fields[part.FormName()], err = text(part); err != nil {
			return nil, err
		}
	}
	return nil, core.Errorf(core.CodeLimit, "", "the form has more than %d fields", maxFields)
}

// isContent reports whether a part is a file, or stands for one.
func isContent(p *multipart.Part) bool {
	_, _, file := fileName(p)
	return file || p.FormName() == FieldText
}

func text(p *multipart.Part) (string, error) {
	all, err := io.ReadAll(io.LimitReader(p, maxField+1))
	if err != nil {
		return "", broken(err)
	}
	if len(all) > maxField {
		return "", core.Errorf(core.CodeLimit, "", "field %.40q is longer than %d bytes", p.FormName(), maxField)
	}
	return string(all), nil
}

// broken returns the error of a body that ends early or is malformed.
func broken(err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return core.Wrap(err, core.CodeLimit, "", "that is more than %d MiB at once", large.Limit>>20)
	}
	return core.Wrap(err, core.CodeInvalid, "", "what was sent cannot be read: send it again")
}

// fileName returns the path of a part in the sender's folder; false for a part that is no file. (Part.FileName drops
// the folders.)
func fileName(p *multipart.Part) (name string, folder, file bool) {
	_, params, err := mime.ParseMediaType(p.Header.Get("Content-Disposition"))
	if err != nil {
		return "", false, false
	}
	name, file = params["filename"]
	name = strings.ReplaceAll(name, `\`, "/")
	return name, strings.Contains(name, "/"), file
}

// Files yields the files of the form, in its order. An unchosen file is left out. A folder's files come without the
// folder's own name, an archive's as in Unpack.
func (f *Form) Files() iter.Seq2[intake.Upload, error] {
	return func(yield func(intake.Upload, error) bool) {
		noting := func(u intake.Upload, err error) bool {
			f.sent[u.Path] = err == nil
			return yield(u, err)
		}
		for part := f.next; part != nil; {
			f.next = nil
			if !f.file(part, noting) {
				return
			}
			var err error
			if part, err = f.parts.NextRawPart(); errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				yield(intake.Upload{}, broken(err))
				return
			}
		}
	}
}

// Sent reports whether Files has yielded a file of that path.
func (f *Form) Sent(path string) bool { return f.sent[path] }

// Rest reads the form to its end, or to its first fault, for the Texts in it.
func (f *Form) Rest() {
	drop := func(intake.Upload, error) bool { return true }
	for part := f.next; ; {
		if part != nil && (part.FormName() == FieldText || part.FormName() == FieldName) {
			f.file(part, drop)
		}
		var err error
		if part, err = f.parts.NextRawPart(); err != nil {
			return
		}
	}
}

// file yields what a part holds. Returns false if that is the end.
func (f *Form) file(p *multipart.Part, yield func(intake.Upload, error) bool) bool {
	name, folder, isFile := fileName(p)
	content := content{p}
	switch {
	case isFile && name == "":
		return true
	case isFile && f.Fields[FieldArchives] != Keep && !folder && isArchive(name):
		for u, err := range unpack(name, content, f.names) {
			if !yield(u, err) || err != nil {
				return false
			}
		}
		return true
	case isFile:
		if folder {
			_, name, _ = strings.Cut(name, "/")
		}
		if name, ok := safe(f.names, name); ok {
			return yield(intake.Upload{Path: name, Content: content}, nil)
		}
		return true
	case p.FormName() == FieldText:
		return f.typed(content, yield)
	}
	// Fields after the files are ignored like unknown ones, except for the text's name.
	value, err := text(p)
	if err != nil {
		yield(intake.Upload{}, err)
		return false
	}
	if p.FormName() == FieldName {
		f.Fields[FieldName] = value
	}
	return true
}

// typed yields the typed text, if there is any.
func (f *Form) typed(c content, yield func(intake.Upload, error) bool) bool {
	text, err := io.ReadAll(io.LimitReader(c, maxText+1))
	// Browsers end the lines of a text area with CR LF.
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	typed := strings.TrimSpace(f.Fields[FieldName])
	if plain, ok := safe(portable.NewNames(), typed); ok && f.Replaced && f.sent[plain] {
		return true
	}
	if f.kept += len(text); f.kept <= maxText && len(f.Texts) < maxTexts {
		f.Texts = append(f.Texts, Text{typed, string(text)})
	}
	if err == nil && len(text) == 0 {
		return true
	}
	name, named := safe(f.names, typed)
	switch {
	case err != nil:
	case len(text) > maxText:
		err = core.Errorf(core.CodeLimit, "", "the text is longer than %d bytes: submit it as a file", maxText)
	case !named:
		err = core.Errorf(core.CodeInvalid, "", "the text has no name: give it one, such as main.py")
	}
	if err != nil {
		yield(intake.Upload{}, err)
		return false
	}
	return yield(intake.Upload{Path: name, Content: bytes.NewReader(text)}, nil)
}

// content reports errors of a part in words for its sender.
type content struct{ from io.Reader }

// Read implements io.Reader.
func (c content) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = broken(err)
	}
	return n, err
}
