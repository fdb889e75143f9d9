package classes

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"

	"drover/core"
	"drover/core/account/auditlog"
	"drover/core/school"
)

// Bounds on a roster that is imported.
const (
	MaxImportRows     = 10_000
	MaxImportBytes    = 4 << 20
	MaxImportTroubles = 100 // faulty lines that are listed; all are counted
)

// Imported is what an import of a roster did, or would do.
type Imported struct {
	DryRun   bool      `json:"dry_run,omitempty"` // nothing was changed
	Rows     int       `json:"rows"`
	Created  int       `json:"created"`  // users
	Enrolled int       `json:"enrolled"` // users, including created ones
	Changed  int       `json:"changed"`  // to another role
	Same     int       `json:"same"`     // already in the class with that role
	Failed   int       `json:"failed"`
	Troubles []Trouble `json:"troubles,omitempty"` // why, for the first MaxImportTroubles
}

// Trouble describes the fault of one line of a file.
type Trouble struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

// importing is an import in progress.
type importing struct {
	r     *Service
	a     core.Actor
	class string
	names map[string]int // of a column → its index
	lines map[string]int // handle or e-mail address → the line that has it
	done  Imported
}

// The columns of a roster.
const (
	colHandle = "handle"
	colName   = "name"
	colEmail  = "email"
	colRole   = "role"
)

// ImportRoster enrols the users in a CSV file with a line of column names: handle, name, email, role, in any order,
// at least handle or email; the default role is student. Unknown users are created if the actor may do that. Existing
// data stays, so importing the same file again changes nothing. Faulty lines are reported and skipped. With dry run,
// nothing is changed and the same report is made.
//
// Returns NOTFOUND, FORBIDDEN, CONFLICT; INVALID and LIMIT if the file as a whole is faulty; and UNAVAILABLE, with
// what was done so far.
func (r *Service) ImportRoster(ctx context.Context, a core.Actor, class string, file io.Reader, dry bool) (Imported, error) {
	if _, err := r.openClass(ctx, a, class, core.ActEnrolStudent); err != nil {
		return Imported{}, err
	}
	limited := &io.LimitedReader{R: file, N: MaxImportBytes + 1}
	rows := csv.NewReader(withoutMark(limited))
	rows.FieldsPerRecord, rows.ReuseRecord, rows.TrimLeadingSpace = -1, true, true
	im := importing{r: r, a: a, class: class, names: map[string]int{}, lines: map[string]int{}, done: Imported{DryRun: dry}}
	if err := im.header(rows); err != nil {
		return im.done, err
	}
	for {
		row, err := rows.Read()
		switch {
		case limited.N <= 0:
			return im.done, core.Errorf(core.CodeLimit, class, "the roster has more than %d bytes: import it in parts", MaxImportBytes)
		case errors.Is(err, io.EOF):
			return im.done, nil
		case err != nil:
			return im.done, unreadable(class, err)
		case im.done.Rows == MaxImportRows:
			return im.done, core.Errorf(core.CodeLimit, class, "the roster has more than %d lines: import it in parts", MaxImportRows)
		}
		line, _ := rows.FieldPos(0)
		im.done.Rows++
		if err := im.row(ctx, line, row); err != nil {
			return im.done, err
		}
	}
}

// withoutMark skips the byte order mark that some programs write first.
func withoutMark(r io.Reader) io.Reader {
	b := bufio.NewReader(r)
	if start, err := b.Peek(3); err == nil && string(start) == "\ufeff" {
		_, _ = b.Discard(3) // Peek has read these bytes
	}
	return b
}

func unreadable(class string, err error) error {
	var wrong *csv.ParseError
	if errors.As(err, &wrong) {
		return core.Errorf(core.CodeInvalid, class, "line %d of the roster is no CSV: %s", wrong.Line, wrong.Err)
	}
	return core.Wrap(err, core.CodeInvalid, class, "the roster cannot be read")
}

