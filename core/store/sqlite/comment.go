package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"strings"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"
)

// AddComment adds a comment, see school.Comments.
func (s *Store) AddComment(ctx context.Context, c school.Comment) error {
	doc, err := encode(c, c.ID)
	if err != nil {
		return err
	}
	_, err = commit(ctx, s.committer, c.ID, len(doc), func(t *tx) (int, error) {
		is, err := t.any("SELECT 1 FROM submissions WHERE id = ?", c.Submission)
		if err != nil {
			return 0, err
		}
		if !is {
			return 0, school.NoSubmission(c.Submission)
		}
		if err := t.room(school.CommentQuota, c.Submission, "SELECT count(*) FROM comments WHERE submission = ?", c.Submission); err != nil {
			return 0, err
		}
		if c.Idempotency != "" { // of at most MaxComments
			const same = "SELECT 1 FROM comments WHERE submission = ? AND json_extract(CAST(doc AS TEXT), '$.idempotency') = ? AND json_extract(CAST(doc AS TEXT), '$.by') = ?"
			if is, err := t.any(same, c.Submission, c.Idempotency, c.By); err != nil || is {
				return 0, cmp.Or(err, school.CommentTaken(c.ID))
			}
		}
		if c.Kind == school.CommentAnswer {
			if _, err := t.exec("UPDATE comments SET open = 0 WHERE submission = ?", c.Submission); err != nil {
				return 0, err
			}
		}
		n, err := t.exec("INSERT INTO comments (id, submission, class, assignment, user, released, open, unread, doc) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
			c.ID, c.Submission, c.Class, c.Assignment, c.User, c.Released, c.Open, c.Unread, doc)
		switch {
		case err == nil && n == 0:
			err = school.CommentTaken(c.ID)
		case err == nil && c.Tell && !c.Draft():
			err = t.tell(c.Event(), c.ID, 1)
		}
		return n, err
	})
	return err
}

// GetComment returns a comment, see school.Comments.
func (s *Store) GetComment(ctx context.Context, id string) (school.Comment, error) {
	all, err := s.comments(ctx, "id = ?", 1, id)
	if err == nil && len(all) == 0 {
		err = school.NoComment(id)
	}
	if err != nil {
		return school.Comment{}, err
	}
	return all[0], nil
}

// comments returns those that match, in order of id.
func (s *Store) comments(ctx context.Context, which string, limit int, args ...any) ([]school.Comment, error) {
	var all []school.Comment
	err := s.rows(ctx, "SELECT doc, released, open, unread FROM comments WHERE "+which+" ORDER BY id LIMIT ?", append(args, limit), func(rows *sql.Rows) error {
		var doc sql.RawBytes
		var c school.Comment
		var released int64
		var open, unread bool
		if err := rows.Scan(&doc, &released, &open, &unread); err != nil {
			return err
		}
		err := decode(doc, &c, s.path)
		c.Released, c.Open, c.Unread = released, open, unread
		all = append(all, c)
		return err
	})
	return all, err
}

// EditComment replaces a text, see school.Comments.
func (s *Store) EditComment(ctx context.Context, id, text string, at int64) error {
	_, err := commit(ctx, s.committer, id, len(text), func(t *tx) (int, error) {
		n, err := t.exec("UPDATE comments SET doc = CAST(json_set(CAST(doc AS TEXT), '$.text', ?, '$.edited_ms', ?) AS BLOB) WHERE id = ?", text, at, id)
		if err == nil && n == 0 {
			err = school.NoComment(id)
		}
		return n, err
	})
	return err
}

// DeleteComment deletes a comment, see school.Comments.
func (s *Store) DeleteComment(ctx context.Context, id string) error {
	_, err := commit(ctx, s.committer, id, 0, func(t *tx) (int, error) {
		n, err := t.exec("DELETE FROM comments WHERE id = ?", id)
		if err == nil && n == 0 {
			err = school.NoComment(id)
		}
		return n, err
	})
	return err
}

// ListComments lists comments, see school.Comments.
func (s *Store) ListComments(ctx context.Context, f school.CommentFilter) ([]school.Comment, error) {
	limit, err := bounds.Comments(f)
	if err != nil {
		return nil, err
	}
	which, args := []string{"id > ?"}, []any{f.After}
	for _, one := range []column{{"submission", f.Submission}, {"class", f.Class}, {"assignment", f.Assignment}, {"user", f.User}} {
		if one.value != "" {
			which, args = append(which, one.name+" = ?"), append(args, one.value)
		}
	}
	for name, is := range map[string]bool{"open = 1": f.Open, "unread = 1": f.Unread, "released = 0": f.Drafts} {
		if is {
			which = append(which, name)
		}
	}
	return s.comments(ctx, strings.Join(which, " AND "), limit, args...)
}

// ReleaseComments releases drafts, see school.Comments.
func (s *Store) ReleaseComments(ctx context.Context, class, assignment, submission string, at int64, tell bool) (int, error) {
	if at <= 0 {
		return 0, core.Errorf(core.CodeInvalid, assignment, "comments are released at no time")
	}
	which, args := "class = ? AND assignment = ? AND released = 0", []any{class, assignment}
	if submission != "" {
		which, args = which+" AND submission = ?", append(args, submission)
	}
	return commit(ctx, s.committer, assignment, 0, func(t *tx) (int, error) {
		if tell {
			const notices = "INSERT INTO outbox (event, id, generation) SELECT ?, id, 1 FROM comments WHERE "
			if _, err := t.exec(notices+which, append([]any{core.EventCommentReleased}, args...)...); err != nil {
				return 0, err
			}
		}
		return t.exec("UPDATE comments SET released = ?, unread = 1 WHERE "+which, append([]any{at}, args...)...)
	})
}

// SeeComments marks comments as seen, see school.Comments.
func (s *Store) SeeComments(ctx context.Context, submission string) error {
	_, err := commit(ctx, s.committer, submission, 0, func(t *tx) (int, error) {
		return t.exec("UPDATE comments SET unread = 0 WHERE submission = ? AND unread = 1", submission)
	})
	return err
}

// CountQuestions counts open questions, see school.Comments.
func (s *Store) CountQuestions(ctx context.Context, classes []string) ([]school.QuestionCount, error) {
	if len(classes) == 0 {
		return nil, nil
	}
	args := make([]any, len(classes))
	for i, class := range classes {
		args[i] = class
	}
	var all []school.QuestionCount
	err := s.rows(ctx, "SELECT class, assignment, count(*) FROM comments WHERE open = 1 AND class IN (?"+strings.Repeat(", ?", len(args)-1)+
		") GROUP BY class, assignment ORDER BY class, assignment", args, func(rows *sql.Rows) error {
		var c school.QuestionCount
		err := rows.Scan(&c.Class, &c.Assignment, &c.Open)
		all = append(all, c)
		return err
	})
	return all, err
}
