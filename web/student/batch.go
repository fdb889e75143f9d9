package student

import (
	"crypto/rand"
	"strconv"
	"strings"

	"drover/core"
	"drover/core/requests"
	"drover/web/page"
)

// batchesShown is how many batches, or jobs of one, a page lists.
const batchesShown = 50

// batchStates are the badges of batches. One that has completed is good only if all its requests were.
var batchStates = map[requests.BatchStatus]badge{
	requests.BatchQueued:    {"calm", page.Sentence("waiting")},
	requests.BatchRunning:   {"calm", page.Sentence("running")},
	requests.BatchCompleted: {"", page.Sentence("completed")},
}

// batchList are batches that the reader may see.
type batchList struct {
	Rows   []batchRow
	Next   string
	Whose  string // submitter filter, as given
	Others bool   // the reader can see other users' batches
}

type batchRow struct {
	requests.BatchView
	Badge badge
}

func (d *student) batches(r *page.Request) error {
	q := r.URL.Query()
	list := batchList{Whose: q.Get("of"), Others: core.Allow(r.Actor(), core.ActRequestView, core.Object{}) == nil}
	some, err := d.deps.Requests.ListBatches(r.Context(), r.Actor(), core.BatchFilter{Submitter: list.Whose, Before: q.Get("before"), Limit: batchesShown})
	if err != nil {
		return err
	}
	for _, v := range some.Items {
		list.Rows = append(list.Rows, batchRow{v, batchStates[v.State].said(r)})
	}
	if some.Next != "" {
		list.Next = more(r.Request, "before", some.Next)
	}
	return r.Render("student/batches", list)
}

// batch shows a batch.
type batch struct {
	requests.BatchView
	Badge   badge
	Open    bool // not all its requests have ended
	Ended   int  // of its requests
	Parts   []batchPart
	Control bool   // the reader may cancel or rerun it
	Key     string // idempotency key: sending the form twice makes one batch
	Type    string // of its jobs; "" is none
	Pool    string
	Rows    []jobRow
	From    int // job with which the rows begin
	Next    string
}

// batchPart are its requests in one state: a part of the strip, and of what is said below.
type batchPart struct {
	State core.RequestState // "" are those that were deleted
	Badge badge
	N     int
	X, W  float64 // in percent of the strip
}

// stripStates are the states in the order of the strip, which fills from the left. What only waits is not drawn.
var stripStates = []core.RequestState{
	core.RequestCompleted, core.RequestFailed, core.RequestTimedOut, core.RequestDead, core.RequestCancelled,
	core.RequestCancelling, core.RequestRunning, core.RequestClaimed, core.RequestParked, core.RequestQueued,
}

// stripKinds are the colours of states in the strip, where they are not those of their badges.
var stripKinds = map[core.RequestState]string{core.RequestCancelled: "soft", core.RequestQueued: ""}

type jobRow struct {
	requests.JobResult
	Badge badge
	Ran   bool   // its exit code is known
	Line  string // the first line that it printed
}

func (d *student) batch(r *page.Request) error {
	id := r.PathValue("id")
	v, err := d.deps.Requests.ViewBatch(r.Context(), r.Actor(), id)
	if err != nil {
		return err
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("from")) // what is no number is the beginning
	from = max(from, 0)
	found, err := d.deps.Requests.BatchResults(r.Context(), r.Actor(), id, from, batchesShown)
	if err != nil {
		return err
	}
	b := readBatch(r, v)
	b.From = from
	for i := range found.Items {
		one := &found.Items[i]
		line, _, _ := strings.Cut(one.Stdout, "\n")
		ran := one.State.Terminal() && readResult(r, &one.Result, nil, "").Ran >= 0
		b.Rows = append(b.Rows, jobRow{*one, states[one.State].said(r), ran, line})
		b.Type, b.Pool = one.Type, one.Pool
	}
	if found.Next > 0 {
		b.Next = more(r.Request, "from", strconv.Itoa(found.Next))
	}
	return r.Render("student/batch", b)
}

func readBatch(r *page.Request, v requests.BatchView) batch {
	b := batch{
		BatchView: v, Badge: batchStates[v.State].said(r), Open: v.State != requests.BatchCompleted, Key: rand.Text(),
		Control: core.Allow(r.Actor(), core.ActRequestControl, core.Object{Owner: v.Submitter}) == nil,
	}
	if !b.Open && v.Counts[core.RequestCompleted] == v.Jobs {
		b.Badge.Kind = "good"
	}
	at := 0.0
	add := func(state core.RequestState, look badge, kind string, n int) {
		if n == 0 {
			return
		}
		w := 100 * float64(n) / float64(max(v.Jobs, 1))
		b.Parts = append(b.Parts, batchPart{State: state, Badge: badge{kind, look.said(r).Text}, N: n, X: at, W: w})
		at += w
	}
	for _, s := range stripStates {
		kind, other := stripKinds[s]
		if !other {
			kind = states[s].Kind
		}
		add(s, states[s], kind, v.Counts[s])
		if s.Terminal() {
			b.Ended += v.Counts[s]
		}
	}
	b.Ended += v.Deleted
	add("", badge{Text: page.Sentence("deleted since")}, "", v.Deleted)
	return b
}

func (d *student) cancelBatch(r *page.Request) error {
	id := r.PathValue("id")
	if _, err := d.deps.Requests.CancelBatch(r.Context(), r.Actor(), id); err != nil {
		return err
	}
	return r.Redirect(path("batches", id), r.T("All its requests that had not ended are stopped."))
}

func (d *student) rerunBatch(r *page.Request) error {
	v, _, err := d.deps.Requests.RerunBatch(r.Context(), r.Actor(), r.PathValue("id"), r.FormValue("key"))
	if err != nil {
		return err
	}
	return r.Redirect(path("batches", v.ID), r.T("All its jobs run again, as this new batch."))
}
