package taskrunner_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/requests/intake"
	"drover/core/school"
	"drover/core/store/sqlite/sqlitetest"
	"drover/core/store/storetest"
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
// one forever.
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

// teller is a taskrunner with its outbox, on a real store and a cluster in memory.
type teller struct {
	*rig
	store school.ResultStore
	in    *intake.Intake
	proc  *process

	callbacks map[string]core.Callback
}

// queueing is the cluster's queue as an intake sees it.
type queueing struct{ *cluster }

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

// remembering is the queue of requests of a Redis that has lost nothing.
type remembering struct{ core.Queue }

func (remembering) Recalled(context.Context) (bool, error) { return true, nil }

func newTeller(t *testing.T) *teller {
	t.Helper()
	r := &teller{rig: newRig(t), store: sqlitetest.Open(t)}
	r.in = &intake.Intake{Store: r.store, Tasks: queueing{r.cluster}, Queue: remembering{}}
	var err error
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
	r.proc = r.startWith(taskrunner.Deps{Owners: r.cluster, Tasks: r.cluster, Store: r.store, Intake: r.in, Callbacks: r.callbacks})
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
		ID: storetest.NewID(), Class: "cs101", By: "tom", URL: at.url, Secret: at.secret,
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
	spec := storetest.Spec("ann")
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

func (r *teller) entries() []core.AuditEntry {
	r.t.Helper()
	all, err := r.store.ListAuditEntries(r.t.Context(), core.AuditFilter{})
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
