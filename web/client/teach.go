package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"drover/core"
	"drover/core/blobs/nameless"
	"drover/core/classes"
	"drover/core/harness"
	"drover/core/school"
)

// Enrol puts a user into a class, or changes the user's role there.
func (c *Client) Enrol(ctx context.Context, class, user string, role core.UserRole) error {
	return c.do(ctx, call{method: http.MethodPut, path: []string{"classes", class, "members", user}, body: map[string]any{"role": role}})
}

// SetSection puts a member of a class into a section of it; "" is none.
func (c *Client) SetSection(ctx context.Context, class, user string, role core.UserRole, section string) error {
	return c.do(ctx, call{method: http.MethodPut, path: []string{"classes", class, "members", user}, body: map[string]any{"role": role, "section": section}})
}

// Drop takes a user out of a class; submissions stay.
func (c *Client) Drop(ctx context.Context, class, user string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: []string{"classes", class, "members", user}})
}

// UndoImport undoes the last import into a class.
func (c *Client) UndoImport(ctx context.Context, class string) (classes.Undone, error) {
	return post[classes.Undone](ctx, c, nil, "classes", class, "roster", "undo")
}

// ImportRoster enrols the people of a table; a dry run only reports what would be done.
func (c *Client) ImportRoster(ctx context.Context, class string, csv io.Reader, opts classes.ImportOptions) (classes.Imported, error) {
	query := values("dry_run", strconv.FormatBool(opts.DryRun), "names", strconv.FormatBool(opts.Names))
	if len(opts.Columns) > 0 {
		query.Set("columns", strings.Join(opts.Columns, ","))
	}
	return ask[classes.Imported](ctx, c, call{
		method: http.MethodPost, path: []string{"classes", class, "roster"}, query: query,
		stream: func() upload { return upload{kind: "text/csv", from: io.NopCloser(csv)} },
	})
}

// settings are all settings of an assignment: zero values are sent, too, because they may be new.
func settings(as school.Assignment) map[string]any {
	all := map[string]any{
		"title": as.Title, "text": as.Text, "due_ms": as.Due, "cutoff_ms": as.Cutoff, "hide_until_ms": as.HideUntil, "allow_final": as.AllowFinal,
		"pool": as.Pool, "limits": as.Limits, "show_output": as.ShowOutput, "max_files": as.MaxFiles, "max_bytes": as.MaxBytes,
		"counts": as.Policy(), "grace_minutes": as.Grace, "penalty_percent": as.Penalty, "floor_percent": as.Floor, "required": as.Required,
	}
	if as.Priority != "" {
		all["priority"] = as.Priority
	}
	return all
}

// CreateAssignment makes an assignment, without a harness. Returns CONFLICT if the handle is taken.
func (c *Client) CreateAssignment(ctx context.Context, as school.Assignment) (school.Assignment, error) {
	body := settings(as)
	body["handle"] = as.Handle
	return ask[school.Assignment](ctx, c, call{method: http.MethodPost, path: []string{"classes", as.Class, "assignments"}, body: body})
}

// EditAssignment changes an assignment of exactly that revision. Returns CONFLICT if it has changed since.
func (c *Client) EditAssignment(ctx context.Context, as school.Assignment) (school.Assignment, error) {
	out, err := ask[school.Assignment](ctx, c, call{
		method: http.MethodPatch, path: []string{"classes", as.Class, "assignments", as.Handle}, body: settings(as),
		header: http.Header{"If-Match": {`"` + strconv.FormatInt(as.Revision, 10) + `"`}},
	})
	if core.Is(err, core.CodeStale) {
		err = core.Wrap(err, core.CodeConflict, as.Name(), "assignment %s was changed by somebody else in that moment: look at it, and change it again", as.Name())
	}
	return out, err
}

// DeleteAssignment starts the task that deletes an assignment with all its contents.
func (c *Client) DeleteAssignment(ctx context.Context, class, handle string) (core.Task, error) {
	return ask[core.Task](ctx, c, call{method: http.MethodDelete, path: []string{"classes", class, "assignments", handle}})
}

// SetHarness gives an assignment the harness in an archive.
func (c *Client) SetHarness(ctx context.Context, class, handle string, archive io.Reader) (school.Assignment, error) {
	stream, err := pack(archive)
	if err != nil {
		return school.Assignment{}, err
	}
	return ask[school.Assignment](ctx, c, call{method: http.MethodPut, path: []string{"classes", class, "assignments", handle, "harness"}, stream: stream})
}

