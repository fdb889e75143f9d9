package taskrunner_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/intake"
	"drover/core/resultstore/resultstoretest"
	"drover/core/resultstore/sqlite"
	"drover/core/webhook"
	"drover/taskrunner"
)

// call is one try of a delivery as it arrived.
type call struct {
	id   string
	at   time.Time // that it says
	body []byte
}

// receiver is somebody's server. It answers with the statuses in turn, and with the last
// one for ever.
type receiver struct {
	url    string
	secret string

	mu    sync.Mutex
	calls []call
}

// newReceiver starts one outside of any bubble: what waits for a network stops its clock.
func newReceiver(t *testing.T, answer func(n int, w http.ResponseWriter)) *receiver {
	t.Helper()
	r := &receiver{secret: webhook.NewSecret()}
	verifier, err := standard.NewWebhook(r.secret)
	require.NoError(t, err)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil || verifier.VerifyIgnoringTimestamp(body, req.Header) != nil {
			t.Errorf("a delivery came that is not signed")
		}
		at, err := strconv.ParseInt(req.Header.Get("webhook-timestamp"), 10, 64)
		if err != nil {
			t.Errorf("a delivery came without its time")
		}
		r.mu.Lock()
		r.calls = append(r.calls, call{req.Header.Get("webhook-id"), time.Unix(at, 0), body})
		n := len(r.calls)
		r.mu.Unlock()
		answer(n, w)
	}))
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

func statuses(all ...int) func(int, http.ResponseWriter) {
	return func(n int, w http.ResponseWriter) { w.WriteHeader(all[min(n, len(all))-1]) }
}

func (r *receiver) got() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// teller is a taskrunner with its outbox, on a real store and a herd in memory.
type teller struct {
	*rig
	store core.ResultStore
	in    *intake.Intake
	proc  *process
}

// queueing is the herd's queue as an intake sees it.
type queueing struct{ *herd }

func (q queueing) EnqueueTask(_ context.Context, t core.Task) error {
	q.look(func() {
		q.tasks[t.ID] = t
		q.queue = append(q.queue, t.ID)
		q.ring()
	})
	return nil
}

func (q queueing) PresentTasks(_ context.Context, keys []string) ([]bool, error) {
	there := make([]bool, len(keys))
	q.look(func() {
		for _, t := range q.tasks {
			for i, key := range keys {
				there[i] = there[i] || key == t.ID || key == t.Key()
			}
		}
	})
	return there, nil
}

func newTeller(t *testing.T) *teller {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "drover.db"), sqlite.Options{})
	require.NoError(t, err)
	r := &teller{rig: newRig(t), store: store}
	r.in = &intake.Intake{Store: store, Tasks: queueing{r.herd}}
	r.cfg.Webhooks, err = webhook.ParseAddresses([]string{"127.0.0.0/8"})
	require.NoError(t, err)
	return r
}

// slowly makes days pass in fewer steps.
func (r *teller) slowly() time.Duration {
	r.cfg.Poll, r.cfg.Registration.Beat = time.Minute, time.Minute
	return time.Minute
}

func (r *teller) begin() {
	r.t.Helper()
	r.proc = r.startWith(taskrunner.Parts{Owners: r.herd, Tasks: r.herd, Store: r.store, Intake: r.in})
}

func (r *teller) end() {
	r.t.Helper()
	r.proc.drain()
	require.NoError(r.t, r.store.Close())
}

// hook makes a webhook that a receiver listens to.
func (r *teller) hook(at *receiver) core.Webhook {
	r.t.Helper()
	w := core.Webhook{
		ID: resultstoretest.NewID(), Class: "cs101", By: "tom", URL: at.url, Secret: at.secret,
		Events: []string{core.EventRequestEnded, core.EventTaskEnded}, Created: time.Now().UnixMilli(),
	}
	var err error
	w.Revision, err = r.store.PutWebhook(r.t.Context(), w)
	require.NoError(r.t, err)
	return w
}

