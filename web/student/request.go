package student

import (
	"slices"
	"strings"

	"drover/core"
	"drover/core/requests"
	"drover/web/page"
)

// requestsShown is how many requests a page lists.
const requestsShown = 50

// requestList are requests that the reader may see.
type requestList struct {
	Rows   []request
	Next   string
	States []stateChoice
	Whose  string // submitter filter, as given
	Batch  string // whose requests these are; "" for those of any, and of none
	Others bool   // the reader can see other users' requests
	Create bool   // the reader may request runs
}

type stateChoice struct {
	State  core.RequestState
	Text   string
	Chosen bool
}

// request shows a request.
type request struct {
	requests.View
	Badge    badge
	Ran      string // its command, in one line
	Open     bool   // it has not ended
	Progress progress
	Blame    string  // whose fault a bad end is; "" if the reason says it
	Outcome  *result // nil until it has ended
	Found    []fileRow
	Control  bool // the reader may cancel or rerun it
	Handed   bool // the reader may see the submission that it tests
	Tries    []try
	Account  *account    // nil until it has ended
	Replay   bool        // the reader may run it again as it was
	Compared *comparison // nil unless it is a replay that has ended
}

// blames say whose fault the end of a plain request is.
var blames = map[core.Blame]string{
	core.BlamePlatform: page.Sentence("This is not your fault: the site could not run it. Run it again."),
	core.BlameHarness:  page.Sentence("The test program failed."),
}

func (d *student) requests(r *page.Request) error {
	q := r.URL.Query()
	actor := r.Actor()
	list := requestList{
		Whose: q.Get("of"), Batch: q.Get("batch"), Others: core.Allow(actor, core.ActRequestView, core.Object{}) == nil,
		Create: core.Allow(actor, core.ActRequestCreate, core.Object{}) == nil,
	}
	f := requests.Filter{Submitter: list.Whose, Batch: list.Batch, Before: q.Get("before"), Limit: requestsShown}
	if s := q.Get("state"); s != "" {
		f.States = []core.RequestState{core.RequestState(s)}
	}
	some, err := d.deps.Requests.List(r.Context(), actor, f)
	if err != nil {
		return err
	}
	for s, b := range states {
		list.States = append(list.States, stateChoice{s, r.T(b.Text), slices.Contains(f.States, s)})
	}
	slices.SortFunc(list.States, func(a, b stateChoice) int { return strings.Compare(a.Text, b.Text) })
	for i := range some.Items {
		list.Rows = append(list.Rows, readRequest(r, some.Items[i]))
	}
	if some.Next != "" {
		list.Next = more(r.Request, "before", some.Next)
	}
	return r.Render("student/requests", list)
}

func readRequest(r *page.Request, v requests.View) request {
	q := request{View: v, Badge: states[v.State].said(r), Ran: line(v.Command), Open: !v.State.Terminal()}
	o := core.Object{Owner: v.Submitter}
	if v.Submission != "" {
		o = core.Object{}
	}
	q.Control = core.Allow(r.Actor(), core.ActRequestControl, o) == nil
	class, _, _ := strings.Cut(v.Assignment, "/")
	q.Handed = v.Submission != "" && core.Allow(r.Actor(), core.ActSubmissionView, core.Object{Class: class}) == nil
	return q
}

// line formats a command as it was typed, if it was made by the form for shell commands.
func line(command []string) string {
	if len(command) == 3 && command[0] == shell && command[1] == shellReads {
		return command[2]
	}
	return strings.Join(command, " ")
}

func (d *student) request(r *page.Request) error {
	id := r.PathValue("id")
	v, err := d.deps.Requests.View(r.Context(), r.Actor(), id)
	if err != nil {
		return err
	}
	all, err := d.deps.Requests.Attempts(r.Context(), r.Actor(), id)
	if err != nil {
		return err
	}
	q := readRequest(r, v)
	q.Tries = readTries(r, all)
	if q.Open {
		since := int64(0)
		if v.Place != nil {
			since = v.Place.Since
		}
		q.Progress = readProgress(r, v.Waiting, v.Attempt, since)
		return r.Render("student/request", q)
	}
	if text := blames[v.Blame]; text != "" {
		q.Blame = r.T(text)
	}
	q.Outcome = readResult(r, &q.Result, nil, "")
	q.Outcome.Exit = q.Outcome.Exit || len(v.Command) > 0 && q.Outcome.Ran >= 0
	lines, err := d.deps.Requests.Explain(r.Context(), r.Actor(), id)
	if err != nil {
		return err
	}
	q.Account = readAccount(r, &q.Result, lines)
	q.Found = fileRows(path("requests", id, "files"), v.Files)
	q.Replay = mayReplay(r.Actor(), &v)
	if v.Replays != "" {
		if q.Compared, err = d.readComparison(r, id); err != nil {
			return err
		}
	}
	return r.Render("student/request", q)
}

func (d *student) cancelRequest(r *page.Request) error {
	id := r.PathValue("id")
	if _, err := d.deps.Requests.Cancel(r.Context(), r.Actor(), id); err != nil {
		return err
	}
	return r.Redirect(path("requests", id), r.T("It is stopped."))
}

func (d *student) rerunRequest(r *page.Request) error {
	id := r.PathValue("id")
	if _, err := d.deps.Requests.Rerun(r.Context(), r.Actor(), id); err != nil {
		return err
	}
	return r.Redirect(path("requests", id), r.T("It runs again."))
}

func (d *student) requestFile(r *page.Request) error {
	f, content, err := d.deps.Requests.OpenFile(r.Context(), r.Actor(), r.PathValue("id"), r.PathValue("path"))
	if err != nil {
		return err
	}
	defer content.Close() //nolint:errcheck // only read from
	return d.deliver(r, f.Path, f.Size, content)
}
