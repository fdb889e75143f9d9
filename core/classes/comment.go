package classes

import (
	"context"
	"fmt"
	"slices"

	"drover/core"
	"drover/core/school"
)

func noComment(id string) error {
	return core.Errorf(core.CodeNotFound, id, "there is no comment %.80q", id)
}

// NewComment is what staff say about a submission.
type NewComment struct {
	Text string
	File string // "" for a comment on all of it
	Line int    // 0 for a comment on the whole file
	Last int    // 0: Line
	Key  string // of idempotency; "": each call adds one
}

// Unread is a submission with comments and answers that its student has not seen.
type Unread struct {
	Submission string `json:"submission"`
	Class      string `json:"class"`
	Assignment string `json:"assignment"`
	Comments   int    `json:"comments"`
	Answers    int    `json:"answers"`
	At         int64  `json:"at_ms"` // of the newest
}

// Comments lists the comments, questions and answers of a submission in order of time, drafts to staff only. Returns
// NOTFOUND.
func (r *Service) Comments(ctx context.Context, a core.Actor, submission string) ([]school.Comment, error) {
	s, _, err := r.submission(ctx, a, submission, core.ActSubmissionView)
	if err != nil {
		return nil, err
	}
	all, err := r.Store.ListComments(ctx, school.CommentFilter{Submission: s.ID, Limit: school.MaxComments})
	if core.Allow(a, core.ActComment, core.Object{Class: s.Class}) != nil {
		all = slices.DeleteFunc(all, func(c school.Comment) bool { return c.Draft() })
	}
	return all, err
}

// SeeComments marks the comments of a submission as seen, if the actor is its student. Returns NOTFOUND.
func (r *Service) SeeComments(ctx context.Context, a core.Actor, submission string) error {
	s, _, err := r.submission(ctx, a, submission, core.ActSubmissionView)
	if err != nil || s.User != a.Handle {
		return err
	}
	return r.Store.SeeComments(ctx, s.ID)
}

// AddComment adds a draft, which staff see until it is released. Returns NOTFOUND, FORBIDDEN, INVALID, LIMIT.
func (r *Service) AddComment(ctx context.Context, a core.Actor, submission string, n NewComment) (school.Comment, error) {
	c := school.Comment{Kind: school.CommentNote, Text: n.Text, File: n.File, Line: n.Line, Last: max(n.Line, n.Last), Idempotency: n.Key}
	return r.say(ctx, a, core.ActComment, submission, c, "comments on")
}

// Ask asks a question about a submission. Returns NOTFOUND, FORBIDDEN unless the actor is its student, INVALID, LIMIT.
// A repeat with the same key, if there is one, returns the same question.
func (r *Service) Ask(ctx context.Context, a core.Actor, submission, text, key string) (school.Comment, error) {
	return r.say(ctx, a, core.ActAsk, submission, school.Comment{Kind: school.CommentQuestion, Text: text, Open: true, Idempotency: key}, "asks about")
}

// Answer answers all open questions about a submission; its student sees the answer at once. Returns NOTFOUND,
// FORBIDDEN, INVALID, LIMIT.
// The key is as in Ask.
func (r *Service) Answer(ctx context.Context, a core.Actor, submission, text, key string) (school.Comment, error) {
	return r.say(ctx, a, core.ActComment, submission, school.Comment{Kind: school.CommentAnswer, Text: text, Unread: true, Idempotency: key}, "answers about")
}

