package classes

import (
	"context"
	"maps"
	"slices"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"
)

// unmade is used in paths for objects that are still to be created, so no object can have it as its handle.
const unmade = "new"

func unreserved(handle string) error {
	if handle == unmade {
		return core.Errorf(core.CodeInvalid, handle, "%s stands for what is still to be made: use another handle", unmade)
	}
	return nil
}

// ClassEntry is a class as an actor sees it.
type ClassEntry struct {
	school.Class
	Role core.UserRole `json:"role,omitempty"` // the actor's role there; "" if the actor has none
}

// ViewClass returns a class. Returns NOTFOUND.
func (r *Service) ViewClass(ctx context.Context, a core.Actor, handle string) (ClassEntry, error) {
	c, err := r.class(ctx, a, handle, core.ActClassView)
	if err != nil {
		return ClassEntry{}, err
	}
	return ClassEntry{c, a.In[handle]}, nil
}

// ListClasses lists the classes that the actor may view, after the given one, in
// order of handle. Returns INVALID.
func (r *Service) ListClasses(ctx context.Context, a core.Actor, after string, limit int) ([]ClassEntry, error) {
	if err := bounds.Page(limit); err != nil {
		return nil, err
	}
	if core.Allow(a, core.ActClassManage, core.Object{}) == nil {
		all, err := r.Store.ListClasses(ctx, after, limit)
		entries := make([]ClassEntry, len(all))
		for i, c := range all {
			entries[i] = ClassEntry{c, a.In[c.Handle]}
		}
		return entries, err
	}
	entries := []ClassEntry{}
	for _, handle := range slices.Sorted(maps.Keys(a.In)) {
		if handle <= after || len(entries) == limit {
			continue
		}
		c, err := r.ViewClass(ctx, a, handle)
		if core.Is(err, core.CodeNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, c)
	}
	return entries, nil
}

// CreateClass creates a class. Returns FORBIDDEN, INVALID, LIMIT, and CONFLICT if the handle is taken.
func (r *Service) CreateClass(ctx context.Context, a core.Actor, c school.Class) (school.Class, error) {
	if err := core.Allow(a, core.ActClassManage, core.Object{}); err != nil {
		return school.Class{}, err
	}
	c.Created, c.Deleting, c.Revision = r.now().UnixMilli(), false, 0
	if c.Handle == Mine {
		return school.Class{}, core.Errorf(core.CodeInvalid, c.Handle, "%s stands for one's own classes: use another handle", Mine)
	}
	if err := unreserved(c.Handle); err != nil {
		return school.Class{}, err
	}
	if err := c.Check(); err != nil {
		return school.Class{}, err
	}
	return r.putClass(ctx, a, c, core.ActClassManage, "creates class "+c.Handle)
}

// EditClass changes title, term and late days, if the class still has the given revision. Returns NOTFOUND, FORBIDDEN, INVALID,
// LIMIT, CONFLICT.
func (r *Service) EditClass(ctx context.Context, a core.Actor, c school.Class) (school.Class, error) {
	old, err := r.openClass(ctx, a, c.Handle, core.ActClassEdit)
	if err != nil {
		return school.Class{}, err
	}
	c.Created, c.Deleting = old.Created, false
	if err := c.Check(); err != nil {
		return school.Class{}, err
	}
	var d diff
	d.note("title", old.Title, c.Title)
	d.note("term", old.Term, c.Term)
	d.note("late days", old.LateDays, c.LateDays)
	if len(d) == 0 {
		return old, nil
	}
	if c.Revision == 0 {
		return school.Class{}, unrevised("class", c.Handle)
	}
	return r.putClass(ctx, a, c, core.ActClassEdit, d.sentence("class "+c.Handle))
}

// DeleteClass closes a class and starts the task that deletes it with all its contents. A repeated call starts the
// task again if it has ended. Returns NOTFOUND, FORBIDDEN, CONFLICT.
func (r *Service) DeleteClass(ctx context.Context, a core.Actor, handle string) (core.Task, error) {
	c, err := r.class(ctx, a, handle, core.ActClassManage)
	if err != nil {
		return core.Task{}, err
	}
	var task core.Task
	entry := core.AuditEntry{Action: core.ActClassManage, Class: handle, Subject: handle, Text: "deletes class " + handle + " with all its contents"}
	err = r.change(ctx, a, entry, func() (err error) {
		if !c.Deleting {
			c.Deleting = true
			if _, err = r.Store.PutClass(ctx, c); err != nil {
				return err
			}
		}
		task, err = r.start(ctx, a, school.KindDeleteClass, handle, school.DeleteArgs{Class: handle})
		return err
	})
	return task, err
}

func (r *Service) putClass(ctx context.Context, a core.Actor, c school.Class, act core.Action, text string) (school.Class, error) {
	entry := core.AuditEntry{Action: act, Class: c.Handle, Subject: c.Handle, Text: text}
	err := r.change(ctx, a, entry, func() (err error) {
		c.Revision, err = r.Store.PutClass(ctx, c)
		return err
	})
	return c, err
}