// request records the end of a request that names the webhooks.
func (r *teller) request(webhooks ...core.Webhook) core.Result {
	r.t.Helper()
	spec := resultstoretest.Spec("ann")
	spec.Submitted = time.Now().UnixMilli()
	for _, w := range webhooks {
		spec.Notify = append(spec.Notify, w.ID)
	}
	_, _, err := r.store.Create(r.t.Context(), spec)
	require.NoError(r.t, err)
	result := core.Result{
		ID: spec.ID, Generation: 1, State: core.RequestCompleted, Token: "t", VM: "v",
		Times: core.Times{Submitted: spec.Submitted, Finished: 1},
	}
	_, err = r.store.Record(r.t.Context(), result)
	require.NoError(r.t, err)
	return result
}

func (r *teller) deliveries(w core.Webhook) []core.Task {
	r.t.Helper()
	all, err := r.store.ListTasks(r.t.Context(), core.TaskFilter{Kind: core.KindWebhook, Lane: w.ID, Limit: 1000})
	require.NoError(r.t, err)
	return all
}

func (r *teller) now(w core.Webhook) core.Webhook {
	r.t.Helper()
	w, err := r.store.GetWebhook(r.t.Context(), w.ID)
	require.NoError(r.t, err)
	return w
}

func (r *teller) deeds() []core.Deed {
	r.t.Helper()
	all, err := r.store.ListDeeds(r.t.Context(), core.TrailFilter{})
	require.NoError(r.t, err)
	return all
}

// what a payload says of the request or task that it is about.
type subject struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Data struct {
		ID         string `json:"id"`
		Generation int    `json:"generation"`
		State      string `json:"state"`
	} `json:"data"`
}

func about(t *testing.T, c call) subject {
	t.Helper()
	var s subject
	require.NoError(t, json.Unmarshal(c.body, &s))
	return s
}

func TestAnEndIsTold(t *testing.T) {
	t.Parallel()
	one, two := newReceiver(t, statuses(200)), newReceiver(t, statuses(204))
	synctest.Test(t, func(t *testing.T) {
		r := newTeller(t)
		first, second := r.hook(one), r.hook(two)
		told := r.request(first, second)
		r.request() // of which nobody is told
		r.begin()
		settle(2 * time.Second)
		later := r.request(second)
		settle(2 * time.Second)
		require.Len(t, one.got(), 1)
		require.Len(t, two.got(), 2)
		s := about(t, one.got()[0])
		require.Equal(t, core.EventRequestEnded, s.Type)
		require.Equal(t, one.got()[0].id, s.ID)
		require.Equal(t, told.ID, s.Data.ID)
		require.Equal(t, later.ID, about(t, two.got()[1]).Data.ID)
		require.NotEqual(t, one.got()[0].id, two.got()[0].id, "each delivery has an id of its own")

		d := r.deliveries(first)
		require.Len(t, d, 1)
		require.Equal(t, core.TaskDone, d[0].State)
		require.Equal(t, "delivered: 200 OK", d[0].Note)
		require.Equal(t, one.got()[0].id, d[0].ID)
		require.Equal(t, "cs101", d[0].About)
		waiting, err := r.store.Outbox(t.Context(), 10)
		require.NoError(t, err)
		require.Empty(t, waiting)
		r.end()
	})
}

func TestTheEndOfATaskIsTold(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, statuses(200))
	synctest.Test(t, func(t *testing.T) {
		r := newTeller(t)
		w := r.hook(at)
		r.cfg.Poll = time.Hour
		r.begin()
		settle(time.Second)
		task, _, err := r.in.SubmitTask(t.Context(), core.Task{Kind: "ok", Notify: []string{w.ID}, Requester: "tom", About: "cs101/hw1"})
		require.NoError(t, err)
		settle(3 * time.Second)
		require.Len(t, at.got(), 1, "an end in this process is seen at once")
		s := about(t, at.got()[0])
		require.Equal(t, core.EventTaskEnded, s.Type)
		require.Equal(t, task.ID, s.Data.ID)
		require.Equal(t, "done", s.Data.State)
		r.end()
	})
}

