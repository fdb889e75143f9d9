package client

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
)

// FindClass returns the one class whose handle or title is, or contains, the query; mine is the one class of the
// caller. Returns NOTFOUND, and INVALID with the candidates if there are several.
func (c *Client) FindClass(ctx context.Context, query string) (school.Class, error) {
	return get[school.Class](ctx, c, values("query", query), "find", "class")
}

// ListClasses lists the classes that the caller may view, in order of handle, after the given one.
func (c *Client) ListClasses(ctx context.Context, after string, limit int) ([]classes.ClassEntry, error) {
	return list[classes.ClassEntry](ctx, c, []string{"classes"}, nil, after, limit)
}

// ViewClass returns a class. Returns NOTFOUND.
func (c *Client) ViewClass(ctx context.Context, handle string) (classes.ClassEntry, error) {
	return get[classes.ClassEntry](ctx, c, nil, "classes", handle)
}

// Roster lists the members of a class, in order of handle, after the given one.
func (c *Client) Roster(ctx context.Context, class, after string, limit int) ([]classes.Member, error) {
	return list[classes.Member](ctx, c, []string{"classes", class, "members"}, nil, after, limit)
}

// FindAssignment returns the one assignment that class/assignment matches, both parts as in FindClass.
func (c *Client) FindAssignment(ctx context.Context, query string) (school.Assignment, error) {
	return get[school.Assignment](ctx, c, values("query", query), "find", "assignment")
}

// ListAssignments lists assignments, what is due next first, and returns how many it left out because they ended
// long ago.
func (c *Client) ListAssignments(ctx context.Context, f classes.AssignmentFilter) (all []classes.AssignmentEntry, left int, err error) {
	parts := []string{"assignments"}
	if f.Class != "" {
		parts = []string{"classes", f.Class, "assignments"}
	}
	page, err := get[struct {
		Items []classes.AssignmentEntry `json:"items"`
		Left  int                       `json:"left"`
	}](ctx, c, values("all", strconv.FormatBool(f.All)), parts...)
	return page.Items, page.Left, err
}

// ViewAssignment returns an assignment with the caller's personal deadlines. Returns NOTFOUND.
func (c *Client) ViewAssignment(ctx context.Context, class, handle string) (classes.AssignmentEntry, error) {
	return get[classes.AssignmentEntry](ctx, c, nil, "classes", class, "assignments", handle)
}

// Handout lists the files that an assignment has for students: statements, samples and attachments.
func (c *Client) Handout(ctx context.Context, class, handle string) ([]core.File, error) {
	is, err := get[struct {
		Files []core.File `json:"files"`
	}](ctx, c, nil, "classes", class, "assignments", handle, "handout")
	return is.Files, err
}

// OpenHandout opens one of those files. Returns NOTFOUND.
func (c *Client) OpenHandout(ctx context.Context, class, handle, path string) (core.File, io.ReadCloser, error) {
	parts := append([]string{"classes", class, "assignments", handle, "handout"}, strings.Split(path, "/")...)
	content, size, err := c.download(ctx, parts...)
	return core.File{Path: path, Size: size}, content, err
}

// Deadlines lists personal deadlines, of all users or of one.
func (c *Client) Deadlines(ctx context.Context, class, assignment, user string) ([]school.Deadline, error) {
	query := values("assignment", assignment, "user", user)
	page, err := get[pageOf[school.Deadline]](ctx, c, query, "classes", class, "deadlines")
	return page.Items, err
}

// Missing lists the students without a submission to an assignment, in order of handle, after the given one.
func (c *Client) Missing(ctx context.Context, class, assignment, after string, limit int) ([]classes.Absence, error) {
	return list[classes.Absence](ctx, c, []string{"classes", class, "assignments", assignment, "missing"}, nil, after, limit)
}

// Progress returns how many have submitted, and how the scores are spread.
func (c *Client) Progress(ctx context.Context, class, assignment string) (classes.Progress, error) {
	return get[classes.Progress](ctx, c, nil, "classes", class, "assignments", assignment, "progress")
}

// Submit submits files. They are read again if the call is repeated, so that a lost answer causes no second
// submission: the idempotency key is h's, or a new one.
func (c *Client) Submit(ctx context.Context, h classes.NewSubmission) (school.Submission, error) {
	return ask[school.Submission](ctx, c, call{
		method: http.MethodPost, path: []string{"classes", h.Class, "assignments", h.Assignment, "submissions"},
		query: values("user", h.User, "kind", h.Kind), stream: files(h.Files), key: keyOr(h.Idempotency),
	})
}

// SubmitGit submits a commit of a public Git repository, which the site fetches: a branch, tag or commit, "" for the
// default branch. The idempotency key is as in Submit.
func (c *Client) SubmitGit(ctx context.Context, h classes.NewSubmission, address, ref string) (school.Submission, error) {
	return ask[school.Submission](ctx, c, call{
		method: http.MethodPost, path: []string{"classes", h.Class, "assignments", h.Assignment, "submissions", "git"},
		query: values("user", h.User, "kind", h.Kind), body: map[string]any{"address": address, "ref": ref}, key: keyOr(h.Idempotency),
	})
}
