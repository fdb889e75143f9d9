package requests

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"drover/core"
)

// View is what an actor may see of a request: its result, or, until it has one, the same fields and its place.
type View struct {
	core.Result
	Submitter  string        `json:"submitter"`
	Priority   core.Priority `json:"priority"`
	Type       string        `json:"type,omitempty"`  // of job
	Batch      string        `json:"batch,omitempty"` // that it was submitted in
	Assignment string        `json:"assignment,omitempty"`
	Submission string        `json:"submission,omitempty"`   // that it grades
	Replays    string        `json:"replays,omitempty"`      // request that it runs again as it was
	OnHostLoss string        `json:"on_host_loss,omitempty"` // "" is its pool's
	Command    []string      `json:"command,omitempty"`
	Env        []string      `json:"env,omitempty"` // names: the values may be secrets
	Limits     core.Limits   `json:"limits"`
	Brought    []core.File   `json:"brought,omitempty"` // the files that it was submitted with; Files are those collected
	Place      *core.Place   `json:"place,omitempty"`   // nil after its end, or while it is in no queue yet
	Waiting    *Waiting      `json:"waiting,omitempty"` // nil unless it waits
}

// View returns a request. Returns NOTFOUND.
func (d *Service) View(ctx context.Context, a core.Actor, id string) (View, error) {
	row, err := d.row(ctx, a, id, core.ActRequestView)
	if err != nil {
		return View{}, err
	}
	v, err := d.located(ctx, a, row)
	if err == nil && waits(v.State) {
		v.Waiting, err = d.waiting(ctx, row.Spec, v.Place, watches(a))
	}
	return v, err
}

// located returns a row as the actor may see it, with its place if it has not ended.
func (d *Service) located(ctx context.Context, a core.Actor, row core.Row) (View, error) {
	v := viewOf(row)
	if row.Result != nil {
		conceal(a, &row.Spec, &v)
		return v, nil
	}
	place, err := d.Queue.Locate(ctx, row.Spec.Key())
	if err != nil {
		return v, err
	}
	if place.State == "" {
		v.Reason = sentences[ReasonAccepted].of(watches(a))
		return v, nil
	}
	v.Place, v.State, v.VM, v.Token, v.Attempt = &place, place.State, place.VM, place.Token, place.Attempts+1
	if _, host, err := core.ParseOwner(place.Owner); err == nil {
		v.Host = host
	}
	if reason := reasonOf(place); reason != ReasonTurn {
		v.Reason = d.wording(reason, 0, &row.Spec, place, "", watches(a))
	}
	conceal(a, &row.Spec, &v)
	return v, nil
}

// viewOf returns the view of a row, without what only Redis knows.
func viewOf(row core.Row) View {
	s := &row.Spec
	v := View{
		Submitter: s.Submitter, Priority: s.Priority, Type: s.Type, Batch: s.Batch, Assignment: s.Assignment, Submission: s.Submission,
		OnHostLoss: s.OnHostLoss, Command: s.Command, Env: names(s.Env), Limits: s.Limits, Brought: s.Files,
	}
	if s.Replays != nil {
		v.Replays = s.Replays.ID
	}
	if row.Result != nil {
		v.Result = *row.Result
		return v
	}
	v.ID, v.Generation, v.Pool, v.State = s.ID, s.Generation, s.Pool, row.State
	v.Times = core.Times{Submitted: s.Submitted, Queued: -1, Claimed: -1, Started: -1, Finished: -1}
	return v
}

// names returns the names of variables.
func names(env []string) []string {
	var all []string
	for _, one := range env {
		name, _, _ := strings.Cut(one, "=")
		all = append(all, name)
	}
	return all
}

// conceal removes what the actor may not know: the findings of tests of a graded submission, and the owner and host
// that run the request.
func conceal(a core.Actor, s *core.Spec, v *View) {
	if s.Grades() && !teaches(a, s) {
		v.Stdout, v.Stderr, v.Score, v.MaxScore, v.Tests, v.Files, v.LeftOut, v.Brought = "", "", nil, nil, nil, nil, nil, nil
		v.Receipt = nil
	}
	if watches(a) {
		return
	}
	v.Host, v.VM, v.Token, v.HeldBy = "", "", "", nil
	if v.Place != nil {
		bare := *v.Place
		bare.Owner, bare.VM, bare.Token, bare.Assigned = "", "", "", ""
		v.Place = &bare
	}
}

