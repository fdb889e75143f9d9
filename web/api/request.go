package api

import (
	"context"
	"encoding/json"
	"net/http"

	"drover/core"
	"drover/core/harness/explain"
	"drover/core/requests"
	"drover/core/school"
)

func requestTable() []entry {
	return []entry{
		is(Operation{"submitRequest", post, "/requests", core.ActRequestCreate, school.ScopeSubmit, 201, "Run a command, or grade files by a harness, as multipart/form-data"}, (*server).submitRequest),
		is(Operation{"previewRequest", post, "/requests/preview", core.ActRequestCreate, school.ScopeSubmit, 0, "Return whether a request would be accepted, where it would fit and how soon it would run; nothing is submitted"}, (*server).previewRequest),
		is(Operation{"listRequests", get, "/requests", "", school.ScopeRead, 0, "List the requests that the caller may see, newest first"}, (*server).listRequests),
		is(Operation{"viewRequest", get, "/requests/{id}", core.ActRequestView, school.ScopeRead, 0, "Return a request: its result, or its progress and what it waits for"}, (*server).viewRequest),
		is(Operation{"whyRequestWaits", get, "/requests/{id}/waiting", core.ActRequestView, school.ScopeRead, 0, "Return why a request waits, also to the submitter of what it grades; null if it does not wait"}, (*server).whyRequestWaits),
		is(Operation{"changeRequest", patch, "/requests/{id}", core.ActRequestControl, school.ScopeSubmit, 0, "Change priority, pool or limits of a request that waits"}, (*server).changeRequest),
		is(Operation{"deleteRequest", remove, "/requests/{id}", core.ActRequestControl, school.ScopeSubmit, 202, "Delete a request with its results and output; a running one is stopped first"}, (*server).deleteRequest),
		is(Operation{"cancelRequest", post, "/requests/{id}/cancel", core.ActRequestControl, school.ScopeSubmit, 202, "Cancel a request, waiting or running"}, (*server).cancelRequest),
		is(Operation{"rerunRequest", post, "/requests/{id}/rerun", core.ActRequestControl, school.ScopeSubmit, 202, "Rerun an ended request"}, (*server).rerunRequest),
		is(Operation{"replayRequest", post, "/requests/{id}/replay", core.ActRequestCreate, school.ScopeSubmit, 201, "Run an ended request again as it was, as a new request that counts for nothing"}, (*server).replayRequest),
		is(Operation{"compareRequest", get, "/requests/{id}/comparison", core.ActRequestView, school.ScopeRead, 0, "Compare the result of a replay with that of the request that it runs again"}, (*server).compareRequest),
		is(Operation{"explainRequest", get, "/requests/{id}/explanation", core.ActRequestView, school.ScopeRead, 0, "Explain in sentences how the result of a request came about"}, (*server).explainRequest),
		is(Operation{"listAttempts", get, "/requests/{id}/attempts", core.ActRequestView, school.ScopeRead, 0, "List all tries of a request, oldest first"}, (*server).listAttempts),
		is(Operation{"downloadRequestFile", get, "/requests/{id}/files/{path}", core.ActRequestView, school.ScopeRead, 0, "Download a collected file of a request"}, (*server).requestFile),
	}
}