// say adds a comment to a submission.
func (r *Service) say(ctx context.Context, a core.Actor, act core.Action, submission string, c school.Comment, does string) (school.Comment, error) {
	s, as, err := r.submission(ctx, a, submission, act)
	if err != nil {
		return c, err
	}
	if as.Deleting {
		return c, being("assignment", as.Name())
	}
	c.ID, c.Submission, c.Class, c.Assignment, c.User = r.newID(), s.ID, s.Class, s.Assignment, s.User
	c.By, c.At = a.Handle, r.now().UnixMilli()
	if c.Kind != school.CommentNote {
		c.Released = c.At
	}
	if err := c.Check(); err != nil {
		return c, err
	}
	if c.File != "" && !slices.ContainsFunc(s.Files, func(f core.File) bool { return f.Path == c.File }) {
		return c, core.Errorf(core.CodeInvalid, s.ID, "submission %s has no file %.80q: name one of its files", s.ID, c.File)
	}
	if first, is, err := r.said(ctx, &c); err != nil || is {
		return first, err
	}
	if c.Tell, err = r.tells(ctx, s.Class, c.Event()); err != nil {
		return c, err
	}
	text := fmt.Sprintf("%s submission %s of %s to %s", does, s.ID, s.User, as.Name())
	err = r.change(ctx, a, aboutUser(act, as, s.User, text), func() error { return r.Store.AddComment(ctx, c) })
	if core.Is(err, core.CodeConflict) { // the same call may have come twice at once
		if first, is, found := r.said(ctx, &c); found != nil || is {
			return first, found
		}
	}
	return c, err
}

// tells reports whether any webhook of a class is to be notified of an event.
func (r *Service) tells(ctx context.Context, class, event string) (bool, error) {
	hooks, err := r.notified(ctx, class, event)
	return len(hooks) > 0, err
}

// said returns the comment that a former call with the same idempotency key added, if there is one. Returns CONFLICT if
// that call said something else.
func (r *Service) said(ctx context.Context, c *school.Comment) (school.Comment, bool, error) {
	if c.Idempotency == "" {
		return school.Comment{}, false, nil
	}
	all, err := r.Store.ListComments(ctx, school.CommentFilter{Submission: c.Submission, Limit: school.MaxComments})
	for i := range all {
		was := &all[i]
		if was.By != c.By || was.Idempotency != c.Idempotency {
			continue
		}
		if was.Kind != c.Kind || was.File != c.File || was.Line != c.Line || was.Last != c.Last || was.Edited == 0 && was.Text != c.Text {
			return school.Comment{}, false, core.Errorf(core.CodeConflict, was.ID, "the idempotency key %.40q belongs to comment %s, which says something else: use another key", c.Idempotency, was.ID)
		}
		return *was, true, err
	}
	return school.Comment{}, false, err
}

// EditComment replaces the text of a comment: a question's by its student, all others by staff. Returns NOTFOUND,
// FORBIDDEN, INVALID, LIMIT.
func (r *Service) EditComment(ctx context.Context, a core.Actor, id, text string) error {
	c, as, act, err := r.comment(ctx, a, id)
	if err == nil {
		err = school.CheckCommentText(c.Submission, text)
	}
	if err != nil {
		return err
	}
	entry := aboutUser(act, as, c.User, fmt.Sprintf("changes a %s on submission %s of %s to %s", c.Kind, c.Submission, c.User, as.Name()))
	return r.change(ctx, a, entry, func() error { return r.Store.EditComment(ctx, id, text, r.now().UnixMilli()) })
}

// DeleteComment deletes a comment, by the same people as EditComment. Returns NOTFOUND, FORBIDDEN.
func (r *Service) DeleteComment(ctx context.Context, a core.Actor, id string) error {
	c, as, act, err := r.comment(ctx, a, id)
	if err != nil {
		return err
	}
	entry := aboutUser(act, as, c.User, fmt.Sprintf("deletes a %s on submission %s of %s to %s", c.Kind, c.Submission, c.User, as.Name()))
	return r.change(ctx, a, entry, func() error { return r.Store.DeleteComment(ctx, id) })
}

// comment returns a comment that the actor may change, and the right by which.
func (r *Service) comment(ctx context.Context, a core.Actor, id string) (school.Comment, school.Assignment, core.Action, error) {
	if !core.ValidName(id) {
		return school.Comment{}, school.Assignment{}, "", noComment(id)
	}
	c, err := r.Store.GetComment(ctx, id)
	if core.Is(err, core.CodeNotFound) {
		err = noComment(id)
	}
	if err != nil {
		return c, school.Assignment{}, "", err
	}
	act := core.ActComment
	if c.Kind == school.CommentQuestion {
		act = core.ActAsk
	}
	_, as, err := r.submission(ctx, a, c.Submission, act)
	if core.Is(err, core.CodeNotFound) || core.Is(err, core.CodeForbidden) && c.Draft() {
		err = noComment(id) // of which a student must not learn
	}
	return c, as, act, err
}