// pack makes a body of an archive; nil for none.
func pack(archive io.Reader) (func() upload, error) {
	if archive == nil {
		return nil, nil //nolint:nilnil // no archive is no fault
	}
	whole, err := nameless.Read(archive, harness.MaxPackBytes, "")
	if err != nil {
		return nil, core.Wrap(err, core.CodeOr(err, core.CodeInvalid), "", "the harness cannot be read")
	}
	return func() upload {
		return upload{kind: "application/octet-stream", from: io.NopCloser(whole.Whole())}
	}, nil
}

// RemoveHarness makes submissions to an assignment ungraded.
func (c *Client) RemoveHarness(ctx context.Context, class, handle string) (school.Assignment, error) {
	return ask[school.Assignment](ctx, c, call{method: http.MethodDelete, path: []string{"classes", class, "assignments", handle, "harness"}})
}

// PoolChoices lists the pools that can grade assignments of a class.
func (c *Client) PoolChoices(ctx context.Context, class string) ([]classes.PoolChoice, error) {
	page, err := get[pageOf[classes.PoolChoice]](ctx, c, nil, "classes", class, "pools")
	return page.Items, err
}

// SetDeadline sets a user's personal dates; without any, the assignment's apply again.
func (c *Client) SetDeadline(ctx context.Context, own school.Deadline) error {
	k := call{method: http.MethodPut, path: []string{"classes", own.Class, "assignments", own.Assignment, "deadlines", own.User}}
	if own.Due == 0 && own.Cutoff == 0 {
		k.method, k.query = http.MethodDelete, values("reason", own.Reason)
	} else {
		k.body = map[string]any{"due_ms": own.Due, "cutoff_ms": own.Cutoff, "reason": own.Reason}
	}
	return c.do(ctx, k)
}

// StartExperiment reruns the newest submissions to an assignment as an experiment.
func (c *Client) StartExperiment(ctx context.Context, class, assignment string, t classes.Trial) (school.Experiment, error) {
	stream, err := pack(t.Harness)
	if err != nil {
		return school.Experiment{}, err
	}
	query := url.Values{"user": t.Users}
	if t.Repeat != 0 {
		query.Set("repeat", strconv.Itoa(t.Repeat))
	}
	return ask[school.Experiment](ctx, c, call{
		method: http.MethodPost, path: []string{"classes", class, "assignments", assignment, "experiments"}, query: query, stream: stream,
	})
}

// Experiments lists the newest experiments of an assignment, at most 500.
func (c *Client) Experiments(ctx context.Context, class, assignment string, limit int) ([]school.Experiment, error) {
	query := values("limit", strconv.Itoa(min(limit, maxPage)))
	page, err := get[pageOf[school.Experiment]](ctx, c, query, "classes", class, "assignments", assignment, "experiments")
	return page.Items, err
}

// ExperimentProgress returns an experiment and how far it has come.
func (c *Client) ExperimentProgress(ctx context.Context, id string) (school.Experiment, core.TaskProgress, error) {
	out, err := get[struct {
		school.Experiment
		Progress core.TaskProgress `json:"progress"`
	}](ctx, c, nil, "experiments", id)
	return out.Experiment, out.Progress, err
}

// ViewExperiment returns an experiment and compares its verdicts with the old ones.
func (c *Client) ViewExperiment(ctx context.Context, id string, p classes.OutcomePage) (classes.ExperimentView, error) {
	var all classes.ExperimentView
	for first := true; first || p.After != "" && p.Limit > 0; first = false {
		query := values("differing", strconv.FormatBool(p.Differing), "cursor", p.After, "limit", strconv.Itoa(min(p.Limit, maxPage)))
		page, err := get[struct {
			classes.ExperimentView
			Next string `json:"next"`
		}](ctx, c, query, "experiments", id, "outcomes")
		if err != nil {
			return all, err
		}
		page.Outcomes = append(all.Outcomes, page.Outcomes...)
		p.Limit -= len(page.Outcomes) - len(all.Outcomes)
		all, p.After = page.ExperimentView, page.Next
	}
	return all, nil
}

// ApplyExperiment makes the results of an experiment count.
func (c *Client) ApplyExperiment(ctx context.Context, id string) (classes.Applied, error) {
	return post[classes.Applied](ctx, c, nil, "experiments", id, "apply")
}

// AbortExperiment aborts an experiment; its results do not count.
func (c *Client) AbortExperiment(ctx context.Context, id string) (school.Experiment, error) {
	return post[school.Experiment](ctx, c, nil, "experiments", id, "abort")
}
