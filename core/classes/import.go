package classes

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"drover/core"
	"drover/core/account/auditlog"
	"drover/core/school"
)

// Bounds on a roster that is imported.
const (
	MaxImportRows     = school.MaxImportedRows
	MaxImportBytes    = 4 << 20
	MaxImportTroubles = 100  // faulty lines that are listed; all are counted
	MaxImportLines    = 1000 // lines of which the report says what happens
)

// ImportOptions say how a roster is read.
type ImportOptions struct {
	DryRun  bool
	Columns []string // what each column of the file is, see RosterColumns; nil: what its name says
	Names   bool     // give existing users the names of the file, too; needs the right to manage users

	// Vouched has unknown people made without the right to make users: a learning platform that an admin added names them.
	Vouched bool
	// Made is called for each user that was made, also at once for several; nil: nobody wants to know.
	Made func(line int, user school.User)
}

// Imported is what an import of a roster did, or would do.
type Imported struct {
	DryRun   bool           `json:"dry_run,omitempty"` // nothing was changed
	ID       string         `json:"id,omitempty"`      // of an import that changed something
	Header   []string       `json:"header"`            // the file's first line
	Columns  []string       `json:"columns"`           // what each column was taken for
	Rows     int            `json:"rows"`
	Created  int            `json:"created"`  // users
	Enrolled int            `json:"enrolled"` // users, including created ones
	Changed  int            `json:"changed"`  // to another role, section or name
	Same     int            `json:"same"`     // already in the class as the line says
	Skipped  int            `json:"skipped"`  // lines that are of no person
	Failed   int            `json:"failed"`
	Troubles []Trouble      `json:"troubles,omitempty"` // why, for the first MaxImportTroubles
	Lines    []ImportedLine `json:"lines,omitempty"`    // the first MaxImportLines
}

// Trouble describes the fault of one line of a file.
type Trouble struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

// What an import does with a line.
const (
	LineCreated  = "created"  // makes the user, and enrols it
	LineEnrolled = "enrolled" // enrols a user that there is
	LineChanged  = "changed"
	LineSame     = "same"
	LineSkipped  = "skipped"
	LineWrong    = "wrong"
)

// ImportedLine is what an import did, or would do, with one line.
type ImportedLine struct {
	Line    int           `json:"line"`
	Does    string        `json:"does"`
	User    string        `json:"user,omitempty"`
	Name    string        `json:"name,omitempty"`
	Email   string        `json:"email,omitempty"`
	Role    core.UserRole `json:"role,omitempty"`
	Section string        `json:"section,omitempty"`
	Text    string        `json:"text,omitempty"` // what is wrong, or what changes

	row  school.ImportedRow
	user school.User // that is made or renamed
}

// importing is an import in progress.
type importing struct {
	r       *Service
	a       core.Actor
	class   string
	opts    ImportOptions
	file    rosterFile
	users   map[string]*school.User // by handle and e-mail address
	members map[string]school.Enrolment
	lines   map[string]int // handle or e-mail address → the line that has it
	plan    []ImportedLine
}

// ImportRoster enrols the people of a file: a table with names of columns in its first line. Users are known by
// handle, login, e-mail address or, within the class, by name; unknown ones are created if the actor may do that.
// What a line does not say stays as it is, so importing the same file again changes nothing. Faulty lines are reported
// and skipped. With dry run, nothing is changed and the same report is made. What is to change is recorded first, for
// UndoImport.
//
// Returns NOTFOUND, FORBIDDEN, CONFLICT; INVALID and LIMIT if the file as a whole is faulty, with its columns if they
// could be read; and UNAVAILABLE after a part was done: the same file again does the rest.
func (r *Service) ImportRoster(ctx context.Context, a core.Actor, class string, file io.Reader, opts ImportOptions) (Imported, error) {
	if _, err := r.openClass(ctx, a, class, core.ActEnrolStudent); err != nil {
		return Imported{}, err
	}
	if opts.Names {
		if err := core.Allow(a, core.ActUserManage, core.Object{}); err != nil {
			return Imported{}, err
		}
	}
	f, err := readRoster(class, file, opts.Columns)
	im := &importing{r: r, a: a, class: class, opts: opts, file: f, lines: map[string]int{}}
	if err != nil {
		return im.report(""), err
	}
	if err := im.lookUp(ctx); err != nil {
		return im.report(""), err
	}
	for i, row := range f.rows {
		l := ImportedLine{Line: f.lines[i]}
		if err := im.line(ctx, row, &l); err != nil {
			if !lineFault(err) {
				return im.report(""), err
			}
			l.Does, l.Text = LineWrong, auditlog.Sentence(err.Error())
		}
		im.plan = append(im.plan, l)
	}
	if opts.DryRun {
		return im.report(""), nil
	}
	id, err := im.apply(ctx)
	return im.report(id), err
}

