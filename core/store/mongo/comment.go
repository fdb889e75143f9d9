package mongo

import (
	"cmp"
	"context"
	"slices"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"
)

// comment is the document of a comment.
type comment struct {
	ID         string `bson:"_id"`
	Submission string `bson:"submission"`
	Class      string `bson:"class"`
	Assignment string `bson:"assignment"`
	User       string `bson:"user"`
	Text       string `bson:"text"`
	Edited     int64  `bson:"edited"`
	Released   int64  `bson:"released"`
	Open       bool   `bson:"open"`
	Unread     bool   `bson:"unread"`
	Once       string `bson:"once,omitempty"` // submission, author and idempotency key
	JSON       string `bson:"json"`           // as it was added

	Untold []string `bson:"outbox,omitempty"`    // its event, while somebody is still to be notified, as of leases
	Since  string   `bson:"outbox_at,omitempty"` // as of requests and tasks
}

func (d *comment) read() (school.Comment, error) {
	var c school.Comment
	err := decode(d.JSON, &c, d.ID)
	c.Text, c.Edited, c.Released, c.Open, c.Unread = d.Text, d.Edited, d.Released, d.Open, d.Unread
	return c, err
}

// AddComment adds a comment, see school.Comments. The questions that an answer closes are closed after it is there.
func (s *Store) AddComment(ctx context.Context, c school.Comment) error {
	doc, err := encode(c, c.ID)
	if err != nil {
		return err
	}
	if _, err := s.GetSubmission(ctx, c.Submission); err != nil {
		return err
	}
	n, err := s.count(ctx, comments, m{"submission": c.Submission}, school.MaxComments)
	if err := cmp.Or(err, school.CommentQuota.Check(c.Submission, n)); err != nil {
		return err
	}
	fresh := comment{
		ID: c.ID, Submission: c.Submission, Class: c.Class, Assignment: c.Assignment, User: c.User, Text: c.Text, Edited: c.Edited,
		Released: c.Released, Open: c.Open, Unread: c.Unread, Once: once(c.Submission+"/"+c.By, c.Idempotency), JSON: doc,
	}
	if c.Tell && !c.Draft() {
		fresh.Untold, fresh.Since = []string{untoldNote(c.Event(), 1)}, since(s.now())
	}
	is, err := s.insert(ctx, comments, fresh)
	if err == nil && !is {
		err = school.CommentTaken(c.ID)
	}
	if err != nil {
		return err
	}
	if _, err := s.GetSubmission(ctx, c.Submission); core.Is(err, core.CodeNotFound) { // it was deleted in the meantime
		_, gone := s.remove(ctx, comments, m{"_id": c.ID})
		return cmp.Or(gone, err)
	}
	if c.Kind == school.CommentAnswer {
		return s.changeAll(ctx, comments, m{"submission": c.Submission, "open": true}, m{"$set": m{"open": false}})
	}
	return nil
}

// GetComment returns a comment, see school.Comments.
func (s *Store) GetComment(ctx context.Context, id string) (school.Comment, error) {
	doc, found, err := one[comment](ctx, s, comments, m{"_id": id})
	if err == nil && !found {
		err = school.NoComment(id)
	}
	if err != nil {
		return school.Comment{}, err
	}
	return doc.read()
}

// EditComment replaces a text, see school.Comments.
func (s *Store) EditComment(ctx context.Context, id, text string, at int64) error {
	is, err := s.change(ctx, comments, m{"_id": id}, m{"$set": m{"text": text, "edited": at}})
	if err == nil && !is {
		err = school.NoComment(id)
	}
	return err
}

// DeleteComment deletes a comment, see school.Comments.
func (s *Store) DeleteComment(ctx context.Context, id string) error {
	n, err := s.remove(ctx, comments, m{"_id": id})
	if err == nil && n == 0 {
		err = school.NoComment(id)
	}
	return err
}

// ListComments lists comments, see school.Comments.
func (s *Store) ListComments(ctx context.Context, f school.CommentFilter) ([]school.Comment, error) {
	limit, err := bounds.Comments(f)
	if err != nil {
		return nil, err
	}
	which := m{"_id": m{"$gt": f.After}}
	for name, value := range map[string]string{"submission": f.Submission, "class": f.Class, "assignment": f.Assignment, "user": f.User} {
		if value != "" {
			which[name] = value
		}
	}
	if f.Open {
		which["open"] = true
	}
	if f.Unread {
		which["unread"] = true
	}
	if f.Drafts {
		which["released"] = 0
	}
	docs, err := some[comment](ctx, s, comments, which, by("_id"), limit)
	if err != nil {
		return nil, err
	}
	var all []school.Comment
	for i := range docs {
		c, err := docs[i].read()
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// ReleaseComments releases drafts, see school.Comments.
func (s *Store) ReleaseComments(ctx context.Context, class, assignment, submission string, at int64, tell bool) (int, error) {
	if at <= 0 {
		return 0, core.Errorf(core.CodeInvalid, assignment, "comments are released at no time")
	}
	which := m{"class": class, "assignment": assignment, "released": 0}
	if submission != "" {
		which["submission"] = submission
	}
	how := m{"released": at, "unread": true}
	if tell {
		how["outbox"], how["outbox_at"] = []string{untoldNote(core.EventCommentReleased, 1)}, since(s.now())
	}
	n := 0
	err := s.call(ctx, func(ctx context.Context) error {
		res, err := s.in(comments).UpdateMany(ctx, which, m{"$set": how})
		if err == nil {
			n = int(res.ModifiedCount)
		}
		return err
	})
	return n, err
}

// SeeComments marks comments as seen, see school.Comments.
func (s *Store) SeeComments(ctx context.Context, submission string) error {
	return s.changeAll(ctx, comments, m{"submission": submission, "unread": true}, m{"$set": m{"unread": false}})
}

// asked returns the ids of the submissions of a filter's class and assignment about which a question is open.
func (s *Store) asked(ctx context.Context, f school.SubmissionFilter) ([]string, error) {
	which := m{"open": true, "class": f.Class}
	if f.Assignment != "" {
		which["assignment"] = f.Assignment
	}
	docs, err := some[comment](ctx, s, comments, which, by("_id"), 0, "submission")
	ids := make([]string, 0, len(docs))
	for i := range docs {
		ids = append(ids, docs[i].Submission)
	}
	return ids, err
}

// CountQuestions counts open questions, see school.Comments.
func (s *Store) CountQuestions(ctx context.Context, classes []string) ([]school.QuestionCount, error) {
	if len(classes) == 0 {
		return nil, nil
	}
	docs, err := some[comment](ctx, s, comments, m{"open": true, "class": m{"$in": classes}}, by("class", "assignment"), 0, "class", "assignment")
	var all []school.QuestionCount
	for _, d := range docs {
		if n := len(all); n > 0 && all[n-1].Class == d.Class && all[n-1].Assignment == d.Assignment {
			all[n-1].Open++
			continue
		}
		all = append(all, school.QuestionCount{Class: d.Class, Assignment: d.Assignment, Open: 1})
	}
	return slices.Clip(all), err
}
