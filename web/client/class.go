package client

import (
	"context"
	"net/http"
	"strconv"

	"drover/core"
	"drover/core/classes"
)

// FindClass returns the one class that a handle, a title or a part of either means; mine
// is the one class that one is in. Returns NOTFOUND, and INVALID with the candidates
// where there are several.
func (c *Client) FindClass(ctx context.Context, query string) (core.Class, error) {
	return get[core.Class](ctx, c, values("query", query), "find", "class")
}

// ListClasses lists the classes that one may see, in order of handle, from behind one of them.
func (c *Client) ListClasses(ctx context.Context, after string, limit int) ([]classes.ClassEntry, error) {
	return list[classes.ClassEntry](ctx, c, []string{"classes"}, nil, after, limit)
}

// ViewClass returns a class. Returns NOTFOUND.
func (c *Client) ViewClass(ctx context.Context, handle string) (classes.ClassEntry, error) {
	return get[classes.ClassEntry](ctx, c, nil, "classes", handle)
}

// Roster lists who is in a class, in order of handle, from behind one of them.
func (c *Client) Roster(ctx context.Context, class, after string, limit int) ([]classes.Member, error) {
	return list[classes.Member](ctx, c, []string{"classes", class, "members"}, nil, after, limit)
}

// FindAssignment returns the one assignment that class/assignment means, each as FindClass has it.
func (c *Client) FindAssignment(ctx context.Context, query string) (core.Assignment, error) {
	return get[core.Assignment](ctx, c, values("query", query), "find", "assignment")
}

// ListAssignments lists assignments, those that end last first, and says how many it left
// out because they ended long ago.
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

// ViewAssignment returns an assignment with one's own deadlines. Returns NOTFOUND.
func (c *Client) ViewAssignment(ctx context.Context, class, handle string) (classes.AssignmentEntry, error) {
	return get[classes.AssignmentEntry](ctx, c, nil, "classes", class, "assignments", handle)
}

// Deadlines lists the dates that users have of their own, or those of one user.
func (c *Client) Deadlines(ctx context.Context, class, assignment, user string) ([]core.Deadline, error) {
	query := values("assignment", assignment, "user", user)
	page, err := get[pageOf[core.Deadline]](ctx, c, query, "classes", class, "deadlines")
	return page.Items, err
}

// Missing lists the students who have submitted nothing for an assignment, in order of handle,
// from behind one of them.
func (c *Client) Missing(ctx context.Context, class, assignment, after string, limit int) ([]classes.Absence, error) {
	return list[classes.Absence](ctx, c, []string{"classes", class, "assignments", assignment, "missing"}, nil, after, limit)
}

// Progress says how many have submitted, and how the scores are spread.
func (c *Client) Progress(ctx context.Context, class, assignment string) (classes.Progress, error) {
	return get[classes.Progress](ctx, c, nil, "classes", class, "assignments", assignment, "progress")
}

// StartGradebook starts the task that writes the grades of a class as CSV.
func (c *Client) StartGradebook(ctx context.Context, args core.GradebookArgs) (core.Task, error) {
	return post[core.Task](ctx, c, values("fill", args.Fill), "classes", args.Class, "gradebook")
}

// StartArchive starts the task that writes a zip of what was submitted.
func (c *Client) StartArchive(ctx context.Context, args core.ArchiveArgs) (core.Task, error) {
	return post[core.Task](ctx, c, values("user", args.User, "latest", strconv.FormatBool(args.Latest)), "classes", args.Class, "assignments", args.Assignment, "archive")
}

// StartAssignmentCSV starts the task that writes the scores of an assignment as CSV.
func (c *Client) StartAssignmentCSV(ctx context.Context, args core.AssignmentCSVArgs) (core.Task, error) {
	return post[core.Task](ctx, c, values("header", strconv.FormatBool(args.Header)), "classes", args.Class, "assignments", args.Assignment, "csv")
}

// Submit submits files. They are read anew if the call is repeated, so that a lost answer
// costs no second submission: the idempotency key is h's, or one that is made here.
func (c *Client) Submit(ctx context.Context, h classes.NewSubmission) (core.Submission, error) {
	return ask[core.Submission](ctx, c, call{
		method: http.MethodPost, path: []string{"classes", h.Class, "assignments", h.Assignment, "submissions"},
		query: values("user", h.User, "kind", h.Kind), stream: files(h.Files), key: keyOr(h.Idempotency),
	})
}
