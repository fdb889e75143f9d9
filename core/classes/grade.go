package classes

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"drover/core"
	"drover/core/school"
)

// GradeChange is a person's grade for a submission.
type GradeChange struct {
	Class      string
	Assignment string   // its handle
	User       string   // whose submission
	Submission string   // its id; "" is the one that counts
	Score      *float64 // nil removes the person's grade: the result counts again
	MaxScore   *float64 // nil: the result's
	Reason     string
}

// ChangeGrade sets a person's grade of a submission, which takes precedence over its result's score. Returns
// NOTFOUND, FORBIDDEN, INVALID, LIMIT, CONFLICT.
func (r *Service) ChangeGrade(ctx context.Context, a core.Actor, c GradeChange) (school.Standing, error) {
	as, err := r.openAssignment(ctx, a, c.Class, c.Assignment, core.ActGradeChange, "")
	if err != nil {
		return school.Standing{}, err
	}
	old, err := r.graded(ctx, as, c)
	if err != nil {
		return school.Standing{}, err
	}
	id := old.Submission.ID
	var g *school.Grade
	if c.Score != nil {
		g = &school.Grade{Score: *c.Score, MaxScore: c.MaxScore, By: a.Handle, Reason: c.Reason, At: r.now().UnixMilli()}
		if err := g.Check(id); err != nil {
			return school.Standing{}, err
		}
	}
	if c.Reason == "" {
		return school.Standing{}, core.Errorf(core.CodeInvalid, id, "the grade is changed without a reason: say why, for the record")
	}
	s := old.Submission
	s.Grade = g
	now, _, err := r.standing(ctx, s)
	if err != nil {
		return school.Standing{}, err
	}
	text := fmt.Sprintf("changes the grade of %s for %s (submission %s) from %s to %s%s", s.User, as.Name(), id, points(old), points(now), because(c.Reason))
	return now, r.change(ctx, a, aboutUser(core.ActGradeChange, as, s.User, text), func() error { return r.Store.SetGrade(ctx, id, g) })
}

// graded returns the submission whose grade is changed.
func (r *Service) graded(ctx context.Context, as school.Assignment, c GradeChange) (school.Standing, error) {
	if c.Submission == "" {
		if !core.ValidName(c.User) {
			return school.Standing{}, noMember(as.Class, c.User)
		}
		leads, err := r.Store.Leads(ctx, as.Class, []string{c.User})
		i := slices.IndexFunc(leads, func(l school.Lead) bool { return l.Assignment == as.Handle })
		if err == nil && i < 0 {
			err = core.Errorf(core.CodeNotFound, c.User, "user %.80q has submitted nothing for %s", c.User, as.Name())
		}
		if err != nil {
			return school.Standing{}, err
		}
		c.Submission = leads[i].Submission
	}
	s, err := r.Store.GetSubmission(ctx, c.Submission)
	if core.Is(err, core.CodeNotFound) || err == nil && (s.Class != as.Class || s.Assignment != as.Handle || c.User != "" && s.User != c.User) {
		return school.Standing{}, noSubmission(c.Submission)
	}
	if err != nil {
		return school.Standing{}, err
	}
	standing, _, err := r.standing(ctx, s)
	return standing, err
}

// changesShown bounds the entries in which a grade's history is searched.
const changesShown = 200

// GradeHistory lists the changes by people to a user's grades for an assignment, newest first, as far as they are
// among the newest entries of the audit log about the two. Returns NOTFOUND, FORBIDDEN.
func (r *Service) GradeHistory(ctx context.Context, a core.Actor, class, assignment, user string) ([]core.AuditEntry, error) {
	as, err := r.assignment(ctx, a, class, assignment, core.ActGradeView, "")
	if err != nil {
		return nil, err
	}
	if !core.ValidName(user) {
		return nil, noMember(class, user)
	}
	all, err := r.Store.ListAuditEntries(ctx, core.AuditFilter{Class: class, Subject: aboutUser("", as, user, "").Subject, Limit: changesShown})
	return slices.DeleteFunc(all, func(d core.AuditEntry) bool { return d.Action != core.ActGradeChange }), err
}

// points formats a score for people.
func points(s school.Standing) string {
	if s.Score == nil {
		return "none"
	}
	text := strconv.FormatFloat(*s.Score, 'g', -1, 64)
	if s.MaxScore != nil {
		text += "/" + strconv.FormatFloat(*s.MaxScore, 'g', -1, 64)
	}
	if s.Submission.Grade != nil {
		return text + " by " + s.Submission.Grade.By
	}
	return text
}