// lineFault reports whether an error is about one line, so that the import goes on.
func lineFault(err error) bool {
	switch core.CodeOf(err) {
	case core.CodeInvalid, core.CodeNotFound, core.CodeConflict, core.CodeForbidden, core.CodeLimit:
		return true
	default:
		return false
	}
}

func unreadable(class string, err error) error {
	var wrong *csv.ParseError
	if errors.As(err, &wrong) {
		return core.Errorf(core.CodeInvalid, class, "line %d of the roster is no CSV: %s", wrong.Line, wrong.Err)
	}
	return core.Wrap(err, core.CodeInvalid, class, "the roster cannot be read")
}

// report counts what the plan does.
func (im *importing) report(id string) Imported {
	done := Imported{DryRun: im.opts.DryRun, ID: id, Header: im.file.header, Columns: im.file.columns, Rows: len(im.plan)}
	for _, l := range im.plan {
		switch l.Does {
		case LineCreated:
			done.Created++
			done.Enrolled++
		case LineEnrolled:
			done.Enrolled++
		case LineChanged:
			done.Changed++
		case LineSame:
			done.Same++
		case LineSkipped:
			done.Skipped++
		default:
			done.Failed++
			if len(done.Troubles) < MaxImportTroubles {
				done.Troubles = append(done.Troubles, Trouble{l.Line, l.Text})
			}
		}
	}
	done.Lines = im.plan[:min(len(im.plan), MaxImportLines)]
	return done
}

// apply does what the plan says, some lines at once: the store waits for its disk once for all of them.
func (im *importing) apply(ctx context.Context) (id string, err error) {
	record := school.RosterImport{Class: im.class, ID: im.r.newID(), By: im.a.Handle, At: im.r.now().UnixMilli()}
	var todo []int
	for i, l := range im.plan {
		if l.Does == LineCreated || l.Does == LineEnrolled || l.Does == LineChanged {
			record.Rows, todo = append(record.Rows, l.row), append(todo, i)
		}
	}
	if len(todo) == 0 {
		return "", nil
	}
	if err := record.Check(); err != nil {
		return "", err
	}
	last, err := im.r.Store.GetRosterImport(ctx, im.class)
	if err != nil && !core.Is(err, core.CodeNotFound) {
		return "", err
	}
	record.Revision = last.Revision
	entry := core.AuditEntry{Action: core.ActEnrolStudent, Class: im.class, Subject: im.class, Text: fmt.Sprintf("imports a roster of %d people, import %s", len(todo), record.ID)}
	if err := im.r.change(ctx, im.a, entry, func() error {
		_, err := im.r.Store.PutRosterImport(ctx, record)
		return err
	}); err != nil {
		return "", err
	}
	return record.ID, im.each(ctx, todo, record.At)
}

// each makes the changes of lines.
func (im *importing) each(ctx context.Context, todo []int, at int64) error {
	var mu sync.Mutex
	var work errgroup.Group
	work.SetLimit(8)
	for _, i := range todo {
		l := &im.plan[i]
		work.Go(func() error {
			err := im.do(ctx, l, at)
			if err == nil {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			l.Does, l.Text = LineWrong, auditlog.Sentence(err.Error())
			if lineFault(err) {
				return nil
			}
			return core.Wrap(err, core.CodeOf(err), im.class, "the import stopped at line %d: import the same file again to go on", l.Line)
		})
	}
	return work.Wait()
}

// do makes the changes of a line.
func (im *importing) do(ctx context.Context, l *ImportedLine, at int64) error {
	row := l.row
	if row.Created {
		if _, err := im.r.putUser(ctx, im.a, l.user, "creates user "+row.User); err != nil {
			return err
		}
		if im.opts.Made != nil {
			im.opts.Made(l.Line, l.user)
		}
	}
	if row.Renamed {
		if _, err := im.r.putUser(ctx, im.a, l.user, fmt.Sprintf("changes user %s: name from %q to %q", row.User, shorten(row.OldName), shorten(row.Name))); err != nil {
			return err
		}
	}
	if row.Role == row.OldRole && row.Section == row.OldSection {
		return nil
	}
	e := school.Enrolment{Class: im.class, User: row.User, Role: row.Role, Section: row.Section, Since: at}
	return cmp.Or(e.Check(), im.r.enrol(ctx, im.a, e, row.OldRole))
}

// roleOf reads a role as other systems write it, too.
func roleOf(text string) core.UserRole {
	switch text = strings.ToLower(text); text {
	case "ta", "tutor", "assistant", "taenrollment", "teaching assistant":
		return core.RoleAssistant
	case "studentenrollment", "learner":
		return core.RoleStudent
	case "teacherenrollment", "instructor":
		return core.RoleTeacher
	}
	return core.UserRole(text)
}
