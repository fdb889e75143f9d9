package taskrunner_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/webhook"
)

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
		entries := r.entries()
		require.Len(t, entries, 1)
		require.Equal(t, "drover", entries[0].Actor)
		require.Equal(t, core.ActWebhook, entries[0].Action)
		require.Equal(t, w.ID, entries[0].Subject)
		require.Equal(t, "cs101", entries[0].Class)

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
		require.Empty(t, r.entries())
		r.end()
	})
}

func TestGoneIsObeyed(t *testing.T) {
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
		require.Len(t, r.entries(), 1)
		require.Contains(t, r.entries()[0].Text, "410 Gone")
		r.end()
	})
}

func TestRetryAfterIsObeyed(t *testing.T) {
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