func (im *importing) header(rows *csv.Reader) error {
	names, err := rows.Read()
	if errors.Is(err, io.EOF) {
		return core.Errorf(core.CodeInvalid, im.class, "the roster is empty: its first line names the columns, such as handle,name,email,role")
	}
	if err != nil {
		return unreadable(im.class, err)
	}
	for i, name := range names {
		name = strings.ToLower(strings.TrimSpace(name))
		if !slices.Contains([]string{colHandle, colName, colEmail, colRole}, name) {
			return core.Errorf(core.CodeInvalid, im.class, "the roster's first line names the column %.40q: use %s, %s, %s and %s, with commas between them",
				name, colHandle, colName, colEmail, colRole)
		}
		if _, twice := im.names[name]; twice {
			return core.Errorf(core.CodeInvalid, im.class, "the roster's first line names the column %s twice", name)
		}
		im.names[name] = i
	}
	_, handles := im.names[colHandle]
	_, emails := im.names[colEmail]
	if !handles && !emails {
		return core.Errorf(core.CodeInvalid, im.class, "the roster's first line names neither %s nor %s: nobody could say who is meant", colHandle, colEmail)
	}
	return nil
}

// row enrols the user of a line. It returns an error if the import cannot continue.
func (im *importing) row(ctx context.Context, line int, row []string) error {
	err := im.enrol(ctx, line, row)
	switch core.CodeOf(err) {
	case "":
		return nil
	case core.CodeInvalid, core.CodeNotFound, core.CodeConflict, core.CodeForbidden, core.CodeLimit:
		im.done.Failed++
		if len(im.done.Troubles) < MaxImportTroubles {
			im.done.Troubles = append(im.done.Troubles, Trouble{line, auditlog.Sentence(err.Error())})
		}
		return nil
	default:
		return core.Wrap(err, core.CodeOf(err), im.class, "the import stopped at line %d: import the same file again to go on", line)
	}
}

func (im *importing) enrol(ctx context.Context, line int, row []string) error {
	field := func(name string) string {
		if i, ok := im.names[name]; ok && i < len(row) {
			return strings.TrimSpace(row[i])
		}
		return ""
	}
	if len(row) > len(im.names) {
		return core.Errorf(core.CodeInvalid, im.class, "it has %d columns, and the first line only %d", len(row), len(im.names))
	}
	role := cmp.Or(core.UserRole(strings.ToLower(field(colRole))), core.RoleStudent)
	given := school.User{Handle: field(colHandle), Name: field(colName), Email: strings.ToLower(field(colEmail))}
	who := cmp.Or(given.Handle, given.Email)
	if who == "" {
		return core.Errorf(core.CodeInvalid, im.class, "it names nobody: fill in the %s or the %s", colHandle, colEmail)
	}
	u, err := im.r.Store.GetUser(ctx, who)
	missing := core.Is(err, core.CodeNotFound)
	if err != nil && !missing {
		return err
	}
	if missing {
		u = given
	}
	for _, name := range []string{u.Handle, u.Email} {
		if before, twice := im.lines[name]; twice && name != "" {
			return core.Errorf(core.CodeInvalid, name, "%s is in line %d already", name, before)
		}
		im.lines[name] = line
	}
	if missing {
		return im.create(ctx, u, role)
	}
	return im.put(ctx, u.Handle, role)
}

// create creates a user and enrols it.
func (im *importing) create(ctx context.Context, u school.User, role core.UserRole) error {
	if core.Allow(im.a, core.ActUserManage, core.Object{}) != nil {
		return core.Errorf(core.CodeNotFound, u.Handle, "there is no user %.80q: ask an admin to make it", cmp.Or(u.Handle, u.Email))
	}
	u, err := im.r.newUser(u)
	if err != nil {
		return err
	}
	if err := (school.Enrolment{Class: im.class, User: u.Handle, Role: role}).Check(); err != nil {
		return err
	}
	if u.Email != "" {
		other, err := im.r.Store.GetUser(ctx, u.Email)
		if err == nil {
			return core.Errorf(core.CodeConflict, u.Handle, "the e-mail address %s is that of user %s", u.Email, other.Handle)
		}
		if !core.Is(err, core.CodeNotFound) {
			return err
		}
	}
	if im.done.DryRun {
		im.done.Created++
		im.done.Enrolled++
		return nil
	}
	if _, err := im.r.putUser(ctx, im.a, u, "creates user "+u.Handle); err != nil {
		return err
	}
	im.done.Created++
	return im.put(ctx, u.Handle, role)
}

// put enrols an existing user.
func (im *importing) put(ctx context.Context, user string, role core.UserRole) error {
	e, old, err := im.r.enrolment(ctx, im.a, im.class, user, role)
	if err != nil {
		return err
	}
	if old != role && !im.done.DryRun {
		err = im.r.enrol(ctx, im.a, e, old)
	}
	switch {
	case err != nil:
		return err
	case old == role:
		im.done.Same++
	case old == "":
		im.done.Enrolled++
	default:
		im.done.Changed++
	}
	return nil
}
