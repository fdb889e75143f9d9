package staff

import (
	"errors"
	"io"
	"strings"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
	"drover/web/page"
)

// maxImportBody leaves room for the form around a roster, which is sent again after its preview, as text with escaped
// line ends.
const maxImportBody = 3*classes.MaxImportBytes + page.MaxForm

// importPage is the form of an import, and its report.
type importPage struct {
	Class   classes.ClassEntry
	Text    string // the file, as it was read
	Names   bool   // existing users get the names of the file, too
	Admin   bool   // may have that
	Done    *classes.Imported
	Kinds   []string // what a column can be
	More    int      // number of troubles that are not listed
	Unlined int      // number of lines that are not listed
	Last    *school.RosterImport
}

func (s *staff) importForm(r *page.Request) error {
	p, err := s.importOf(r)
	if err != nil {
		return err
	}
	return r.Render("staff/import", p)
}

func (s *staff) importOf(r *page.Request) (importPage, error) {
	p := importPage{Kinds: classes.RosterColumns(), Admin: core.Allow(r.Actor(), core.ActUserManage, core.Object{}) == nil}
	var err error
	if p.Class, err = s.Classes.ViewClass(r.Context(), r.Actor(), r.PathValue("class")); err == nil {
		err = may(r, core.ActEnrolStudent, p.Class.Handle)
	}
	if err != nil {
		return p, err
	}
	last, err := s.Classes.LastImport(r.Context(), r.Actor(), p.Class.Handle)
	if core.Is(err, core.CodeNotFound) {
		return p, nil
	}
	p.Last = &last
	return p, err
}

// importRoster shows what an import would do, and does it after that was confirmed.
func (s *staff) importRoster(r *page.Request) error {
	p, err := s.importOf(r)
	if err != nil {
		return err
	}
	f, err := readRoster(r)
	if err != nil {
		return err
	}
	p.Text, p.Names = f.text, f.opts.Names
	if strings.TrimSpace(p.Text) == "" {
		return r.Again(core.Errorf(core.CodeInvalid, p.Class.Handle, "%s", r.T("Choose a file, or paste its lines.")), "staff/import", p)
	}
	done, err := s.Classes.ImportRoster(r.Context(), r.Actor(), p.Class.Handle, strings.NewReader(p.Text), f.opts)
	if len(done.Header) > 0 || err == nil {
		p.Done, p.More, p.Unlined = &done, done.Failed-len(done.Troubles), done.Rows-len(done.Lines)
	}
	switch {
	case err != nil:
		return r.Again(err, "staff/import", p)
	case !f.opts.DryRun && done.Failed == 0:
		return r.Redirect(classPath(p.Class.Handle)+"/roster", r.N(done.Rows-done.Skipped, "%d line of the roster was imported.", "%d lines of the roster were imported."))
	}
	return r.Render("staff/import", p)
}

// undoImport undoes the last import.
func (s *staff) undoImport(r *page.Request) error {
	class := r.PathValue("class")
	done, err := s.Classes.UndoImport(r.Context(), r.Actor(), class)
	if core.Is(err, core.CodeConflict) {
		p, failed := s.importOf(r)
		if failed != nil {
			return failed
		}
		return r.Again(core.Errorf(core.CodeInvalid, class, "%s", r.T("The last import is undone already.")), "staff/import", p)
	}
	if err != nil {
		return err
	}
	return r.Redirect(classPath(class)+"/roster", r.T("The import is undone: %d dropped, %d changed back, %d users deleted.", done.Dropped, done.Changed, done.Deleted))
}

// rosterForm is what the form of an import says.
type rosterForm struct {
	text string
	opts classes.ImportOptions
}

// readRoster reads the file, or else the text, with what its columns are, and whether the import was confirmed.
func readRoster(r *page.Request) (rosterForm, error) {
	f := rosterForm{opts: classes.ImportOptions{DryRun: true}}
	form, err := r.MultipartReader()
	if err != nil {
		return f, core.Wrap(err, core.CodeInvalid, "", "the form cannot be read")
	}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if err != nil {
			return f, core.Wrap(err, core.CodeInvalid, "", "the form cannot be read")
		}
		content, err := io.ReadAll(io.LimitReader(part, classes.MaxImportBytes+1))
		if err != nil {
			return f, core.Wrap(err, core.CodeInvalid, "", "the form cannot be read")
		}
		switch name := part.FormName(); {
		case name == "sure":
			f.opts.DryRun = len(content) == 0
		case name == "names":
			f.opts.Names = len(content) > 0
		case name == "column" && len(f.opts.Columns) < 1000:
			f.opts.Columns = append(f.opts.Columns, string(content))
		case name == "file" && len(content) > 0, name == "text" && f.text == "":
			f.text = classes.PlainRoster(content)
		}
	}
}
