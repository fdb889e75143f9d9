package staff

import (
	"errors"
	"io"
	"strings"

	"drover/core"
	"drover/core/classes"
	"drover/web/page"
)

// maxImportBody leaves room for the form around a roster, which is sent again after its preview, as text with escaped
// line ends.
const maxImportBody = 3*classes.MaxImportBytes + page.MaxForm

// importPage is the form of an import, and its report.
type importPage struct {
	Class classes.ClassEntry
	Text  string // the file, as it was read
	Done  *classes.Imported
	More  int // number of troubles that are not listed
}

func (s *staff) importForm(r *page.Request) error {
	p, err := s.importOf(r)
	if err != nil {
		return err
	}
	return r.Render("staff/import", p)
}

func (s *staff) importOf(r *page.Request) (importPage, error) {
	c, err := s.Classes.ViewClass(r.Context(), r.Actor(), r.PathValue("class"))
	if err == nil {
		err = may(r, core.ActEnrolStudent, c.Handle)
	}
	return importPage{Class: c}, err
}

// importRoster shows what an import would do, and does it after that was confirmed.
func (s *staff) importRoster(r *page.Request) error {
	p, err := s.importOf(r)
	if err != nil {
		return err
	}
	var sure bool
	if p.Text, sure, err = readRoster(r); err != nil {
		return err
	}
	if strings.TrimSpace(p.Text) == "" {
		return r.Again(core.Errorf(core.CodeInvalid, p.Class.Handle, "%s", r.T("Choose a file, or paste its lines.")), "staff/import", p)
	}
	done, err := s.Classes.ImportRoster(r.Context(), r.Actor(), p.Class.Handle, strings.NewReader(p.Text), !sure)
	if done.Rows > 0 || err == nil {
		p.Done, p.More = &done, done.Failed-len(done.Troubles)
	}
	switch {
	case err != nil:
		return r.Again(err, "staff/import", p)
	case sure && done.Failed == 0:
		return r.Redirect(classPath(p.Class.Handle)+"/roster", r.N(done.Rows, "%d line of the roster was imported.", "%d lines of the roster were imported."))
	}
	return r.Render("staff/import", p)
}

// readRoster reads the file, or else the text, and whether the import was confirmed.
func readRoster(r *page.Request) (text string, sure bool, err error) {
	form, err := r.MultipartReader()
	if err != nil {
		return "", false, core.Wrap(err, core.CodeInvalid, "", "the form cannot be read")
	}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return text, sure, nil
		}
		if err != nil {
			return text, sure, core.Wrap(err, core.CodeInvalid, "", "the form cannot be read")
		}
		content, err := io.ReadAll(io.LimitReader(part, classes.MaxImportBytes+1))
		if err != nil {
			return text, sure, core.Wrap(err, core.CodeInvalid, "", "the form cannot be read")
		}
		switch {
		case part.FormName() == "sure":
			sure = len(content) > 0
		case part.FormName() == "file" && len(content) > 0, part.FormName() == "text" && text == "":
			text = string(content)
		}
	}
}