// ReleaseComments shows the drafts on a submission to its student, and returns how many there were. Returns NOTFOUND,
// FORBIDDEN.
func (r *Service) ReleaseComments(ctx context.Context, a core.Actor, submission string) (n int, err error) {
	s, as, err := r.submission(ctx, a, submission, core.ActComment)
	if err != nil {
		return 0, err
	}
	tell, err := r.tells(ctx, s.Class, core.EventCommentReleased)
	if err != nil {
		return 0, err
	}
	text := fmt.Sprintf("releases the comments on submission %s of %s to %s", s.ID, s.User, as.Name())
	err = r.change(ctx, a, aboutUser(core.ActComment, as, s.User, text), func() error {
		n, err = r.Store.ReleaseComments(ctx, s.Class, s.Assignment, s.ID, r.now().UnixMilli(), tell)
		return err
	})
	return n, err
}

// ReleaseAllComments shows all drafts on submissions to an assignment to their students, and returns how many there
// were. Returns NOTFOUND, FORBIDDEN, CONFLICT.
func (r *Service) ReleaseAllComments(ctx context.Context, a core.Actor, class, assignment string) (n int, err error) {
	as, err := r.openAssignment(ctx, a, class, assignment, core.ActGradeChange, "")
	if err != nil {
		return 0, err
	}
	tell, err := r.tells(ctx, as.Class, core.EventCommentReleased)
	if err != nil {
		return 0, err
	}
	err = r.change(ctx, a, aboutAssignment(core.ActGradeChange, as, "releases all comments on submissions to "+as.Name()), func() error {
		n, err = r.Store.ReleaseComments(ctx, class, assignment, "", r.now().UnixMilli(), tell)
		return err
	})
	return n, err
}

// OpenQuestions lists the open questions about submissions to an assignment, oldest first. Returns NOTFOUND, FORBIDDEN.
func (r *Service) OpenQuestions(ctx context.Context, a core.Actor, class, assignment string, limit int) ([]school.Comment, error) {
	if _, err := r.assignment(ctx, a, class, assignment, core.ActGradeView, ""); err != nil {
		return nil, err
	}
	return r.Store.ListComments(ctx, school.CommentFilter{Class: class, Assignment: assignment, Open: true, Limit: limit})
}

// CountQuestions counts the open questions in those of the classes in which the actor answers them.
func (r *Service) CountQuestions(ctx context.Context, a core.Actor, classes []string) ([]school.QuestionCount, error) {
	mine := slices.DeleteFunc(slices.Clone(classes), func(class string) bool {
		return core.Allow(a, core.ActComment, core.Object{Class: class}) != nil
	})
	if len(mine) == 0 {
		return nil, nil
	}
	return r.Store.CountQuestions(ctx, mine)
}

// UnreadComments lists the actor's own submissions with comments and answers that it has not seen, those in classes
// that it has left excepted.
func (r *Service) UnreadComments(ctx context.Context, a core.Actor) ([]Unread, error) {
	all, err := r.Store.ListComments(ctx, school.CommentFilter{User: a.Handle, Unread: true, Limit: school.MaxComments})
	var found []Unread
	for _, c := range all {
		if core.Allow(a, core.ActSubmissionView, core.Object{Class: c.Class, Owner: c.User}) != nil || a.In[c.Class] == "" {
			continue
		}
		i := slices.IndexFunc(found, func(u Unread) bool { return u.Submission == c.Submission })
		if i < 0 {
			i = len(found)
			found = append(found, Unread{Submission: c.Submission, Class: c.Class, Assignment: c.Assignment})
		}
		u := &found[i]
		if c.Kind == school.CommentAnswer {
			u.Answers++
		} else {
			u.Comments++
		}
		u.At = max(u.At, c.At, c.Released)
	}
	return found, err
}
