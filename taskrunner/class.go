package taskrunner

import (
	"context"
	"errors"

	"drover/core"
	"drover/core/school"
)

// opened returns an assignment, and NOTFOUND as open does.
func opened(ctx context.Context, store school.Assignments, class, handle string) (school.Assignment, error) {
	if err := open(ctx, store, class, handle); err != nil {
		return school.Assignment{}, err
	}
	return store.GetAssignment(ctx, class, handle)
}

// open returns NOTFOUND for an assignment that does not exist, or is being deleted.
func open(ctx context.Context, store school.Assignments, class, handle string) error {
	a, err := store.GetAssignment(ctx, class, handle)
	if err == nil && a.Deleting {
		err = core.Errorf(core.CodeNotFound, a.Name(), "assignment %s is being deleted", a.Name())
	}
	return err
}

// membersAtOnce is how many members of a class are read from the store at once.
const membersAtOnce = 500

// eachMember calls fn with pages of a class's members, in order of user.
func eachMember(ctx context.Context, store school.Roster, class string, fn func(page []school.Enrolment) error) error {
	for after := ""; ; {
		page, err := store.Members(ctx, class, after, membersAtOnce)
		if err != nil || len(page) == 0 {
			return err
		}
		if err := fn(page); err != nil || len(page) < membersAtOnce {
			return err
		}
		after = page[len(page)-1].User
	}
}

// staffOf returns the staff of a class.
func staffOf(ctx context.Context, store school.Roster, class string) (map[string]bool, error) {
	staff := map[string]bool{}
	err := eachMember(ctx, store, class, func(page []school.Enrolment) error {
		for _, m := range page {
			if m.Role.Staff() {
				staff[m.User] = true
			}
		}
		return nil
	})
	return staff, err
}

// errEnough ends a loop early, without an error.
var errEnough = errors.New("enough")

// eachWorth is eachStanding with scores after penalties.
func eachWorth(ctx context.Context, store interface {
	school.Submissions
	school.Counting
}, as *school.Assignment, fn func(*school.Standing) error,
) error {
	return eachPage(ctx, store, as.Class, as.Handle, "", func(page []school.Standing) error {
		return school.Penalise(ctx, store, as, page)
	}, fn)
}

// eachStanding calls fn with the submission of every user after the given one that counts, in order of user, until it
// returns errEnough.
func eachStanding(ctx context.Context, store school.Submissions, class, handle, after string, fn func(*school.Standing) error) error {
	return eachPage(ctx, store, class, handle, after, func([]school.Standing) error { return nil }, fn)
}

// eachPage is eachStanding, and calls whole with each page first.
func eachPage(ctx context.Context, store school.Submissions, class, handle, after string,
	whole func([]school.Standing) error, fn func(*school.Standing) error,
) error {
	for {
		page, err := store.Standings(ctx, class, handle, after, submissionsAtOnce)
		if err != nil {
			return err
		}
		if err := whole(page); err != nil {
			return err
		}
		for i := range page {
			after = page[i].Submission.User
			if err := fn(&page[i]); errors.Is(err, errEnough) {
				return nil
			} else if err != nil {
				return err
			}
		}
		if len(page) < submissionsAtOnce {
			return nil
		}
	}
}

// assignmentsAtOnce is how many assignments, with their texts, are read from the store at once.
const assignmentsAtOnce = 20

// eachAssignment calls fn with the assignments of a class, in order of handle.
func eachAssignment(ctx context.Context, store school.Assignments, class string, fn func(*school.Assignment) error) error {
	for after := ""; ; {
		page, err := store.ListAssignments(ctx, class, after, assignmentsAtOnce)
		if err != nil {
			return err
		}
		for i := range page {
			after = page[i].Handle
			if err := fn(&page[i]); err != nil {
				return err
			}
		}
		if len(page) < assignmentsAtOnce {
			return nil
		}
	}
}
