package mongo

import (
	"context"
	"slices"
	"strings"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"
)

// Which submission counts is in documents of its own. No transaction spans them and what decides: so a write that may
// decide leaves a mark in the same document, finds the submission that counts, and removes the mark. Who reads first
// does so for the marks that are there: a call that died, or has not come so far.

// lead says which submission of a user to an assignment counts.
type lead struct {
	ID         string `bson:"_id"`
	Class      string `bson:"class"`
	Assignment string `bson:"assignment"`
	User       string `bson:"user"`
	Submission string `bson:"submission"`
	Kind       string `bson:"kind"`
	At         int64  `bson:"at"`
	Revision   int64  `bson:"revision"`
}

// weighed is the field of a mark: a unique name of the write.
const weighed = "weigh"

// unmark removes a mark, unless a later write left its own.
func (s *Store) unmark(ctx context.Context, in, id, mark string) error {
	_, err := s.change(ctx, in, m{"_id": id, weighed: mark}, m{"$unset": m{weighed: ""}})
	return err
}

// weighOne weighs a submission and removes the mark that says so.
func (s *Store) weighOne(ctx context.Context, id string, why school.Change, mark string) error {
	if err := s.weigh(ctx, id, why); err != nil {
		return err
	}
	return s.unmark(ctx, submissions, id, mark)
}

// resulted weighs a submission after the result of its request has changed, if there is a mark.
func (s *Store) resulted(ctx context.Context, request, submission, mark string, why school.Change) error {
	if mark == "" {
		return nil
	}
	if err := s.weigh(ctx, submission, why); err != nil {
		return err
	}
	return s.unmark(ctx, requests, request, mark)
}

// markFor returns a mark for a request whose result may decide which submission counts; "" if it cannot.
func (s *Store) markFor(ctx context.Context, assignment, submission string) (string, error) {
	if submission == "" {
		return "", nil
	}
	class, handle := splitName(assignment)
	as, err := s.GetAssignment(ctx, class, handle)
	switch {
	case core.Is(err, core.CodeNotFound):
		return "", nil
	case err != nil || as.Policy() != school.CountsBest:
		return "", err
	}
	return token(), nil
}

// weighing is a document with a mark.
type weighing struct {
	ID         string `bson:"_id"`
	Mark       string `bson:"weigh"`
	Submission string `bson:"submission"` // of a request
}

