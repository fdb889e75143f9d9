package client

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"iter"
	"mime/multipart"
	"net/http"
	"strings"

	"drover/core"
	"drover/core/requests"
	"drover/core/requests/intake"
)

// draft are the fields of a request besides its files.
type draft struct {
	Submitter  string          `json:"submitter,omitempty"`
	Type       string          `json:"type,omitempty"`
	Pool       string          `json:"pool,omitempty"`
	Priority   core.Priority   `json:"priority,omitempty"`
	Command    []string        `json:"command,omitempty"`
	Env        []string        `json:"env,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	Collect    []string        `json:"collect,omitempty"`
	Assignment string          `json:"assignment,omitempty"`
	Supersede  bool            `json:"supersede,omitempty"`
	Notify     []string        `json:"notify,omitempty"`
	OnHostLoss string          `json:"on_host_loss,omitempty"`
	Limits     core.Limits     `json:"limits,omitzero"`
}

// SubmitRequest requests a run. Files are read again if the call is repeated, so that a lost answer causes no second
// run: the idempotency key is d's, or a new one.
func (c *Client) SubmitRequest(ctx context.Context, d requests.Draft) (requests.View, error) {
	says, err := json.Marshal(draftOf(d))
	if err != nil {
		return requests.View{}, core.Wrap(err, core.CodeInvalid, "", "the request cannot be written as JSON")
	}
	return ask[requests.View](ctx, c, call{
		method: http.MethodPost, path: []string{"requests"}, key: keyOr(d.Idempotency),
		stream: form(func(form *multipart.Writer) error { return writeRequest(form, says, d.Files) }),
	})
}

func draftOf(d requests.Draft) draft {
	return draft{
		d.Submitter, d.Type, d.Pool, d.Priority, d.Command, d.Env, d.Input, d.Collect, d.Assignment, d.Supersede, d.Notify, d.OnHostLoss, d.Limits,
	}
}

// PreviewRequest returns what a request would meet if it was submitted now; files are not sent. Returns the errors with
// which SubmitRequest would be refused.
func (c *Client) PreviewRequest(ctx context.Context, d requests.Draft) (requests.Preview, error) {
	return ask[requests.Preview](ctx, c, call{method: http.MethodPost, path: []string{"requests", "preview"}, body: draftOf(d)})
}

// writeRequest writes a form of a request's fields and files.
func writeRequest(form *multipart.Writer, says []byte, files iter.Seq2[intake.Upload, error]) error {
	part, err := form.CreateFormField("request")
	if err == nil {
		_, err = part.Write(says)
	}
	if err != nil || files == nil {
		return err
	}
	for file, err := range files {
		if err == nil {
			err = writeFile(form, cmp.Or(string(file.Part), "file"), file.Path, file.Mode, file.Content)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ViewRequest returns a request, with its result once it has one. Returns NOTFOUND.
func (c *Client) ViewRequest(ctx context.Context, id string) (requests.View, error) {
	return get[requests.View](ctx, c, nil, "requests", id)
}

// ListRequests lists requests that the caller may view, newest first.
func (c *Client) ListRequests(ctx context.Context, f requests.Filter) ([]requests.View, error) {
	states := make([]string, len(f.States))
	for i, s := range f.States {
		states[i] = string(s)
	}
	query := values("submitter", f.Submitter, "pool", f.Pool, "assignment", f.Assignment, "batch", f.Batch, "state", strings.Join(states, ","))
	return list[requests.View](ctx, c, []string{"requests"}, query, f.Before, f.Limit)
}

// Attempts returns all tries of a request, oldest first.
func (c *Client) Attempts(ctx context.Context, id string) ([]core.Attempt, error) {
	page, err := get[pageOf[core.Attempt]](ctx, c, nil, "requests", id, "attempts")
	return page.Items, err
}

// OpenRequestFile opens a file that was collected from a request. Returns NOTFOUND, CONFLICT if the request has not
// ended.
func (c *Client) OpenRequestFile(ctx context.Context, id, path string) (core.File, io.ReadCloser, error) {
	content, size, err := c.download(ctx, append([]string{"requests", id, "files"}, strings.Split(path, "/")...)...)
	return core.File{Path: path, Size: size}, content, err
}

// CancelRequest stops a request in any state, and returns its new state. It may be repeated.
func (c *Client) CancelRequest(ctx context.Context, id string) (core.RequestState, error) {
	out, err := post[struct {
		State core.RequestState `json:"state"`
	}](ctx, c, nil, "requests", id, "cancel")
	return out.State, err
}

// ChangeRequest changes priority, pool and limits of a request that waits; what c leaves out stays. It may be repeated.
// Returns CONFLICT if it runs or has ended.
func (c *Client) ChangeRequest(ctx context.Context, id string, to core.Change) (requests.View, error) {
	return ask[requests.View](ctx, c, call{method: http.MethodPatch, path: []string{"requests", id}, body: struct {
		Pool     string        `json:"pool,omitempty"`
		Priority core.Priority `json:"priority,omitempty"`
		Limits   core.Limits   `json:"limits,omitzero"`
	}{to.Pool, to.Priority, to.Limits}})
}

// DeleteRequest deletes a request in any state, and returns whether it is gone: a running one goes once it has ended. It
// may be repeated until then.
func (c *Client) DeleteRequest(ctx context.Context, id string) (bool, error) {
	out, err := ask[struct {
		Gone bool `json:"gone"`
	}](ctx, c, call{method: http.MethodDelete, path: []string{"requests", id}})
	return out.Gone, err
}

// RerunRequest runs an ended request again, as its next generation.
func (c *Client) RerunRequest(ctx context.Context, id string) (requests.View, error) {
	return post[requests.View](ctx, c, nil, "requests", id, "rerun")
}

// ReplayRequest requests that a finished request is run again as it was, which counts for nothing. Returns CONFLICT if that
// is not possible any more.
func (c *Client) ReplayRequest(ctx context.Context, id string, o requests.ReplayOptions) (requests.View, error) {
	return ask[requests.View](ctx, c, call{method: http.MethodPost, path: []string{"requests", id, "replay"}, key: keyOr(o.Idempotency), body: struct {
		Pool string `json:"pool,omitempty"`
	}{o.Pool}})
}

// CompareRequest compares the result of a replay with that of the request that it runs again.
func (c *Client) CompareRequest(ctx context.Context, id string) (requests.Comparison, error) {
	return get[requests.Comparison](ctx, c, nil, "requests", id, "comparison")
}

// ExplainRequest says in sentences how the result of a request came about.
func (c *Client) ExplainRequest(ctx context.Context, id string) ([]string, error) {
	out, err := get[struct {
		Lines []string `json:"lines"`
	}](ctx, c, nil, "requests", id, "explanation")
	return out.Lines, err
}

// WhyRequestWaits returns why a request waits; nil if it does not.
func (c *Client) WhyRequestWaits(ctx context.Context, id string) (*requests.Waiting, error) {
	return get[*requests.Waiting](ctx, c, nil, "requests", id, "waiting")
}

// FollowRequest yields the events of a request until it has ended, after the event with id last; "" is from its
// beginning. An interrupted stream is continued.
func (c *Client) FollowRequest(ctx context.Context, id, last string) iter.Seq2[requests.Event, error] {
	return func(yield func(requests.Event, error) bool) {
		for e, err := range c.events(ctx, []string{"requests", id, "events"}, last) {
			told := requests.Event{ID: e.id, Kind: requests.EventKind(e.kind)}
			if err == nil && len(e.data) > 0 {
				err = c.told(&told, e.data)
			}
			if !yield(told, err) || err != nil || told.Kind == requests.EventEnd {
				return
			}
		}
	}
}

// told decodes an event. Fields of later versions are ignored.
func (c *Client) told(e *requests.Event, data []byte) error {
	var said struct {
		State  core.RequestState `json:"state"`
		Stream string            `json:"stream"`
		Text   string            `json:"text"`
		Data   []byte            `json:"data"`
		Bytes  int64             `json:"bytes"`
	}
	if err := json.Unmarshal(data, &said); err != nil {
		return core.Wrap(err, core.CodeVersion, c.Server, "an event of %s cannot be read: has it another version than this program?", c.Server)
	}
	e.State, e.Stream, e.Data, e.Bytes = said.State, said.Stream, said.Data, said.Bytes
	if e.Data == nil {
		e.Data = []byte(said.Text)
	}
	return nil
}
