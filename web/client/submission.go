package client

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/oklog/ulid/v2"

	"drover/core"
	"drover/core/coursework"
)

// keyOr is an idempotency key: the caller's, or one that nobody else has.
func keyOr(key string) string { return cmp.Or(key, "once-"+strings.ToLower(ulid.Make().String())) }

// ListSubmissions lists submissions of a class, newest first: one's own, or all where one teaches.
func (c *Client) ListSubmissions(ctx context.Context, f core.SubmissionFilter) ([]coursework.SubmissionEntry, error) {
	parts := []string{"classes", f.Class, "submissions"}
	if f.Assignment != "" {
		parts = []string{"classes", f.Class, "assignments", f.Assignment, "submissions"}
	}
	query := url.Values{}
	if f.User != "" {
		query.Set("user", f.User)
	}
	return list[coursework.SubmissionEntry](ctx, c, parts, query, f.Before, f.Limit)
}

// ViewSubmission returns a submission with its result. Returns NOTFOUND.
func (c *Client) ViewSubmission(ctx context.Context, id string) (coursework.SubmissionView, error) {
	return get[coursework.SubmissionView](ctx, c, nil, "submissions", id)
}

// OpenFile opens one file of a submission. Returns NOTFOUND.
func (c *Client) OpenFile(ctx context.Context, id, path string) (core.File, io.ReadCloser, error) {
	parts := append([]string{"submissions", id, "files"}, strings.Split(path, "/")...)
	content, size, err := c.download(ctx, parts...)
	return core.File{Path: path, Size: size}, content, err
}

// WriteZip writes a submission as a zip. What was written before an error is none.
func (c *Client) WriteZip(ctx context.Context, id string, to io.Writer) error {
	content, _, err := c.download(ctx, "submissions", id, "zip")
	if err != nil {
		return err
	}
	defer content.Close() //nolint:errcheck // only read from
	_, err = io.Copy(to, content)
	return err
}

// Resubmit has a submission tested once more, as it is.
func (c *Client) Resubmit(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodPost, path: []string{"submissions", id, "resubmit"}})
}

// CancelSubmission stops the tests of a submission, and returns their state. It may be
// asked for again and again.
func (c *Client) CancelSubmission(ctx context.Context, id string) (core.RequestState, error) {
	out, err := post[struct {
		State core.RequestState `json:"state"`
	}](ctx, c, nil, "submissions", id, "cancel")
	return out.State, err
}

// ChangeGrade gives a submission a person's grade: the one that is named, or the user's newest.
func (c *Client) ChangeGrade(ctx context.Context, g coursework.GradeChange) (core.Standing, error) {
	id := g.Submission
	if id == "" {
		newest, err := c.ListSubmissions(ctx, core.SubmissionFilter{Class: g.Class, Assignment: g.Assignment, User: g.User, Limit: 1})
		if err != nil {
			return core.Standing{}, err
		}
		if len(newest) == 0 {
			return core.Standing{}, core.Errorf(core.CodeNotFound, g.User, "%s has handed in nothing for %s/%s", g.User, g.Class, g.Assignment)
		}
		id = newest[0].Submission.ID
	}
	return ask[core.Standing](ctx, c, call{
		method: http.MethodPut, path: []string{"submissions", id, "grade"},
		body: map[string]any{"score": g.Score, "max_score": g.MaxScore, "reason": g.Reason},
	})
}
