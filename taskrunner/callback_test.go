package taskrunner_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/store/storetest"
	"drover/core/webhook"
)

// calledBack makes the teller know a compatible API that tells a receiver of ends by PUT.
func (r *teller) calledBack(url, secret string) {
	r.callbacks = map[string]core.Callback{"compat": func(_ context.Context, row core.Row) (core.Message, error) {
		return core.Message{
			Method: http.MethodPut, URL: url, Header: map[string]string{"Content-Type": "text/plain", "Filename": "out"},
			Body: []byte(row.Spec.Key() + " " + string(row.State)), Secret: secret,
		}, nil
	}}
}

// asked records the end of a request that came in by a compatible API.
func (r *teller) asked(compat string) core.Result {
	r.t.Helper()
	spec := storetest.Spec("ann")
	spec.Callback, spec.Submitted = compat, time.Now().UnixMilli()
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

func (r *teller) told() []core.Task {
	r.t.Helper()
	all, err := r.store.ListTasks(r.t.Context(), core.TaskFilter{Kind: core.KindCallback, Lane: "ann", Limit: 1000})
	require.NoError(r.t, err)
	return all
}

func TestACallbackIsMade(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, statuses(500, 503, 200))
	synctest.Test(t, func(t *testing.T) {
		r := newTeller(t)
		r.calledBack(at.url, at.secret)
		result := r.asked("compat")
		r.begin()
		settle(2 * time.Second)
		require.Len(t, at.got(), 1)
		_, err := r.store.Rerun(t.Context(), result.ID, time.Now().UnixMilli()) // what is told stays
		require.NoError(t, err)
		settle(time.Hour)
		calls := at.got()
		require.Len(t, calls, 3)
		for _, c := range calls {
			require.Equal(t, result.ID+"-1 completed", string(c.body))
			require.Equal(t, calls[0].id, c.id)
		}
		require.InDelta(t, webhook.Pause(1, 0.5).Seconds(), calls[1].at.Sub(calls[0].at).Seconds(), 3)
		d := r.told()
		require.Len(t, d, 1)
		require.Equal(t, core.TaskDone, d[0].State)
		require.Equal(t, "told: 200 OK", d[0].Note)
		require.Empty(t, d[0].Requester)
		r.end()
	})
}

// The method and the headers are the compatible API's.
func TestACallbackIsTheCompatibleAPIs(t *testing.T) {
	t.Parallel()
	var got atomic.Pointer[http.Request]
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		got.Store(req)
	}))
	t.Cleanup(s.Close)
	synctest.Test(t, func(t *testing.T) {
		r := newTeller(t)
		r.calledBack(s.URL+"/path?q=1", webhook.NewSecret())
		r.asked("compat")
		r.begin()
		settle(2 * time.Second)
		r.end()
	})
	req := got.Load()
	require.NotNil(t, req)
	require.Equal(t, http.MethodPut, req.Method)
	require.Equal(t, "/path?q=1", req.URL.String())
	require.Equal(t, "out", req.Header.Get("Filename"))
	require.Equal(t, "text/plain", req.Header.Get("Content-Type"))
	require.NotEmpty(t, req.Header.Get("webhook-signature"))
}

func TestACallbackThatIsNotTaken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer int
		change func(*teller)
		tries  int
		state  core.TaskState
		note   string
	}{
		{"refused forever", 500, func(*teller) {}, 6, core.TaskDead, "500 Internal Server Error"},
		{"gone", 410, func(*teller) {}, 1, core.TaskDead, "wants no more"},
		{"redirected", 302, func(*teller) {}, 6, core.TaskDead, "302 Found"},
		{"not public", 200, func(r *teller) { r.cfg.Webhooks = webhook.Addresses{} }, 0, core.TaskDead, "webhook_allow"},
		{"of a compatible API that is not known", 200, func(r *teller) { r.callbacks = nil }, 0, core.TaskDead, `the compatible API "compat"`},
		{"of what is deleted", 200, func(r *teller) {
			r.callbacks["compat"] = func(context.Context, core.Row) (core.Message, error) {
				return core.Message{}, core.Errorf(core.CodeNotFound, "", "it is deleted")
			}
		}, 0, core.TaskDone, "not told: it is deleted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			at := newReceiver(t, statuses(c.answer))
			synctest.Test(t, func(t *testing.T) {
				r := newTeller(t)
				r.slowly()
				r.calledBack(at.url, at.secret)
				c.change(r)
				r.asked("compat")
				r.begin()
				settle(24 * time.Hour)
				require.Len(t, at.got(), c.tries)
				d := r.told()
				require.Len(t, d, 1)
				require.Equal(t, c.state, d[0].State, d[0].Note)
				require.Contains(t, d[0].Note, c.note)
				r.end()
			})
		})
	}
}