func TestDeliveriesAreTriedForThreeDays(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, statuses(500, 404, 302, 199+300, 503, 429, 400, 502, 504, 200))
	synctest.Test(t, func(t *testing.T) {
		r := newTeller(t)
		step := r.slowly()
		w := r.hook(at)
		r.request(w)
		r.begin()
		settle(5 * 24 * time.Hour)
		calls := at.got()
		require.Len(t, calls, webhook.Tries)
		for i, c := range calls[1:] {
			require.Equal(t, calls[0].id, c.id, "a receiver knows what it has")
			require.Equal(t, calls[0].body, c.body)
			want := webhook.Pause(i+1, 0.5)
			require.InDelta(t, want.Seconds(), c.at.Sub(calls[i].at).Seconds(), 0.1*want.Seconds()+step.Seconds()+1, "pause %d", i+1)
		}
		d := r.deliveries(w)[0]
		require.Equal(t, core.TaskDone, d.State)
		require.Len(t, d.Failures, core.MaxTaskFailures)
		require.Contains(t, d.Failures[0].Text, "404 Not Found")
		require.False(t, r.now(w).Disabled)
		r.end()
	})
}

func TestAReceiverThatIsGoneIsDisabled(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, statuses(500))
	synctest.Test(t, func(t *testing.T) {
		r := newTeller(t)
		r.slowly()
		w := r.hook(at)
		r.request(w)
		r.begin()
		settle(5 * 24 * time.Hour)
		require.Len(t, at.got(), webhook.Tries)
		require.Equal(t, core.TaskDead, r.deliveries(w)[0].State)
		require.Contains(t, r.deliveries(w)[0].Note, "disabled")
		disabled := r.now(w)
		require.True(t, disabled.Disabled)
		require.Equal(t, w.Secret, disabled.Secret)
		deeds := r.deeds()
		require.Len(t, deeds, 1)
		require.Equal(t, "drover", deeds[0].Actor)
		require.Equal(t, core.ActWebhook, deeds[0].Action)
		require.Equal(t, w.ID, deeds[0].Subject)
		require.Equal(t, "cs101", deeds[0].Class)

		r.request(w)
		settle(24 * time.Hour)
		require.Len(t, at.got(), webhook.Tries, "nothing more is made for it")
		require.Len(t, r.deliveries(w), 1)
		r.end()
	})
}

func TestAWebhookThatTakesSomethingStays(t *testing.T) {
	t.Parallel()
	var at *receiver
	at = newReceiver(t, func(n int, w http.ResponseWriter) {
		if calls := at.got(); calls[n-1].id == calls[0].id { // it never takes what came first
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := newTeller(t)
		step := r.slowly()
		w := r.hook(at)
		r.request(w)
		r.begin()
		settle(2 * time.Second)
		r.request(w)
		settle(step)
		settle(5 * 24 * time.Hour)
		d := r.deliveries(w)
		require.Len(t, d, 2)
		require.Equal(t, core.TaskDone, d[0].State)
		require.Equal(t, core.TaskDead, d[1].State)
		require.False(t, r.now(w).Disabled)
		require.Empty(t, r.deeds())
		r.end()
	})
}

func TestGoneIsHeeded(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, statuses(410))
	synctest.Test(t, func(t *testing.T) {
		r := newTeller(t)
		w := r.hook(at)
		r.request(w)
		r.begin()
		settle(time.Minute)
		require.Len(t, at.got(), 1)
		require.True(t, r.now(w).Disabled)
		require.Equal(t, core.TaskDead, r.deliveries(w)[0].State)
		require.Len(t, r.deeds(), 1)
		require.Contains(t, r.deeds()[0].Text, "410 Gone")
		r.end()
	})
}

