package classes

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"drover/core"
	"drover/core/school"
)

// Undone is what the undoing of an import did.
type Undone struct {
	ID      string `json:"id"`
	Dropped int    `json:"dropped"` // users that the import had enrolled
	Changed int    `json:"changed"` // roles, sections and names as they were before
	Deleted int    `json:"deleted"` // users that the import had made, and that nothing else uses
	Kept    int    `json:"kept"`    // users that somebody has changed since
}

// LastImport returns the record of the last import of a class. Returns NOTFOUND, FORBIDDEN.
func (r *Service) LastImport(ctx context.Context, a core.Actor, class string) (school.RosterImport, error) {
	if _, err := r.class(ctx, a, class, core.ActEnrolStudent); err != nil {
		return school.RosterImport{}, err
	}
	return r.Store.GetRosterImport(ctx, class)
}

// UndoImport undoes the last import of a class: it drops exactly whom the import enrolled, restores roles, sections
// and names, and deletes users that the import made and that nothing else uses. What somebody has changed since stays.
// After an error it can be called again. Returns NOTFOUND, FORBIDDEN, and CONFLICT if the import is undone already.
func (r *Service) UndoImport(ctx context.Context, a core.Actor, class string) (Undone, error) {
	if _, err := r.openClass(ctx, a, class, core.ActEnrolStudent); err != nil {
		return Undone{}, err
	}
	last, err := r.Store.GetRosterImport(ctx, class)
	if err != nil {
		return Undone{}, err
	}
	if last.Undone > 0 {
		return Undone{}, core.Errorf(core.CodeConflict, class, "the last import of class %s is undone already", class)
	}
	for _, row := range last.Rows {
		for _, role := range []core.UserRole{row.Role, row.OldRole} {
			if err := core.Allow(a, enrolling(role), core.Object{Class: class}); role != "" && err != nil {
				return Undone{}, err
			}
		}
	}
	results := make([]Undone, len(last.Rows))
	entry := core.AuditEntry{Action: core.ActEnrolStudent, Class: class, Subject: class, Text: fmt.Sprintf("undoes import %s of %d people", last.ID, len(last.Rows))}
	err = r.change(ctx, a, entry, func() error {
		var work errgroup.Group
		work.SetLimit(8)
		for i, row := range last.Rows {
			work.Go(func() (err error) {
				results[i], err = r.undo(ctx, a, last, row)
				return err
			})
		}
		if err := work.Wait(); err != nil {
			return err
		}
		last.Undone = r.now().UnixMilli()
		_, err := r.Store.PutRosterImport(ctx, last)
		return err
	})
	done := Undone{ID: last.ID}
	for _, one := range results {
		done.Dropped, done.Changed, done.Deleted, done.Kept = done.Dropped+one.Dropped, done.Changed+one.Changed, done.Deleted+one.Deleted, done.Kept+one.Kept
	}
	return done, err
}

// undo undoes the changes of one row.
func (r *Service) undo(ctx context.Context, a core.Actor, last school.RosterImport, row school.ImportedRow) (done Undone, err error) {
	now, err := r.enrolled(ctx, last.Class, row.User)
	if err != nil && !core.Is(err, core.CodeNotFound) {
		return done, err
	}
	moved := row.Role != row.OldRole || row.Section != row.OldSection
	switch {
	case !moved:
	case now.Role != row.Role || now.Section != row.Section || now.Since != last.At:
		done.Kept++ // or it was never done
	case row.OldRole == "":
		if _, err := r.Store.Drop(ctx, last.Class, row.User); err != nil {
			return done, err
		}
		done.Dropped++
	default:
		back := school.Enrolment{Class: last.Class, User: row.User, Role: row.OldRole, Section: row.OldSection, Since: r.now().UnixMilli()}
		if err := r.enrol(ctx, a, back, row.Role); err != nil {
			return done, err
		}
		done.Changed++
	}
	if core.Allow(a, core.ActUserManage, core.Object{}) != nil {
		return done, nil //nolint:nilerr // names and accounts are an admin's to undo
	}
	if row.Renamed {
		return done, r.undoName(ctx, a, row, &done)
	}
	if row.Created && done.Dropped > 0 {
		return done, r.unmake(ctx, a, row.User, &done)
	}
	return done, nil
}

// undoName gives a user its former name, unless somebody has changed the name since.
func (r *Service) undoName(ctx context.Context, a core.Actor, row school.ImportedRow, done *Undone) error {
	u, err := r.Store.GetUser(ctx, row.User)
	if core.Is(err, core.CodeNotFound) || err == nil && u.Name != row.Name {
		return nil
	}
	if err != nil {
		return err
	}
	u.Name = row.OldName
	if _, err = r.putUser(ctx, a, u, fmt.Sprintf("changes user %s: name from %q to %q", row.User, shorten(row.Name), shorten(row.OldName))); err != nil {
		return err
	}
	done.Changed++
	return nil
}

// unmake deletes a user that was made by an import and never used.
func (r *Service) unmake(ctx context.Context, a core.Actor, user string, done *Undone) error {
	u, err := r.Store.GetUser(ctx, user)
	if core.Is(err, core.CodeNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	ways, err := r.Store.WaysIn(ctx, []string{user})
	if err != nil {
		return err
	}
	if len(u.Roles) > 0 || len(ways) != 1 || ways[0].Has() || ways[0].Changed > 0 {
		return nil
	}
	err = r.DeleteUser(ctx, a, user)
	switch {
	case core.Is(err, core.CodeConflict) || core.Is(err, core.CodeNotFound): // it is in another class, or has submissions
		return nil
	case err != nil:
		return err
	}
	done.Deleted++
	return nil
}
