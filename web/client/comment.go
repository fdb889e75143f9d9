package client

import (
	"context"
	"net/http"

	"drover/core/classes"
	"drover/core/school"
)

// Comments lists the comments, questions and answers of a submission, oldest first; drafts to staff only.
func (c *Client) Comments(ctx context.Context, submission string) ([]school.Comment, error) {
	page, err := get[pageOf[school.Comment]](ctx, c, nil, "submissions", submission, "comments")
	return page.Items, err
}

// EditComment replaces the text of a comment, for staff, or of one's own question.
func (c *Client) EditComment(ctx context.Context, id, text string) error {
	return c.do(ctx, call{method: http.MethodPatch, path: []string{"comments", id}, body: map[string]any{"text": text}})
}

// DeleteComment deletes a comment, for staff, or one's own question.
func (c *Client) DeleteComment(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: []string{"comments", id}})
}

// AddComment adds a comment, a draft until ReleaseComments. A lost answer adds no second one: the idempotency key is n's,
// or a new one; so it is for questions and answers.
func (c *Client) AddComment(ctx context.Context, submission string, n classes.NewComment) (school.Comment, error) {
	body := map[string]any{"text": n.Text, "file": n.File, "line": n.Line, "last": n.Last}
	return c.say(ctx, submission, "comments", n.Key, body)
}

// ReleaseComments shows the drafts on a submission to its student, and returns how many there were.
func (c *Client) ReleaseComments(ctx context.Context, submission string) (int, error) {
	out, err := post[struct {
		Released int `json:"released"`
	}](ctx, c, nil, "submissions", submission, "comments", "release")
	return out.Released, err
}

// Ask asks the staff about one's own submission.
func (c *Client) Ask(ctx context.Context, submission, text, key string) (school.Comment, error) {
	return c.say(ctx, submission, "questions", key, map[string]any{"text": text})
}

// Answer answers all open questions about a submission.
func (c *Client) Answer(ctx context.Context, submission, text, key string) (school.Comment, error) {
	return c.say(ctx, submission, "answers", key, map[string]any{"text": text})
}

func (c *Client) say(ctx context.Context, submission, as, key string, body map[string]any) (school.Comment, error) {
	return ask[school.Comment](ctx, c, call{method: http.MethodPost, path: []string{"submissions", submission, as}, body: body, key: keyOr(key)})
}
