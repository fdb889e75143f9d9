package classes

import (
	"context"
	"time"

	"drover/core"
	"drover/core/school"
)

// Expectation is how long before its due date an assignment's submissions are expected.
const Expectation = time.Hour

// leastPeriod bounds the rate at which submissions are expected in the last moments.
const leastPeriod = time.Minute

// Expecting is what Expected needs of the result store.
type Expecting interface {
	school.Roster
	school.Assignments
	school.Submissions
}

// Expected returns how many submissions per second are expected of each pool: of assignments that are due soon, one
// from each student who has submitted nothing yet, evenly until then. The closer the due date and the more are
// missing, the higher the rate, so an estimate that was too low is soon corrected.
func Expected(ctx context.Context, store Expecting, now time.Time) (map[string]float64, error) {
	rates := make(map[string]float64)
	for after := ""; ; {
		some, err := store.ListClasses(ctx, after, page)
		if err != nil {
			return nil, err
		}
		for i := range some {
			if err := expect(ctx, store, rates, some[i].Handle, now); err != nil {
				return nil, err
			}
			after = some[i].Handle
		}
		if len(some) < page {
			return rates, nil
		}
	}
}

// expect adds what is expected of one class.
func expect(ctx context.Context, store Expecting, rates map[string]float64, class string, now time.Time) error {
	for after := ""; ; {
		some, err := store.ListAssignments(ctx, class, after, page)
		if err != nil {
			return err
		}
		for i := range some {
			a := &some[i]
			after = a.Handle
			left := time.UnixMilli(a.Due).Sub(now)
			if a.Due == 0 || left <= 0 || left > Expectation || a.Harness == nil || a.Deleting {
				continue
			}
			missing, err := missing(ctx, store, a)
			if err != nil {
				return err
			}
			rates[a.Pool] += float64(missing) / max(left, leastPeriod).Seconds()
		}
		if len(some) < page {
			return nil
		}
	}
}

// missing counts the students of an assignment who have submitted nothing.
func missing(ctx context.Context, store Expecting, a *school.Assignment) (int, error) {
	students := make(map[string]bool)
	for after := ""; ; {
		some, err := store.Members(ctx, a.Class, after, page)
		if err != nil {
			return 0, err
		}
		for _, m := range some {
			if after = m.User; m.Role == core.RoleStudent {
				students[m.User] = true
			}
		}
		if len(some) < page {
			break
		}
	}
	for after := ""; ; {
		some, err := store.Standings(ctx, a.Class, a.Handle, after, page)
		if err != nil {
			return 0, err
		}
		for i := range some {
			after = some[i].Submission.User
			delete(students, after)
		}
		if len(some) < page {
			return len(students), nil
		}
	}
}