// Filter selects requests. A zero field matches every request.
type Filter struct {
	Submitter  string
	Pool       string
	Assignment string
	Batch      string // its requests, for an actor who may view it
	States     []core.RequestState
	Before     string // ids before this one, newest first: a page's cursor
	Limit      int    // 1 to 1000; 0 is 50
}

// Page is a part of a list.
type Page struct {
	Items []View
	Next  string // Before of the next page; "" if there is none
}

// Bounds on lists.
const (
	maxPage  = 1000
	somePage = 50
	maxReads = 5 // reads of the store for one page, so a page may be short without being the last
)

// List lists requests that the actor may view, newest first: all of them for an actor who may view the cluster, else
// the actor's own without those that grade. Returns INVALID, FORBIDDEN for another user's, NOTFOUND for a batch.
func (d *Service) List(ctx context.Context, a core.Actor, f Filter) (Page, error) {
	f.Limit = cmp.Or(f.Limit, somePage)
	if err := f.check(); err != nil {
		return Page{}, err
	}
	if f.Submitter == "" && core.Allow(a, core.ActRequestView, core.Object{}) != nil {
		f.Submitter = a.Handle
	}
	if err := core.Allow(a, core.ActRequestView, core.Object{Owner: f.Submitter}); err != nil {
		return Page{}, err
	}
	page := Page{Items: []View{}}
	query := f.stored()
	if f.Batch != "" {
		b, err := d.batch(ctx, a, f.Batch, core.ActRequestView)
		if err != nil {
			return Page{}, err
		}
		within(&query, b)
	}
	for range maxReads {
		rows, err := d.Store.List(ctx, query)
		if err != nil {
			return Page{}, err
		}
		for i := range rows {
			if len(page.Items) == f.Limit {
				page.Next = query.Before
				return page, nil
			}
			query.Before = rows[i].Spec.ID
			if !sees(a, &rows[i].Spec) {
				continue
			}
			v, err := d.located(ctx, a, rows[i])
			if err != nil {
				return Page{}, err
			}
			if len(f.States) == 0 || slices.Contains(f.States, v.State) {
				page.Items = append(page.Items, v)
			}
		}
		if len(rows) < query.Limit {
			return page, nil
		}
	}
	page.Next = query.Before
	return page, nil
}

// open are the states that only Redis distinguishes; in the store they are all queued.
var open = []core.RequestState{core.RequestQueued, core.RequestParked, core.RequestClaimed, core.RequestRunning, core.RequestCancelling}

func (f *Filter) check() error {
	if f.Limit < 1 || f.Limit > maxPage {
		return core.Errorf(core.CodeInvalid, "", "the limit %d must be between 1 and %d", f.Limit, maxPage)
	}
	for kind, name := range map[string]string{"submitter": f.Submitter, "pool": f.Pool, "request id": f.Before} {
		if err := core.CheckName(kind, name); name != "" && err != nil {
			return err
		}
	}
	for _, s := range f.States {
		if !slices.Contains(open, s) && !s.Terminal() {
			return core.Errorf(core.CodeInvalid, string(s),
				"the state %.40q is none: use queued, parked, claimed, running, cancelling, completed, failed, cancelled, timed_out or dead", s)
		}
	}
	return nil
}

// stored returns the filter for the store.
func (f *Filter) stored() core.Filter {
	q := core.Filter{Submitter: f.Submitter, Pool: f.Pool, Assignment: f.Assignment, Before: f.Before, Limit: f.Limit}
	for _, s := range f.States {
		if slices.Contains(open, s) {
			s, q.Limit = core.RequestQueued, maxPage
		}
		if !slices.Contains(q.States, s) {
			q.States = append(q.States, s)
		}
	}
	return q
}
