package school

import (
	"context"
)

// Counting reads what CountAll needs.
type Counting interface {
	Leads
	GetClass(ctx context.Context, handle string) (Class, error)
	ListAssignments(ctx context.Context, class, after string, limit int) ([]Assignment, error)
	Deadlines(ctx context.Context, class, assignment, user string) ([]Deadline, error)
}

// rulesAtOnce is how many assignments are read at a time.
const rulesAtOnce = 100

// Term is a class with what says what its submissions are worth.
type Term struct {
	Class       Class
	Assignments []Assignment // in order of handle

	own map[string]map[string]*Deadline // by user and assignment
}

// ReadTerm reads the rules of a class; a user that is not "" bounds the personal deadlines that are read.
func ReadTerm(ctx context.Context, store Counting, class, user string) (*Term, error) {
	c, err := store.GetClass(ctx, class)
	if err != nil {
		return nil, err
	}
	t := &Term{Class: c, own: map[string]map[string]*Deadline{}}
	for after := ""; ; {
		some, err := store.ListAssignments(ctx, class, after, rulesAtOnce)
		if err != nil {
			return nil, err
		}
		for i := range some {
			after = some[i].Handle
			if !some[i].Deleting {
				t.Assignments = append(t.Assignments, some[i])
			}
		}
		if len(some) < rulesAtOnce {
			break
		}
	}
	own, err := store.Deadlines(ctx, class, "", user)
	for i := range own {
		d := &own[i]
		if t.own[d.User] == nil {
			t.own[d.User] = map[string]*Deadline{}
		}
		t.own[d.User][d.Assignment] = d
	}
	return t, err
}

// For returns the assignments as they are for a user, by handle.
func (t *Term) For(user string) map[string]*Assignment {
	all := make(map[string]*Assignment, len(t.Assignments))
	for i := range t.Assignments {
		a := &t.Assignments[i]
		if d := t.own[user][a.Handle]; d != nil {
			its := a.For(d)
			a = &its
		}
		all[a.Handle] = a
	}
	return all
}

// Count returns what the submissions of users that count are worth, by user and assignment.
func (t *Term) Count(ctx context.Context, store Leads, users []string) (map[string]map[string]*Counted, error) {
	leads, err := store.Leads(ctx, t.Class.Handle, users)
	if err != nil {
		return nil, err
	}
	all := make(map[string]map[string]*Counted, len(users))
	for len(leads) > 0 {
		user, n := leads[0].User, 1
		for n < len(leads) && leads[n].User == user {
			n++
		}
		counted := CountAll(t.Class.LateDays, t.For(user), leads[:n])
		its := make(map[string]*Counted, n)
		for i := range counted {
			its[counted[i].Assignment] = &counted[i]
		}
		all[user], leads = its, leads[n:]
	}
	return all, nil
}

// Penalise takes penalties off the scores of standings of one assignment. It reads more only where there are
// penalties.
func Penalise(ctx context.Context, store Counting, a *Assignment, page []Standing) error {
	if a.Penalty == 0 || len(page) == 0 {
		return nil
	}
	t, err := ReadTerm(ctx, store, a.Class, "")
	if err != nil {
		return err
	}
	users := make([]string, len(page))
	for i := range page {
		users[i] = page[i].Submission.User
	}
	counted, err := t.Count(ctx, store, users)
	if err != nil {
		return err
	}
	for i := range page {
		s := &page[i]
		if c := counted[s.Submission.User][a.Handle]; c != nil && c.Submission == s.Submission.ID && s.Score != nil && c.Final != nil {
			s.Score = c.Final
		}
	}
	return nil
}