func TestRetryAfterIsHeeded(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, func(n int, w http.ResponseWriter) {
		if n == 1 {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := newTeller(t)
		r.request(r.hook(at))
		r.begin()
		settle(2 * time.Hour)
		calls := at.got()
		require.Len(t, calls, 2)
		require.InDelta(t, 3600, calls[1].at.Sub(calls[0].at).Seconds(), 3)
		r.end()
	})
}

func TestNothingIsSentToAWebhookThatIsGoneOrDisabled(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, statuses(500, 200))
	synctest.Test(t, func(t *testing.T) {
		r := newTeller(t)
		off, gone, other := r.hook(at), r.hook(at), r.hook(at)
		other.Events = []string{core.EventTaskEnded}
		_, err := r.store.PutWebhook(t.Context(), other)
		require.NoError(t, err)
		r.request(off, other)
		r.begin()
		settle(2 * time.Second)
		require.Len(t, at.got(), 1, "the other one asks for other events")

		r.proc.drain()
		off.Disabled = true
		_, err = r.store.PutWebhook(t.Context(), off)
		require.NoError(t, err)
		r.request(gone)
		require.NoError(t, r.store.DeleteWebhook(t.Context(), gone.ID))
		r.begin()
		settle(time.Hour)
		require.Len(t, at.got(), 1)
		require.Equal(t, core.TaskDone, r.deliveries(off)[0].State)
		require.Equal(t, "not delivered: the webhook is disabled", r.deliveries(off)[0].Note)
		require.Empty(t, r.deliveries(gone))
		r.end()
	})
}

func TestATestIsTriedOnce(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, statuses(500, 200))
	synctest.Test(t, func(t *testing.T) {
		r := newTeller(t)
		w := r.hook(at)
		r.begin()
		for range 2 {
			args, err := json.Marshal(core.WebhookArgs{Webhook: w.ID, Event: core.EventTest})
			require.NoError(t, err)
			_, _, err = r.in.SubmitTask(t.Context(), core.Task{Kind: core.KindWebhook, Args: args, Lane: w.ID})
			require.NoError(t, err)
			settle(time.Hour)
		}
		require.Len(t, at.got(), 2)
		require.Equal(t, core.EventTest, about(t, at.got()[0]).Type)
		d := r.deliveries(w)
		require.Equal(t, core.TaskDone, d[0].State)
		require.Equal(t, core.TaskDead, d[1].State)
		require.Contains(t, d[1].Note, "the test was not delivered")
		require.False(t, r.now(w).Disabled)
		r.end()
	})
}

// What is told of a generation is its own end, whatever became of the request since.
func TestAnEndOutlastsARerun(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, statuses(500, 200))
	synctest.Test(t, func(t *testing.T) {
		r := newTeller(t)
		w := r.hook(at)
		result := r.request(w)
		r.begin()
		settle(2 * time.Second)
		require.Len(t, at.got(), 1)
		_, err := r.store.Rerun(t.Context(), result.ID, time.Now().UnixMilli())
		require.NoError(t, err)
		next := result
		next.Generation, next.Token, next.State, next.Blame = 2, "t2", core.RequestFailed, core.BlameHarness
		next.Times.Submitted += 1000
		_, err = r.store.Record(t.Context(), next)
		require.NoError(t, err)
		settle(time.Minute)
		calls := at.got()
		require.Len(t, calls, 3)
		slices.SortStableFunc(calls, func(a, b call) int { return strings.Compare(a.id, b.id) })
		require.Equal(t, calls[0].id, calls[1].id)
		require.Equal(t, calls[0].body, calls[1].body, "the same, word by word")
		require.Equal(t, 1, about(t, calls[1]).Data.Generation)
		require.Equal(t, 2, about(t, calls[2]).Data.Generation)
		require.Equal(t, "failed", about(t, calls[2]).Data.State)
		r.end()
	})
}

func TestManyEnds(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, statuses(200))
	synctest.Test(t, func(t *testing.T) {
		r := newTeller(t)
		w := r.hook(at)
		const n = 450 // more than one page of the outbox
		for range n {
			r.request(w)
		}
		r.begin()
		settle(10 * time.Minute)
		seen := map[string]bool{}
		for _, c := range at.got() {
			require.False(t, seen[c.id])
			seen[c.id] = true
		}
		require.Len(t, seen, n)
		r.end()
	})
}

