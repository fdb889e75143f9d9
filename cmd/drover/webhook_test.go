package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/coretest/tier"
	"drover/core/store/storetest"
)

// allowHere lets deliveries reach the tests' own receivers.
const allowHere = "DROVER_WEBHOOK_ALLOW=127.0.0.0/8"

// arrival is a delivery as its receiver got it.
type arrival struct {
	id      string
	at      time.Time
	body    []byte
	headers http.Header
}

// hookReceiver is somebody's server.
type hookReceiver struct {
	url string

	mu     sync.Mutex
	all    []arrival
	answer func(n int, w http.ResponseWriter)
}

func newHookReceiver(t *testing.T) *hookReceiver {
	t.Helper()
	r := &hookReceiver{answer: func(int, http.ResponseWriter) {}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body) // what is not whole is not verified
		r.mu.Lock()
		r.all = append(r.all, arrival{req.Header.Get("webhook-id"), time.Now(), body, req.Header})
		n, answer := len(r.all), r.answer
		r.mu.Unlock()
		answer(n, w)
	}))
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

func (r *hookReceiver) got() []arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// hook makes a webhook of the cluster by the command line.
func (h *testCluster) hook(r *hookReceiver, more ...string) (id, secret string) {
	h.t.Helper()
	out, errs, code := h.run(append([]string{"webhook", "add", "--json", r.url}, more...)...)
	require.Zero(h.t, code, errs)
	var w struct{ ID, Secret string }
	require.NoError(h.t, json.Unmarshal([]byte(out), &w))
	return w.ID, w.Secret
}

func (h *testCluster) deliveries(hook string) []core.Task {
	h.t.Helper()
	out, errs, code := h.run("webhook", "deliveries", "--json", hook)
	require.Zero(h.t, code, errs)
	var all []core.Task
	require.NoError(h.t, json.Unmarshal([]byte(out), &all))
	return all
}

func TestWebhooksByTheCommandLine(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, allowHere)
	up := h.up()
	r := newHookReceiver(t)
	hook, secret := h.hook(r)
	verifier, err := standard.NewWebhook(secret)
	require.NoError(t, err)

	_, errs, code := h.run("run", "--notify", hook, "--", "true")
	require.Zero(t, code, errs)
	await(t, "the end is told", func() bool { return len(r.got()) == 1 })
	told := r.got()[0]
	require.NoError(t, verifier.Verify(told.body, told.headers))
	require.Contains(t, string(told.body), `"type":"request.ended"`)
	require.Contains(t, string(told.body), `"verdict":"passed"`)

	out, errs, code := h.run("webhook", "test", hook)
	require.Zero(t, code, errs)
	require.Contains(t, out, "on its way")
	await(t, "the test arrives", func() bool { return len(r.got()) == 2 })
	require.Contains(t, string(r.got()[1].body), `"type":"webhook.test"`)
	await(t, "its end is recorded", func() bool { return h.deliveries(hook)[0].State == core.TaskDone })
	delivery := h.deliveries(hook)[1]
	require.Equal(t, told.id, delivery.ID)

	_, errs, code = h.run("webhook", "redeliver", delivery.ID)
	require.Zero(t, code, errs)
	await(t, "it arrives again", func() bool { return len(r.got()) == 3 })

	out, errs, code = h.run("webhook", "set", "--json", "--new-secret", hook)
	require.Zero(t, code, errs)
	require.Contains(t, out, "whsec_")
	require.NotContains(t, out, secret)
	out, errs, code = h.run("webhook", "set", "--disabled", hook)
	require.Zero(t, code, errs)
	require.NotContains(t, out, "whsec_")
	out, _, code = h.run("webhook", "list")
	require.Zero(t, code)
	require.Contains(t, out, "disabled")
	require.NotContains(t, out, "whsec_")
	out, _, _ = h.run("webhook", "list", "--json")
	require.NotContains(t, out, "whsec_")
	_, errs, code = h.run("webhook", "test", hook)
	require.Equal(t, terminal.ExitRefused, code)
	require.Contains(t, errs, "disabled")
	_, errs, code = h.run("webhook", "remove", hook)
	require.Zero(t, code, errs)
	_, errs, code = h.run("run", "--notify", hook, "--", "true")
	require.Equal(t, terminal.ExitNotFound, code, errs)
	_, _, code = h.run("webhook", "test", hook)
	require.Equal(t, terminal.ExitNotFound, code)
	for _, bad := range []string{"ftp://x.example/", "http://9.9.9.9/", "https://10.0.0.1/", "https://"} {
		_, _, code = h.run("webhook", "add", bad)
		require.Equal(t, terminal.ExitUsage, code, bad)
	}
	require.NotContains(t, up.said(), "whsec_")
	up.stop()
	h.requireNothingLeft()
}

// A taskrunner that is killed after a delivery has arrived and before that is recorded
// delivers it again: at least once, under the same id.
func TestATaskrunnerIsKilledBetweenDeliveryAndRecord(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t, allowHere)
	r := newHookReceiver(t)
	hook, _ := h.hook(r)
	first := h.start("taskrunner")
	r.mu.Lock()
	r.answer = func(n int, _ http.ResponseWriter) {
		if n == 1 {
			first.kill()
		}
	}
	r.mu.Unlock()
	h.start("overseer")
	_, errs, code := h.run("webhook", "test", hook)
	require.Zero(t, code, errs)
	await(t, "it arrives", func() bool { return len(r.got()) == 1 })
	<-first.done
	h.start("taskrunner")
	await(t, "it arrives again", func() bool { return len(r.got()) == 2 })
	require.Equal(t, r.got()[0].id, r.got()[1].id)
	require.Equal(t, r.got()[0].body, r.got()[1].body)
	await(t, "its end is recorded", func() bool { return h.deliveries(hook)[0].State == core.TaskDone })
	require.Len(t, h.deliveries(hook), 1)
}

// A receiver that answers nothing, with 100 deliveries before it, holds nobody else up.
func TestASilentReceiverHoldsNobodyUp(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	h := newTestCluster(t, allowHere, "DROVER_SLOTS=3")
	ctx := t.Context()
	open := make(chan struct{})
	silent, well := newHookReceiver(t), newHookReceiver(t)
	defer close(open)
	silent.answer = func(int, http.ResponseWriter) { <-open }
	dead, _ := h.hook(silent)
	alive, _ := h.hook(well)
	end := func(hook string, n int) {
		for range n {
			spec := core.Spec{
				ID: storetest.NewID(), Generation: 1, Pool: "default", Priority: core.PriorityNormal, Submitter: "ann", Command: []string{"true"},
				Submitted: time.Now().UnixMilli(), Notify: []string{hook},
			}
			_, _, err := h.cluster.Store.Create(ctx, spec)
			require.NoError(t, err)
			_, err = h.cluster.Store.Record(ctx, core.Result{ID: spec.ID, Generation: 1, State: core.RequestCompleted, Times: core.Times{Submitted: spec.Submitted}})
			require.NoError(t, err)
		}
	}
	end(dead, 100)
	end(alive, 20)
	h.start("taskrunner")
	await(t, "the others are told", func() bool { return len(well.got()) == 20 })
	require.Less(t, len(silent.got()), 3, "not even one slot's worth of time-outs has passed")
	require.NotEmpty(t, silent.got())
}