// weighMarked finds the submissions that count where marks say that they may be others.
func (s *Store) weighMarked(ctx context.Context, class string) error {
	for _, in := range []string{submissions, requests, assignments, deadlines} {
		which := m{weighed: m{"$gt": ""}}
		if in != requests {
			which["class"] = class
		}
		docs, err := some[weighing](ctx, s, in, which, nil, bounds.MaxRows, weighed, "submission")
		if err != nil {
			return err
		}
		for _, doc := range docs {
			switch in {
			case submissions:
				err = s.weigh(ctx, doc.ID, school.Regraded)
			case requests:
				err = s.weigh(ctx, doc.Submission, school.Unscored)
			case deadlines:
				err = s.moved(ctx, doc.ID, doc.Mark)
			default:
				err = s.competeAll(ctx, doc.ID)
			}
			if err == nil && in != deadlines {
				err = s.unmark(ctx, in, doc.ID, doc.Mark)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// weigh lets a submission that is new, or has changed, compete with the one that counts. If it is the one, and falls,
// all submissions of its user to the assignment compete.
func (s *Store) weigh(ctx context.Context, id string, why school.Change) error {
	for {
		mine, found, err := one[submission](ctx, s, submissions, m{"_id": id})
		if err != nil || !found {
			return err
		}
		as, err := s.ruled(ctx, mine.Class, mine.Assignment, mine.User)
		if err != nil || !why.Matters(&as) {
			return err
		}
		was, found, err := one[lead](ctx, s, leads, m{"_id": placeOf(&mine)})
		if err != nil || found && was.Submission == id && !why.Falls() {
			return err
		}
		docs := []submission{mine}
		if found && was.Submission == id {
			docs, err = s.competitors(ctx, &mine)
		} else if found {
			var its submission
			its, found, err = one[submission](ctx, s, submissions, m{"_id": was.Submission})
			if found {
				docs = append(docs, its)
			}
		}
		if err != nil {
			return err
		}
		if done, err := s.compete(ctx, &as, was, docs); err != nil || done {
			return err
		}
	}
}

// competitors returns all submissions of a user to an assignment.
func (s *Store) competitors(ctx context.Context, of *submission) ([]submission, error) {
	return some[submission](ctx, s, submissions, m{"class": of.Class, "assignment": of.Assignment, "user": of.User}, nil, 0)
}

func placeOf(doc *submission) string {
	return strings.Join([]string{doc.Class, doc.Assignment, doc.User}, "/")
}

// compete makes the one of a user's submissions count that leads, unless another call did so since was was read: then
// it returns false.
func (s *Store) compete(ctx context.Context, as *school.Assignment, was lead, docs []submission) (bool, error) {
	standings, err := s.standings(ctx, docs)
	if err != nil || len(docs) == 0 {
		return true, err
	}
	all := make([]school.Candidate, len(docs))
	for i := range standings {
		all[i] = standings[i].Candidate()
	}
	best := all[as.Leading(all)]
	if was.Submission == best.ID {
		return true, nil
	}
	now := lead{placeOf(&docs[0]), docs[0].Class, docs[0].Assignment, docs[0].User, best.ID, best.Kind, best.At, was.Revision + 1}
	if was.ID == "" {
		return s.insert(ctx, leads, now)
	}
	return s.change(ctx, leads, m{"_id": was.ID, "revision": was.Revision}, m{"$set": m{
		"submission": now.Submission, "kind": now.Kind, "at": now.At, "revision": now.Revision,
	}})
}

// orphaned finds the submissions that count instead of deleted ones.
func (s *Store) orphaned(ctx context.Context, ids []string) error {
	gone, err := some[lead](ctx, s, leads, m{"submission": m{"$in": ids}}, nil, 0)
	for i := range gone {
		l := &gone[i]
		if err != nil {
			return err
		}
		if _, err = s.remove(ctx, leads, m{"_id": l.ID, "revision": l.Revision}); err != nil {
			return err
		}
		var left []submission
		left, err = some[submission](ctx, s, submissions, m{"class": l.Class, "assignment": l.Assignment, "user": l.User}, nil, 0, "_id")
		for _, doc := range left {
			if err == nil {
				err = s.weigh(ctx, doc.ID, school.Submitted)
			}
		}
	}
	return err
}

// ruled returns an assignment with a user's personal deadline; without rules if it is gone.
func (s *Store) ruled(ctx context.Context, class, handle, user string) (school.Assignment, error) {
	as, err := s.GetAssignment(ctx, class, handle)
	if core.Is(err, core.CodeNotFound) {
		return school.Assignment{Class: class, Handle: handle}, nil
	}
	if err != nil || as.Policy() != school.CountsBest {
		return as, err
	}
	own, err := s.Deadlines(ctx, class, handle, user)
	if err != nil || len(own) == 0 {
		return as, err
	}
	return as.For(&own[0]), nil
}

// competeAll finds the submissions that count of all users to an assignment.
func (s *Store) competeAll(ctx context.Context, name string) error {
	class, handle := splitName(name)
	for after := ""; ; {
		page, err := some[lead](ctx, s, leads, m{"class": class, "assignment": handle, "user": m{"$gt": after}}, by("user"), purgeBatch, "user", "submission")
		if err != nil || len(page) == 0 {
			return err
		}
		for _, l := range page {
			after = l.User
			if err := s.weigh(ctx, l.Submission, school.Regraded); err != nil {
				return err
			}
		}
	}
}

// moved finds the submission of a user that counts, after the personal deadline of an id was set or removed, and removes
// the mark that says so, together with a deadline that is gone.
func (s *Store) moved(ctx context.Context, id, mark string) error {
	l, found, err := one[lead](ctx, s, leads, m{"_id": id}, "submission")
	if err == nil && found {
		err = s.weigh(ctx, l.Submission, school.Unscored) // its score after the penalty may be another
	}
	if err != nil {
		return err
	}
	if n, err := s.remove(ctx, deadlines, m{"_id": id, "gone": true, weighed: mark}); err != nil || n > 0 {
		return err
	}
	return s.unmark(ctx, deadlines, id, mark)
}

// Leads returns which submissions count, see school.Leads.
func (s *Store) Leads(ctx context.Context, class string, users []string) ([]school.Lead, error) {
	if err := bounds.Leads(users); err != nil || len(users) == 0 {
		return nil, err
	}
	if err := s.weighMarked(ctx, class); err != nil {
		return nil, err
	}
	found, err := some[lead](ctx, s, leads, m{"class": class, "user": m{"$in": users}}, by("user", "assignment"), 0)
	if err != nil {
		return nil, err
	}
	var all []school.Lead
	for page := range slices.Chunk(found, bounds.MaxRows) {
		if all, err = s.filled(ctx, all, page); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// filled adds submissions that count, with state and score.
func (s *Store) filled(ctx context.Context, all []school.Lead, page []lead) ([]school.Lead, error) {
	ids := make([]string, len(page))
	for i := range page {
		ids[i] = page[i].Submission
	}
	docs, err := some[submission](ctx, s, submissions, m{"_id": m{"$in": ids}}, nil, 0, "request", "grade", "unmade")
	if err != nil {
		return nil, err
	}
	results, err := s.results(ctx, docs)
	if err != nil {
		return nil, err
	}
	byID := map[string]*submission{}
	for i := range docs {
		byID[docs[i].ID] = &docs[i]
	}
	for _, l := range page {
		doc := byID[l.Submission]
		if doc == nil {
			continue // it was deleted in the meantime
		}
		r := doc.result(results)
		one := school.Lead{
			Class: l.Class, Assignment: l.Assignment, User: l.User, Submission: l.Submission, Kind: l.Kind, At: l.At,
			State: r.State, Blame: r.Blame, Outcome: r.Outcome, Score: r.Score, MaxScore: r.MaxScore,
		}
		if doc.Grade != "" {
			one.Grade = &school.Grade{}
			if err := decode(doc.Grade, one.Grade, doc.ID); err != nil {
				return nil, err
			}
		}
		one.Graded()
		all = append(all, one)
	}
	return all, nil
}

// foundLeads finds the submissions that count in a store that did not keep them.
func foundLeads(ctx context.Context, s *Store) error {
	for after := ""; ; {
		page, err := some[submission](ctx, s, submissions, m{"_id": m{"$gt": after}}, by("_id"), purgeBatch, "_id")
		if err != nil || len(page) == 0 {
			return err
		}
		for _, doc := range page {
			after = doc.ID
			if err := s.weigh(ctx, after, school.Submitted); err != nil {
				return err
			}
		}
	}
}
