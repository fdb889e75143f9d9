package classes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"drover/core"
	"drover/core/school"
)

// lookUp reads, in a few calls, everybody whom the file may mean, and the members of the class.
func (im *importing) lookUp(ctx context.Context) error {
	im.users, im.members = map[string]*school.User{}, map[string]school.Enrolment{}
	var keys []string
	for _, row := range im.file.rows {
		given, made := im.given(row)
		for _, key := range []string{given.Handle, given.Email, made} {
			if _, _, err := school.UserKey(key); key != "" && err == nil {
				keys = append(keys, key)
			}
		}
	}
	for some := range slices.Chunk(keys, school.MaxKeys) {
		found, err := im.r.Store.GetUsers(ctx, some)
		if err != nil {
			return err
		}
		for i := range found {
			im.users[found[i].Handle] = &found[i]
			if found[i].Email != "" {
				im.users[found[i].Email] = &found[i]
			}
		}
	}
	for after := ""; ; {
		in, err := im.r.Store.Members(ctx, im.class, after, page)
		if err != nil {
			return err
		}
		for _, e := range in {
			im.members[e.User] = e
			after = e.User
		}
		if len(in) < page {
			return nil
		}
	}
}

// given is the user that a row describes, and the handle that is made if the row has none.
func (im *importing) given(row []string) (u school.User, made string) {
	f := &im.file
	u = school.User{Handle: f.cell(row, ColHandle), Name: f.fullName(row), Email: strings.ToLower(f.cell(row, ColEmail))}
	login := f.cell(row, ColLogin)
	if strings.Contains(u.Handle, "@") {
		login, u.Handle = cmp.Or(login, u.Handle), ""
	}
	if strings.Contains(login, "@") && u.Email == "" {
		u.Email = strings.ToLower(login)
	}
	if u.Handle == "" && login != "" && !strings.Contains(login, "@") {
		u.Handle = handleFrom(login)
	}
	return u, handleFrom(cmp.Or(u.Email, u.Name))
}

// line plans what happens with a row.
func (im *importing) line(ctx context.Context, row []string, l *ImportedLine) error {
	if im.file.nobody(row) {
		l.Does = LineSkipped
		return nil
	}
	given, made := im.given(row)
	l.User, l.Name, l.Email, l.Role, l.Section = given.Handle, given.Name, given.Email, roleOf(im.file.cell(row, ColRole)), im.file.cell(row, ColSection)
	if most := len(im.file.header); len(row) > most && strings.TrimSpace(strings.Join(row[most:], "")) != "" {
		return core.Errorf(core.CodeInvalid, im.class, "it has %d columns, and the first line only %d", len(row), most)
	}
	if given.Handle == "" && given.Email == "" && given.Name == "" {
		return core.Errorf(core.CodeInvalid, im.class, "it names nobody: fill in the handle or the e-mail address")
	}
	for _, key := range []string{given.Handle, given.Email} {
		if key == "" {
			continue
		}
		if _, _, err := school.UserKey(key); err != nil {
			return err
		}
	}
	u, err := im.find(given)
	if err != nil {
		return err
	}
	if u == nil {
		if u, err = im.unnamed(ctx, &given, made); err != nil {
			return err
		}
	}
	if u != nil {
		return cmp.Or(im.once(u.Handle, u.Email, l), im.existing(u, given, l))
	}
	return cmp.Or(im.once(given.Handle, given.Email, l), im.create(given, l))
}

// once refuses the second line of one person.
func (im *importing) once(handle, email string, l *ImportedLine) error {
	l.User = handle
	for _, key := range []string{handle, email} {
		if before, twice := im.lines[key]; twice && key != "" {
			return core.Errorf(core.CodeInvalid, key, "%s is in line %d already", key, before)
		}
		im.lines[key] = l.Line
	}
	return nil
}

// find returns the user that a row names by handle or e-mail address; nil for none.
func (im *importing) find(given school.User) (*school.User, error) {
	byHandle, byEmail := im.users[given.Handle], im.users[given.Email]
	switch {
	case given.Handle == "":
		return byEmail, nil
	case byHandle != nil && given.Email != "" && byHandle.Email != "" && byHandle.Email != given.Email:
		return nil, core.Errorf(core.CodeConflict, given.Handle, "user %s has another e-mail address: correct the line, or have the column of e-mail addresses ignored", given.Handle)
	case byHandle == nil && byEmail != nil:
		return nil, core.Errorf(core.CodeConflict, given.Handle, "the e-mail address %s is that of user %s", given.Email, byEmail.Handle)
	}
	return byHandle, nil
}

