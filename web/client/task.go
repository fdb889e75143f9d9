package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"drover/core"
	"drover/core/classes"
)

// TrackTask returns a task and where it is. Returns NOTFOUND.
func (c *Client) TrackTask(ctx context.Context, id string) (classes.TaskView, error) {
	return get[classes.TaskView](ctx, c, nil, "tasks", id)
}

// TrackTasks lists the tasks that the caller may view, newest first, in one of f.States if it names any.
func (c *Client) TrackTasks(ctx context.Context, f core.TaskFilter) ([]classes.TaskView, error) {
	states := make([]string, len(f.States))
	for i, s := range f.States {
		states[i] = string(s)
	}
	query := values("kind", f.Kind, "requester", f.Requester, "class", f.Class, "parent", f.Parent, "state", strings.Join(states, ","))
	return list[classes.TaskView](ctx, c, []string{"tasks"}, query, f.Before, f.Limit)
}

// StartTask starts the task that makes a file.
func (c *Client) StartTask(ctx context.Context, kind string, args json.RawMessage) (core.Task, error) {
	return ask[core.Task](ctx, c, call{method: http.MethodPost, path: []string{"tasks"}, body: struct {
		Kind string          `json:"kind"`
		Args json.RawMessage `json:"args"`
	}{kind, args}})
}

// CancelTask stops a task in any place, and returns its state.
func (c *Client) CancelTask(ctx context.Context, id string) (core.TaskState, error) {
	out, err := post[struct {
		State core.TaskState `json:"state"`
	}](ctx, c, nil, "tasks", id, "cancel")
	return out.State, err
}

// RetryTask starts a dead or cancelled task again.
func (c *Client) RetryTask(ctx context.Context, id string) (core.Task, error) {
	return post[core.Task](ctx, c, nil, "tasks", id, "retry")
}

// OpenDownload opens the file that a task made. Returns NOTFOUND, FORBIDDEN, CONFLICT if
// it is not made yet, ENDED once it has expired.
func (c *Client) OpenDownload(ctx context.Context, id string) (core.Download, io.ReadCloser, error) {
	t, err := c.TrackTask(ctx, id)
	if err != nil {
		return core.Download{}, nil, err
	}
	content, _, err := c.download(ctx, "tasks", id, "download")
	if err != nil {
		return core.Download{}, nil, err
	}
	if t.Download == nil { // it was made just now
		if t, err = c.TrackTask(ctx, id); err == nil && t.Download == nil {
			err = core.Errorf(core.CodeVersion, id, "%s does not say what the file of task %s is", c.Server, id)
		}
		if err != nil {
			_ = content.Close()
			return core.Download{}, nil, err
		}
	}
	return *t.Download, content, nil
}