// RequestFields are what a request says beside its files.
type RequestFields struct {
	Submitter  string          `json:"submitter,omitempty" maxLength:"64" doc:"user on whose behalf the request is made, for operators; the caller by default"`
	Type       string          `json:"type,omitempty" maxLength:"64" doc:"job type, which says what is left out"`
	Pool       string          `json:"pool,omitempty" maxLength:"64" doc:"where it runs; that of its type by default"`
	Priority   core.Priority   `json:"priority,omitempty" enum:"high,normal,low" doc:"normal by default; high only for operators"`
	Command    []string        `json:"command,omitempty" maxItems:"256" doc:"program and arguments of a plain command"`
	Env        []string        `json:"env,omitempty" doc:"NAME=value"`
	Input      json.RawMessage `json:"input,omitempty" doc:"actions of a harness; those of its settings by default"`
	Collect    []string        `json:"collect,omitempty" maxItems:"32" doc:"files and folders of a plain command's work folder to keep with the result"`
	Assignment string          `json:"assignment,omitempty" doc:"a label of the requests that supersede one another"`
	Supersede  bool            `json:"supersede,omitempty" doc:"withdraw the submitter's older waiting request of the same label"`
	Notify     []string        `json:"notify,omitempty" maxItems:"8" doc:"ids of webhooks to notify of the end, for operators"`
	OnHostLoss string          `json:"on_host_loss,omitempty" enum:"requeue,fail" doc:"the pool's by default"`
	Limits     core.Limits     `json:"limits,omitempty" doc:"the pool's by default"`
}

// requested is the answer with a request.
type requested struct {
	Status   int
	Location string `header:"Location"`
	Body     requests.View
}

func (s *server) submitRequest(ctx context.Context, a core.Actor, in *struct {
	Key string `header:"Idempotency-Key" maxLength:"100" doc:"any text: a repeat with the same key returns the same request, with 200, and creates none"`
},
) (*requested, error) {
	form, err := s.form(ctx)
	if err != nil {
		return nil, err
	}
	f, err := firstPart[RequestFields](s, form, partRequest, core.MaxSpecBytes, `{"pool": "p1", "command": ["true"]}`)
	if err != nil {
		return nil, err
	}
	draft := f.draft()
	draft.Idempotency, draft.Files = in.Key, each(form, broughtAs)
	return wasRequested(s.Requests.Submit(ctx, a, draft))
}

// wasRequested answers with a request, which may be one of before.
func wasRequested(v requests.View, created bool, err error) (*requested, error) {
	if err != nil {
		return nil, err
	}
	out := &requested{http.StatusOK, at("requests", v.ID), v}
	if created {
		out.Status = http.StatusCreated
	}
	return out, nil
}

func (s *server) previewRequest(ctx context.Context, a core.Actor, in *struct{ Body RequestFields }) (*answer[requests.Preview], error) {
	return answered(s.Requests.Preview(ctx, a, in.Body.draft()))
}

// draft is the request without files and idempotency key.
func (f RequestFields) draft() requests.Draft {
	return requests.Draft{
		Submitter: f.Submitter, Type: f.Type, Pool: f.Pool, Priority: f.Priority, Command: f.Command, Env: f.Env, Input: f.Input, Collect: f.Collect,
		Assignment: f.Assignment, Supersede: f.Supersede, Notify: f.Notify, OnHostLoss: f.OnHostLoss, Limits: f.Limits,
	}
}

func (s *server) listRequests(ctx context.Context, a core.Actor, in *struct {
	Cursor
	State      []core.RequestState `query:"state" maxItems:"10" enum:"queued,parked,claimed,running,cancelling,completed,failed,cancelled,timed_out,dead" doc:"only in these states"`
	Submitter  string              `query:"submitter" maxLength:"64" doc:"only those of this user"`
	Pool       string              `query:"pool" maxLength:"64"`
	Assignment string              `query:"assignment" maxLength:"200" doc:"only requests with this label"`
	Batch      string              `query:"batch" maxLength:"64" doc:"only requests of this batch"`
},
) (*listed[requests.View], error) {
	found, err := s.Requests.List(ctx, a, requests.Filter{
		Submitter: in.Submitter, Pool: in.Pool, Assignment: in.Assignment, Batch: in.Batch, States: in.State, Before: in.Cursor.Cursor, Limit: in.limit(),
	})
	if err != nil {
		return nil, err
	}
	out := &listed[requests.View]{Body: Page[requests.View]{Items: found.Items, Next: found.Next}}
	if found.Next != "" {
		out.Link = nextLink(ctx, found.Next, in.limit())
	}
	return out, nil
}

