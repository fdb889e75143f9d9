package client

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/oklog/ulid/v2"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
)

// keyOr returns the caller's idempotency key, or a new one.
func keyOr(key string) string { return cmp.Or(key, "once-"+strings.ToLower(ulid.Make().String())) }

// ListSubmissions lists submissions of a class, newest first: the caller's own, or all for staff.
func (c *Client) ListSubmissions(ctx context.Context, f school.SubmissionFilter) ([]classes.SubmissionEntry, error) {
	parts := []string{"classes", f.Class, "submissions"}
	if f.Assignment != "" {
		parts = []string{"classes", f.Class, "assignments", f.Assignment, "submissions"}
	}
	query := values("user", f.User)
	if f.Asked {
		query.Set("asked", "true")
	}
	return list[classes.SubmissionEntry](ctx, c, parts, query, f.Before, f.Limit)
}

// ViewSubmission returns a submission with its result. Returns NOTFOUND.
func (c *Client) ViewSubmission(ctx context.Context, id string) (classes.SubmissionView, error) {
	return get[classes.SubmissionView](ctx, c, nil, "submissions", id)
}

// OpenFile opens one file of a submission. Returns NOTFOUND.
func (c *Client) OpenFile(ctx context.Context, id, path string) (core.File, io.ReadCloser, error) {
	parts := append([]string{"submissions", id, "files"}, strings.Split(path, "/")...)
	content, size, err := c.download(ctx, parts...)
	return core.File{Path: path, Size: size}, content, err
}

// WriteZip writes a submission as a zip. After an error the output is no valid zip.
func (c *Client) WriteZip(ctx context.Context, id string, to io.Writer) error {
	content, _, err := c.download(ctx, "submissions", id, "zip")
	if err != nil {
		return err
	}
	defer content.Close() //nolint:errcheck // only read from
	_, err = io.Copy(to, content)
	return err
}

// Resubmit has a submission tested again, unchanged.
func (c *Client) Resubmit(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodPost, path: []string{"submissions", id, "resubmit"}})
}

// CancelSubmission stops the tests of a submission, and returns their state. It may be repeated.
func (c *Client) CancelSubmission(ctx context.Context, id string) (core.RequestState, error) {
	out, err := post[struct {
		State core.RequestState `json:"state"`
	}](ctx, c, nil, "submissions", id, "cancel")
	return out.State, err
}

// ChangeGrade sets a person's grade of a submission: the named one, or the user's newest.
func (c *Client) ChangeGrade(ctx context.Context, g classes.GradeChange) (school.Standing, error) {
	parts := []string{"classes", g.Class, "assignments", g.Assignment, "grades", g.User}
	if g.Submission != "" {
		if err := c.isOf(ctx, g); err != nil {
			return school.Standing{}, err
		}
		parts = []string{"submissions", g.Submission, "grade"}
	}
	body := map[string]any{"reason": g.Reason}
	if g.Score != nil {
		body["score"] = *g.Score
	}
	if g.MaxScore != nil {
		body["max_score"] = *g.MaxScore
	}
	return ask[school.Standing](ctx, c, call{method: http.MethodPut, path: parts, body: body})
}

// isOf returns NOTFOUND if the submission belongs to another user or assignment.
func (c *Client) isOf(ctx context.Context, g classes.GradeChange) error {
	v, err := c.ViewSubmission(ctx, g.Submission)
	if s := v.Submission; err == nil && (s.Class != g.Class || s.Assignment != g.Assignment || g.User != "" && s.User != g.User) {
		err = core.Errorf(core.CodeNotFound, g.Submission, "there is no submission %.80q", g.Submission)
	}
	return err
}
