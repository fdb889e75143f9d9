package classes

import (
	"cmp"
	"context"
	"fmt"

	"drover/core"
	"drover/core/school"
)

// SetDeadline sets a user's personal deadlines; without Due and Cutoff it removes them. Returns NOTFOUND, FORBIDDEN,
// INVALID, LIMIT, CONFLICT.
func (r *Service) SetDeadline(ctx context.Context, a core.Actor, d school.Deadline) error {
	as, err := r.openAssignment(ctx, a, d.Class, d.Assignment, core.ActDeadlineEdit, "")
	if err != nil {
		return err
	}
	d.By, d.Since = a.Handle, r.now().UnixMilli()
	if err := d.Check(); err != nil {
		return err
	}
	given := d.Due != 0 || d.Cutoff != 0
	if d.Cutoff != 0 && d.Due == 0 && d.Cutoff < as.Due {
		return core.Errorf(core.CodeInvalid, d.User, "the cutoff for %s is before %s is due: give an earlier due date as well", d.User, as.Name())
	}
	if given {
		if role, err := r.roleIn(ctx, d.Class, d.User); err != nil || role == "" {
			return cmp.Or(err, noMember(d.Class, d.User))
		}
	}
	old, err := r.deadline(ctx, as, d.User)
	if err != nil || old == nil && !given {
		return err
	}
	was, is := as.For(old), as.For(&d)
	text := fmt.Sprintf("sets the deadlines of %s for %s: due from %s to %s, cutoff from %s to %s%s",
		d.User, as.Name(), moment(was.Due), moment(is.Due), moment(was.Cutoff), moment(is.Cutoff), because(d.Reason))
	return r.change(ctx, a, aboutUser(core.ActDeadlineEdit, as, d.User, text), func() error { return r.Store.PutDeadline(ctx, d) })
}

// Deadlines lists personal deadlines in a class; assignment and user select unless "". Staff of the class see all,
// others their own. Returns NOTFOUND, FORBIDDEN.
func (r *Service) Deadlines(ctx context.Context, a core.Actor, class, assignment, user string) ([]school.Deadline, error) {
	if _, err := r.class(ctx, a, class, core.ActClassView); err != nil {
		return nil, err
	}
	all := core.Allow(a, core.ActDeadlineEdit, core.Object{Class: class}) == nil
	if !all && user != a.Handle {
		return nil, core.Allow(a, core.ActDeadlineEdit, core.Object{Class: class})
	}
	found, err := r.Store.Deadlines(ctx, class, assignment, user)
	if err != nil || all {
		return found, err
	}
	own := []school.Deadline{}
	for _, d := range found {
		_, err := r.assignment(ctx, a, class, d.Assignment, core.ActAssignmentView, "")
		switch {
		case err == nil:
			own = append(own, d)
		case !core.Is(err, core.CodeNotFound):
			return nil, err
		}
	}
	return own, nil
}

// aboutUser returns an audit entry about one user in an assignment.
func aboutUser(act core.Action, as school.Assignment, user, text string) core.AuditEntry {
	return core.AuditEntry{Action: act, Class: as.Class, Subject: as.Name() + "/" + user, Text: text}
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ", because: " + reason
}
