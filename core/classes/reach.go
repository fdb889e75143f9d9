package classes

import (
	"context"

	"drover/core"
	"drover/core/school"
)

// For an actor without the right to see it, an object is NOTFOUND, with the same text as if it did not exist.

func noClass(handle string) error {
	return core.Errorf(core.CodeNotFound, handle, "there is no class %.80q", handle)
}

func noAssignment(class, handle string) error {
	name := class + "/" + handle
	return core.Errorf(core.CodeNotFound, name, "there is no assignment %.160q", name)
}

func noSubmission(id string) error {
	return core.Errorf(core.CodeNotFound, id, "there is no submission %.80q", id)
}

func noTask(id string) error {
	return core.Errorf(core.CodeNotFound, id, "there is no task %.80q", id)
}

func being(what, name string) error {
	return core.Errorf(core.CodeConflict, name, "%s %s is being deleted", what, name)
}

// class returns a class in which the actor may do the action.
func (r *Service) class(ctx context.Context, a core.Actor, handle string, act core.Action) (school.Class, error) {
	o := core.Object{Class: handle}
	if !core.ValidName(handle) || core.Allow(a, core.ActClassView, o) != nil {
		return school.Class{}, noClass(handle)
	}
	c, err := r.Store.GetClass(ctx, handle)
	switch {
	case core.Is(err, core.CodeNotFound), err == nil && !seesClass(a, c):
		return school.Class{}, noClass(handle)
	case err != nil:
		return school.Class{}, err
	}
	return c, core.Allow(a, act, o)
}

// seesClass reports whether an actor who may view the class may do so in its current state.
func seesClass(a core.Actor, c school.Class) bool {
	return !c.Deleting || core.Allow(a, core.ActAssignmentPeek, core.Object{Class: c.Handle}) == nil
}

// openClass is class for changes within the class.
func (r *Service) openClass(ctx context.Context, a core.Actor, handle string, act core.Action) (school.Class, error) {
	c, err := r.class(ctx, a, handle, act)
	if err == nil && c.Deleting {
		err = being("class", handle)
	}
	return c, err
}

// assignment returns an assignment, without personal deadlines, if the actor may do the action with what owner has in
// it.
func (r *Service) assignment(ctx context.Context, a core.Actor, class, handle string, act core.Action, owner string) (school.Assignment, error) {
	_, err := r.class(ctx, a, class, core.ActAssignmentView)
	if core.Is(err, core.CodeNotFound) || err == nil && !core.ValidName(handle) {
		return school.Assignment{}, noAssignment(class, handle)
	}
	if err != nil {
		return school.Assignment{}, err
	}
	as, err := r.Store.GetAssignment(ctx, class, handle)
	switch {
	case core.Is(err, core.CodeNotFound), err == nil && !r.seesAssignment(a, as):
		return school.Assignment{}, noAssignment(class, handle)
	case err != nil:
		return school.Assignment{}, err
	}
	return as, core.Allow(a, act, core.Object{Class: class, Owner: owner})
}

// seesAssignment reports whether an actor who may view assignments of the class may view this one.
func (r *Service) seesAssignment(a core.Actor, as school.Assignment) bool {
	return !r.hidden(as) && !as.Deleting || core.Allow(a, core.ActAssignmentPeek, core.Object{Class: as.Class}) == nil
}

func (r *Service) hidden(as school.Assignment) bool { return as.HideUntil > r.now().UnixMilli() }

// openAssignment is assignment for changes within the assignment.
func (r *Service) openAssignment(ctx context.Context, a core.Actor, class, handle string, act core.Action, owner string) (school.Assignment, error) {
	as, err := r.assignment(ctx, a, class, handle, act, owner)
	if err != nil {
		return school.Assignment{}, err
	}
	if as.Deleting {
		return school.Assignment{}, being("assignment", as.Name())
	}
	_, err = r.openClass(ctx, a, class, core.ActClassView)
	return as, err
}

// submission returns a submission and its assignment, if the actor may do the action with it.
func (r *Service) submission(ctx context.Context, a core.Actor, id string, act core.Action) (school.Submission, school.Assignment, error) {
	if !core.ValidName(id) {
		return school.Submission{}, school.Assignment{}, noSubmission(id)
	}
	s, err := r.Store.GetSubmission(ctx, id)
	if err != nil && !core.Is(err, core.CodeNotFound) {
		return school.Submission{}, school.Assignment{}, err
	}
	if err != nil || core.Allow(a, core.ActSubmissionView, core.Object{Class: s.Class, Owner: s.User}) != nil {
		return school.Submission{}, school.Assignment{}, noSubmission(id)
	}
	as, err := r.assignment(ctx, a, s.Class, s.Assignment, act, s.User)
	if core.Is(err, core.CodeNotFound) {
		err = noSubmission(id)
	}
	return s, as, err
}