// dying is a store that a process uses until it is killed, before or after a call.
type dying struct {
	core.ResultStore
	left *int
	dead *bool
}

var errDying = core.Errorf(core.CodeUnavailable, "", "the process was killed here")

func (d dying) step(do func() error) error {
	if *d.left--; *d.left == 0 {
		*d.dead = true // before it does this
	}
	if *d.dead {
		return errDying
	}
	err := do()
	if *d.left--; *d.left == 0 {
		*d.dead = true // right after
		return errDying
	}
	return err
}

func (d dying) CreateTask(ctx context.Context, t core.Task) (made bool, err error) {
	err = d.step(func() error { made, err = d.ResultStore.CreateTask(ctx, t); return err })
	return made, err
}

func (d dying) Sent(ctx context.Context, n []core.Notice) error {
	return d.step(func() error { return d.ResultStore.Sent(ctx, n) })
}

// The table in outbox.go: whatever the step at which one is killed, each webhook gets
// one delivery, made by this one or the next.
func TestAnOutboxThatIsKilledAnywhere(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, statuses(200))
	for kill, killed := 1, true; killed; kill++ {
		synctest.Test(t, func(t *testing.T) {
			r := newTeller(t)
			one, two := r.hook(at), r.hook(at)
			r.request(one, two)
			r.request(one)
			whole, dead, left := r.store, false, kill
			r.store = dying{whole, &left, &dead}
			r.in.Store = r.store
			r.begin()
			settle(time.Minute)
			killed = dead
			r.proc.kill()
			require.NoError(t, <-r.proc.ended)

			r.store, r.in.Store = whole, whole
			r.begin()
			settle(time.Minute)
			_, err := r.in.SweepAll(t.Context()) // what is in the store only
			require.NoError(t, err)
			settle(time.Minute)
			for w, n := range map[*core.Webhook]int{&one: 2, &two: 1} {
				all := r.deliveries(*w)
				require.Len(t, all, n, "killed at %d", kill)
				for _, d := range all {
					require.Equal(t, core.TaskDone, d.State, "killed at %d", kill)
				}
			}
			waiting, err := r.store.Outbox(t.Context(), 10)
			require.NoError(t, err)
			require.Empty(t, waiting)
			r.end()
		})
		require.Less(t, kill, 100)
	}
}

// Two outboxes at the same time make each delivery once.
func TestOutboxesTogether(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, statuses(200))
	synctest.Test(t, func(t *testing.T) {
		r := newTeller(t)
		w := r.hook(at)
		for range 20 {
			r.request(w)
		}
		other := newRig(t) // with a queue of its own, in which nothing is
		other.cfg = r.cfg
		second := other.startWith(taskrunner.Parts{Owners: other.herd, Tasks: other.herd, Store: r.store, Intake: r.in})
		r.begin()
		settle(time.Minute)
		second.drain()
		require.Len(t, r.deliveries(w), 20)
		require.Len(t, at.got(), 20)
		r.end()
	})
}

func TestNoSecretIsLogged(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, statuses(500, 410))
	synctest.Test(t, func(t *testing.T) {
		r := newTeller(t)
		w := r.hook(at)
		w.URL = at.url + "/hidden?token=hidden"
		_, err := r.store.PutWebhook(t.Context(), w)
		require.NoError(t, err)
		nowhere := r.hook(&receiver{url: "http://127.0.0.1:1/hidden", secret: at.secret})
		r.request(w, nowhere)
		r.begin()
		settle(time.Hour)
		r.end()
		for _, e := range r.logs.AllEntries() {
			line, err := e.String()
			require.NoError(t, err)
			require.NotContains(t, line, "hidden")
			require.NotContains(t, line, "whsec_")
			require.NotContains(t, line, strings.TrimPrefix(w.Secret, "whsec_"))
		}
	})
}
