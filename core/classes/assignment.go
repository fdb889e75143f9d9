package classes

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"drover/core"
	"drover/core/school"
)

// CreateAssignment creates an assignment without a harness. Returns NOTFOUND for the class or pool, FORBIDDEN,
// INVALID, LIMIT, CONFLICT.
func (r *Service) CreateAssignment(ctx context.Context, a core.Actor, as school.Assignment) (school.Assignment, error) {
	as, err := r.newAssignment(ctx, a, as)
	if err != nil {
		return school.Assignment{}, err
	}
	return r.putAssignment(ctx, a, as, "creates assignment "+as.Name())
}

// CreateGraded creates an assignment with a harness, or nothing if one of them cannot be. Returns as CreateAssignment
// and SetHarness.
func (r *Service) CreateGraded(ctx context.Context, a core.Actor, as school.Assignment, tar io.Reader) (school.Assignment, error) {
	as, err := r.newAssignment(ctx, a, as)
	if err != nil {
		return school.Assignment{}, err
	}
	p, err := unpackFor(as, tar)
	if err != nil {
		return school.Assignment{}, err
	}
	return r.putHarness(ctx, a, as, p, fmt.Sprintf("creates assignment %s with a harness of %d bytes", as.Name(), p.Size()))
}

// newAssignment checks an assignment that is to be made, without a harness.
func (r *Service) newAssignment(ctx context.Context, a core.Actor, as school.Assignment) (school.Assignment, error) {
	if _, err := r.openClass(ctx, a, as.Class, core.ActAssignmentEdit); err != nil {
		return school.Assignment{}, err
	}
	as.Harness, as.Created, as.Deleting, as.Revision = nil, r.now().UnixMilli(), false, 0
	as.Priority = cmp.Or(as.Priority, core.PriorityNormal)
	if err := unreserved(as.Handle); err != nil {
		return school.Assignment{}, err
	}
	return as, r.checkAssignment(ctx, as)
}

// EditAssignment changes everything except the harness, if the assignment still has the given revision. Returns
// NOTFOUND, FORBIDDEN, INVALID, LIMIT, CONFLICT.
func (r *Service) EditAssignment(ctx context.Context, a core.Actor, as school.Assignment) (school.Assignment, error) {
	old, err := r.openAssignment(ctx, a, as.Class, as.Handle, core.ActAssignmentEdit, "")
	if err != nil {
		return school.Assignment{}, err
	}
	as.Harness, as.Created, as.Deleting = old.Harness, old.Created, false
	as.Priority = cmp.Or(as.Priority, core.PriorityNormal)
	if err := r.checkAssignment(ctx, as); err != nil {
		return school.Assignment{}, err
	}
	var d diff
	d.note("title", old.Title, as.Title)
	d.note("text", old.Text, as.Text)
	d.note("due date", moment(old.Due), moment(as.Due))
	d.note("cutoff", moment(old.Cutoff), moment(as.Cutoff))
	d.note("hidden until", moment(old.HideUntil), moment(as.HideUntil))
	d.note("final submissions", old.AllowFinal, as.AllowFinal)
	d.note("output shown", old.ShowOutput, as.ShowOutput)
	d.note("what counts", old.Policy(), as.Policy())
	d.note("grace period in minutes", old.Grace, as.Grace)
	d.note("penalty in percent a day", old.Penalty, as.Penalty)
	d.note("floor in percent", old.Floor, as.Floor)
	d.note("required files", strings.Join(old.Required, " "), strings.Join(as.Required, " "))
	d.note("pool", old.Pool, as.Pool)
	d.note("priority", old.Priority, as.Priority)
	d.note("limits", old.Limits, as.Limits)
	d.note("most files", old.MaxFiles, as.MaxFiles)
	d.note("most bytes", old.MaxBytes, as.MaxBytes)
	if len(d) == 0 {
		return old, nil
	}
	if as.Revision == 0 {
		return school.Assignment{}, unrevised("assignment", as.Name())
	}
	return r.putAssignment(ctx, a, as, d.sentence("assignment "+as.Name()))
}

// checkAssignment checks an assignment before it is stored, and that its pool can run it.
func (r *Service) checkAssignment(ctx context.Context, as school.Assignment) error {
	if err := as.Check(); err != nil {
		return err
	}
	if as.Pool == "" {
		return nil
	}
	p, err := r.pool(ctx, as.Pool)
	if err == nil {
		_, err = p.Within(as.Limits)
	}
	return err
}

func (r *Service) pool(ctx context.Context, name string) (core.Pool, error) {
	pools, err := r.Store.Pools(ctx)
	if err != nil {
		return core.Pool{}, err
	}
	for _, p := range pools {
		if p.Name == name {
			return p, nil
		}
	}
	return core.Pool{}, core.Errorf(core.CodeNotFound, name, "there is no pool %.80q: ask an operator to make it", name)
}

func (r *Service) putAssignment(ctx context.Context, a core.Actor, as school.Assignment, text string) (school.Assignment, error) {
	err := r.change(ctx, a, aboutAssignment(core.ActAssignmentEdit, as, text), func() (err error) {
		as.Revision, err = r.Store.PutAssignment(ctx, as)
		return err
	})
	return as, err
}

func aboutAssignment(act core.Action, as school.Assignment, text string) core.AuditEntry {
	return core.AuditEntry{Action: act, Class: as.Class, Subject: as.Name(), Text: text}
}

// DeleteAssignment closes an assignment and starts the task that deletes it with all its contents. A repeated call
// starts the task again if it has ended. Returns NOTFOUND, FORBIDDEN, CONFLICT.
func (r *Service) DeleteAssignment(ctx context.Context, a core.Actor, class, handle string) (core.Task, error) {
	as, err := r.assignment(ctx, a, class, handle, core.ActAssignmentEdit, "")
	if err != nil {
		return core.Task{}, err
	}
	var task core.Task
	entry := aboutAssignment(core.ActAssignmentEdit, as, "deletes assignment "+as.Name()+" with all its contents")
	err = r.change(ctx, a, entry, func() (err error) {
		if !as.Deleting {
			as.Deleting = true
			if _, err = r.Store.PutAssignment(ctx, as); err != nil {
				return err
			}
		}
		task, err = r.start(ctx, a, school.KindDeleteAssignment, as.Name(), school.DeleteArgs{Class: class, Assignment: handle})
		return err
	})
	return task, err
}

// moment formats a time for people; 0 is never.
func moment(ms int64) string {
	if ms == 0 {
		return "never"
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05 UTC")
}