func (s *server) viewRequest(ctx context.Context, a core.Actor, in *One) (*answer[requests.View], error) {
	return answered(s.Requests.View(ctx, a, in.ID))
}

func (s *server) whyRequestWaits(ctx context.Context, a core.Actor, in *One) (*answer[*requests.Waiting], error) {
	w, err := s.Requests.Waiting(ctx, a, in.ID)
	if err != nil {
		return nil, err
	}
	return &answer[*requests.Waiting]{w}, nil
}

// RequestChange is what can change of a waiting request; what is left out stays.
type RequestChange struct {
	Pool     string        `json:"pool,omitempty" maxLength:"64" doc:"limits that were the former pool's become those of this one"`
	Priority core.Priority `json:"priority,omitempty" enum:"high,normal,low" doc:"high only for operators"`
	Limits   core.Limits   `json:"limits,omitempty"`
}

func (s *server) changeRequest(ctx context.Context, a core.Actor, in *struct {
	One
	Body RequestChange
},
) (*answer[requests.View], error) {
	return answered(s.Requests.Change(ctx, a, in.ID, core.Change{Pool: in.Body.Pool, Priority: in.Body.Priority, Limits: in.Body.Limits}))
}

// Removed says how far the deletion of a request is.
type Removed struct {
	Gone bool `json:"gone" doc:"false while it is being stopped: it is deleted once it has ended"`
}

func (s *server) deleteRequest(ctx context.Context, a core.Actor, in *One) (*answer[Removed], error) {
	gone, err := s.Requests.Remove(ctx, a, in.ID)
	return answered(Removed{gone}, err)
}

func (s *server) cancelRequest(ctx context.Context, a core.Actor, in *One) (*answer[Stopped], error) {
	state, err := s.Requests.Cancel(ctx, a, in.ID)
	return answered(Stopped{state}, err)
}

func (s *server) rerunRequest(ctx context.Context, a core.Actor, in *One) (*answer[requests.View], error) {
	return answered(s.Requests.Rerun(ctx, a, in.ID))
}

// ReplayFields are what can be chosen of a replay.
type ReplayFields struct {
	Pool string `json:"pool,omitempty" maxLength:"64" doc:"another pool whose VMs have the image that the request ran in; the request's by default"`
}

func (s *server) replayRequest(ctx context.Context, a core.Actor, in *struct {
	One
	Key  string `header:"Idempotency-Key" maxLength:"100" doc:"any text: a repeat with the same key returns the same replay, with 200, and creates none"`
	Body ReplayFields
},
) (*requested, error) {
	return wasRequested(s.Requests.Replay(ctx, a, in.ID, requests.ReplayOptions{Pool: in.Body.Pool, Idempotency: in.Key}))
}

func (s *server) compareRequest(ctx context.Context, a core.Actor, in *One) (*answer[requests.Comparison], error) {
	return answered(s.Requests.Compare(ctx, a, in.ID))
}

// Explanation says how a result came about.
type Explanation struct {
	Lines []string `json:"lines" doc:"sentences in English"`
}

func (s *server) explainRequest(ctx context.Context, a core.Actor, in *One) (*answer[Explanation], error) {
	lines, err := s.Requests.Explain(ctx, a, in.ID)
	return answered(Explanation{explain.English(lines)}, err)
}

func (s *server) listAttempts(ctx context.Context, a core.Actor, in *One) (*answer[Page[core.Attempt]], error) {
	return all(s.Requests.Attempts(ctx, a, in.ID))
}

func (s *server) requestFile(ctx context.Context, a core.Actor, in *struct {
	One
	Path string `path:"path" doc:"path of the file in the work folder; may contain slashes"`
},
) (*download, error) {
	file, content, err := s.Requests.OpenFile(ctx, a, in.ID, in.Path)
	if err != nil {
		return nil, err
	}
	return s.saved(ctx, "downloadRequestFile", file.Path, file.Size, copied(content)), nil
}