// unnamed finds a member of the class that a row without handle and address means by name, or else gives the row a
// handle that nobody has.
func (im *importing) unnamed(ctx context.Context, given *school.User, made string) (*school.User, error) {
	if given.Handle != "" {
		return nil, nil //nolint:nilnil // a new user
	}
	made = cmp.Or(made, "user")
	const most = 100
	for n := 1; n <= most; n++ {
		handle := made
		if n > 1 {
			handle += "-" + strconv.Itoa(n)
		}
		u, known := im.users[handle]
		if !known {
			found, err := im.r.Store.GetUser(ctx, handle)
			if err != nil && !core.Is(err, core.CodeNotFound) {
				return nil, err
			}
			if err == nil {
				u = &found
			}
			im.users[handle] = u
		}
		_, member := im.members[handle]
		line, taken := im.lines[handle]
		switch {
		case given.Email == "" && taken:
			return nil, core.Errorf(core.CodeInvalid, handle, "line %d has the same name: tell both apart by handle or e-mail address", line)
		case u == nil && !taken && !reserved(handle):
			given.Handle = handle
			return nil, nil //nolint:nilnil // a new user
		case u != nil && member && given.Email == "" && u.Name == given.Name:
			return u, nil
		}
	}
	return nil, core.Errorf(core.CodeInvalid, made, "no handle could be made of it: fill in the handle")
}

// create plans a new user.
func (im *importing) create(u school.User, l *ImportedLine) error {
	if !im.opts.Vouched && core.Allow(im.a, core.ActUserManage, core.Object{}) != nil {
		return core.Errorf(core.CodeNotFound, u.Handle, "there is no user %.80q: ask an admin to make it", cmp.Or(u.Email, u.Handle))
	}
	u, err := im.r.newUser(u)
	if err != nil {
		return err
	}
	l.Does, l.user = LineCreated, u
	l.row = school.ImportedRow{User: u.Handle, Created: true, Role: cmp.Or(l.Role, core.RoleStudent), Section: l.Section}
	return im.enrolment(l)
}

// existing plans the enrolment of a user that there is.
func (im *importing) existing(u *school.User, given school.User, l *ImportedLine) error {
	was, member := im.members[u.Handle]
	l.Name, l.Email = cmp.Or(u.Name, given.Name), cmp.Or(u.Email, given.Email)
	l.row = school.ImportedRow{
		User: u.Handle, OldRole: was.Role, OldSection: was.Section,
		Role: cmp.Or(l.Role, was.Role, core.RoleStudent), Section: cmp.Or(l.Section, was.Section),
	}
	var changes diff
	if im.opts.Names && given.Name != "" && given.Name != u.Name {
		l.row.Renamed, l.row.Name, l.row.OldName = true, given.Name, u.Name
		l.user, l.Name = *u, given.Name
		l.user.Name = given.Name
		if err := l.user.Check(); err != nil {
			return err
		}
		changes.note("name", u.Name, given.Name)
	}
	changes.note("role", was.Role, l.row.Role)
	changes.note("section", was.Section, l.row.Section)
	switch {
	case !member:
		l.Does = LineEnrolled
	case len(changes) > 0:
		l.Does, l.Text = LineChanged, strings.Join(changes, ", ")
	default:
		l.Does = LineSame
	}
	return im.enrolment(l)
}

// enrolment checks the rights to a planned enrolment.
func (im *importing) enrolment(l *ImportedLine) error {
	row := l.row
	l.Role, l.Section = row.Role, row.Section
	if err := (school.Enrolment{Class: im.class, User: row.User, Role: row.Role, Section: row.Section}).Check(); err != nil {
		return err
	}
	for _, role := range []core.UserRole{row.Role, row.OldRole} {
		if role == "" || l.Does == LineSame {
			continue
		}
		if err := core.Allow(im.a, enrolling(role), core.Object{Class: im.class}); err != nil {
			return fmt.Errorf("line %d: %w", l.Line, err)
		}
	}
	return nil
}
