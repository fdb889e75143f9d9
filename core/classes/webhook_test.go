package classes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/school"
	"drover/core/webhook"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
)

const hookURL = "https://grades.example.org/drover?token=hush"

func (s watched) PutWebhook(ctx context.Context, w core.Webhook) (int64, error) {
	if err := s.step("put webhook"); err != nil {
		return 0, err
	}
	return s.ResultStore.PutWebhook(ctx, w)
}

func (s watched) DeleteWebhook(ctx context.Context, id string) error {
	if err := s.step("delete webhook"); err != nil {
		return err
	}
	return s.ResultStore.DeleteWebhook(ctx, id)
}

// hook adds a webhook to cs101.
func (w *fixture) hook() core.Webhook {
	w.t.Helper()
	h, err := w.reg.AddWebhook(w.t.Context(), w.as("tess"), core.Webhook{Class: "cs101", URL: hookURL, Events: []string{core.EventRequestEnded}})
	require.NoError(w.t, err)
	w.log.clear()
	return h
}

func aHook(w *fixture, n int) string {
	if n > 0 { // one class has room for few
		all, err := w.reg.Store.ListWebhooks(w.t.Context(), "cs101", "", 10)
		require.NoError(w.t, err)
		for _, old := range all {
			require.NoError(w.t, w.reg.Store.DeleteWebhook(w.t.Context(), old.ID))
		}
	}
	return w.hook().ID
}

// delivered puts a delivery to a webhook of cs101 into the store.
func delivered(w *fixture, n int) string {
	id := aHook(w, n)
	args, err := json.Marshal(core.WebhookArgs{Webhook: id, Event: core.EventTest})
	require.NoError(w.t, err)
	t := w.task(func(t *core.Task) {
		t.Kind, t.Args, t.Lane, t.About, t.Requester = core.KindWebhook, args, id, "cs101", ""
	})
	w.endTask(t.ID, core.TaskDead)
	return t.ID
}

func webhookCalls() []call {
	of := func(method string, prepare func(w *fixture, n int) string, do func(w *fixture, a core.Actor, id string) error) call {
		return call{action: core.ActWebhook, method: method, prepare: prepare, do: do}
	}
	return []call{
		of("AddWebhook", nil, func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.AddWebhook(w.t.Context(), a, core.Webhook{Class: "cs101", URL: hookURL, Events: []string{core.EventRequestEnded}}))
		}),
		of("ListWebhooks", nil, func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.ListWebhooks(w.t.Context(), a, "cs101", "", 10))
		}),
		of("ViewWebhook", once(aHook), func(w *fixture, a core.Actor, id string) error { return done(w.reg.ViewWebhook(w.t.Context(), a, id)) }),
		of("EditWebhook", aHook, func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.EditWebhook(w.t.Context(), a, core.Webhook{ID: id, URL: hookURL, Events: []string{core.EventTaskEnded}, Revision: 1}))
		}),
		of("RotateWebhook", once(aHook), func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.RotateWebhook(w.t.Context(), a, id, false))
		}),
		of("RemoveWebhook", aHook, func(w *fixture, a core.Actor, id string) error { return w.reg.RemoveWebhook(w.t.Context(), a, id) }),
		of("TestWebhook", once(aHook), func(w *fixture, a core.Actor, id string) error { return done(w.reg.TestWebhook(w.t.Context(), a, id)) }),
		of("Deliveries", once(aHook), func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.Deliveries(w.t.Context(), a, id, "", 10))
		}),
		of("Redeliver", delivered, func(w *fixture, a core.Actor, id string) error { return done(w.reg.Redeliver(w.t.Context(), a, id)) }),
	}
}

func TestASecretIsShownOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx, tess := t.Context(), w.as("tess")
	h, err := w.reg.AddWebhook(ctx, tess, core.Webhook{
		Class: "cs101", URL: hookURL, Events: []string{core.EventRequestEnded}, Secret: "whsec_mine", ID: "mine", By: "root", Revision: 7,
	})
	require.NoError(t, err)
	require.NotEqual(t, "whsec_mine", h.Secret, "secrets are made here")
	require.NotEqual(t, "mine", h.ID)
	require.Equal(t, "tess", h.By)
	secrets := []string{h.Secret}

	next, err := w.reg.RotateWebhook(ctx, tess, h.ID, false)
	require.NoError(t, err)
	secrets = append(secrets, next)
	requireSigns(t, w, h.ID, h.Secret, next)
	last, err := w.reg.RotateWebhook(ctx, tess, h.ID, true)
	require.NoError(t, err)
	secrets = append(secrets, last)
	requireSigns(t, w, h.ID, last)

	seen, err := w.reg.ViewWebhook(ctx, tess, h.ID)
	require.NoError(t, err)
	require.Empty(t, seen.Secret)
	seen.URL += "&more"
	edited, err := w.reg.EditWebhook(ctx, tess, seen)
	require.NoError(t, err)
	require.Empty(t, edited.Secret)
	requireSigns(t, w, h.ID, last)
	all, err := w.reg.ListWebhooks(ctx, tess, "cs101", "", 10)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Empty(t, all[0].Secret)
	require.NoError(t, w.reg.RemoveWebhook(ctx, tess, h.ID))

	entries := strings.Join(w.entries(), "\n")
	for _, secret := range append(secrets, "hush", "whsec_") {
		require.NotContains(t, entries, secret)
	}
	require.Equal(t, []string{
		"tess adds webhook " + h.ID + " to https://grades.example.org/drover for request.ended",
		"tess gives webhook " + h.ID + " a new secret",
		"tess gives webhook " + h.ID + " a new secret, and trusts the former one no more",
		"tess changes webhook " + h.ID + ": what follows the ? of its URL",
		"tess removes webhook " + h.ID + " to https://grades.example.org/drover",
	}, w.entries())
}

// requireSigns requires that a webhook signs with these secrets and no other.
func requireSigns(t *testing.T, w *fixture, id string, secrets ...string) {
	t.Helper()
	h, err := w.store.GetWebhook(t.Context(), id)
	require.NoError(t, err)
	headers := http.Header{}
	require.NoError(t, webhook.Sign(headers, h.Secret, "d", time.Now(), []byte("body")))
	require.Len(t, strings.Fields(headers.Get("webhook-signature")), len(secrets))
	for _, secret := range secrets {
		verifier, err := standard.NewWebhook(secret)
		require.NoError(t, err)
		require.NoError(t, verifier.Verify([]byte("body"), headers))
	}
}

func TestWebhooksThatCouldNotWork(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx, tess := t.Context(), w.as("tess")
	for _, bad := range []string{
		"", "http://grades.example.org/", "https://127.0.0.1/", "https://10.0.0.1/", "https://[::1]/", "https://169.254.169.254/latest", "https://ann:pw@example.org/",
	} {
		_, err := w.reg.AddWebhook(ctx, tess, core.Webhook{Class: "cs101", URL: bad, Events: []string{core.EventRequestEnded}})
		requireCode(t, core.CodeInvalid, err)
	}
	for _, events := range [][]string{nil, {"request.begun"}} {
		_, err := w.reg.AddWebhook(ctx, tess, core.Webhook{Class: "cs101", URL: hookURL, Events: events})
		requireCode(t, core.CodeInvalid, err)
	}
	require.Empty(t, w.entries(), "nothing was done")

	h := w.hook()
	change := h
	change.URL = "https://127.0.0.1/"
	_, err := w.reg.EditWebhook(ctx, tess, change)
	requireCode(t, core.CodeInvalid, err)
	change.URL, change.Revision, change.Disabled = hookURL, 0, true
	_, err = w.reg.EditWebhook(ctx, tess, change)
	requireCode(t, core.CodeInvalid, err)
	change.Revision = h.Revision + 1
	_, err = w.reg.EditWebhook(ctx, tess, change)
	requireCode(t, core.CodeConflict, err)
	change.Revision, change.Class, change.By = h.Revision, "cs202", "theo"
	got, err := w.reg.EditWebhook(ctx, tess, change)
	require.NoError(t, err)
	require.Equal(t, "cs101", got.Class)
	require.Equal(t, "tess", got.By)
	require.True(t, got.Disabled)
}

// A class has no more webhooks than one end is told to, so that none is left out unsaid.
func TestWebhooksOfAClassAreBounded(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx, tess := t.Context(), w.as("tess")
	var last core.Webhook
	for range core.MaxNotify {
		last = w.hook()
	}
	more := core.Webhook{Class: "cs101", URL: hookURL, Events: []string{core.EventRequestEnded}}
	_, err := w.reg.AddWebhook(ctx, tess, more)
	requireCode(t, core.CodeLimit, err)
	other := more
	other.Events = []string{core.EventTaskEnded}
	_, err = w.reg.AddWebhook(ctx, tess, other)
	require.NoError(t, err)
	last.URL += "&same"
	last, err = w.reg.EditWebhook(ctx, tess, last)
	require.NoError(t, err, "it is one of them")
	last.Disabled = true
	last, err = w.reg.EditWebhook(ctx, tess, last)
	require.NoError(t, err)
	_, err = w.reg.AddWebhook(ctx, tess, more)
	require.NoError(t, err)
	last.Disabled = false
	_, err = w.reg.EditWebhook(ctx, tess, last)
	requireCode(t, core.CodeLimit, err)
}

func TestWebhooksOfTheClusterAreForAdmins(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	h, err := w.reg.AddWebhook(ctx, w.as("root"), core.Webhook{URL: hookURL, Events: []string{core.EventRequestEnded}})
	require.NoError(t, err)
	for _, who := range []string{"olga", "otto", "tess", "ann", "nick"} {
		_, err := w.reg.AddWebhook(ctx, w.as(who), core.Webhook{URL: hookURL, Events: []string{core.EventRequestEnded}})
		requireCode(t, core.CodeForbidden, err)
		_, err = w.reg.ListWebhooks(ctx, w.as(who), "", "", 10)
		requireCode(t, core.CodeForbidden, err)
		_, err = w.reg.ViewWebhook(ctx, w.as(who), h.ID)
		requireCode(t, core.CodeNotFound, err)
		_, err = w.reg.TestWebhook(ctx, w.as(who), h.ID)
		requireCode(t, core.CodeNotFound, err)
	}
	all, err := w.reg.ListWebhooks(ctx, w.as("root"), "", "", 10)
	require.NoError(t, err)
	require.Len(t, all, 1)
}

func TestDeliveriesByHand(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx, tess := t.Context(), w.as("tess")
	dead := delivered(w, 0)
	old, err := w.store.GetTask(ctx, dead)
	require.NoError(t, err)
	hook := old.Lane
	again, err := w.reg.Redeliver(ctx, tess, dead)
	require.NoError(t, err)
	require.Equal(t, dead, again.ID, "the receiver knows it by its id")
	require.Equal(t, 2, again.Generation)
	_, err = w.reg.Redeliver(ctx, tess, dead)
	requireCode(t, core.CodeConflict, err)

	test, err := w.reg.TestWebhook(ctx, tess, hook)
	require.NoError(t, err)
	require.Equal(t, core.KindWebhook, test.Kind)
	require.Equal(t, hook, test.Lane)
	require.Equal(t, "cs101", test.About)
	w.endTask(test.ID, core.TaskDone)
	anew, err := w.reg.Redeliver(ctx, tess, test.ID)
	require.NoError(t, err)
	require.NotEqual(t, test.ID, anew.ID, "it arrived: to the receiver this is another one")
	require.JSONEq(t, string(test.Args), string(anew.Args))

	all, err := w.reg.Deliveries(ctx, tess, hook, "", 10)
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.Equal(t, anew.ID, all[0].ID)

	h, err := w.reg.ViewWebhook(ctx, tess, hook)
	require.NoError(t, err)
	h.Disabled = true
	_, err = w.reg.EditWebhook(ctx, tess, h)
	require.NoError(t, err)
	for _, call := range []func() (core.Task, error){
		func() (core.Task, error) { return w.reg.TestWebhook(ctx, tess, hook) },
		func() (core.Task, error) { return w.reg.Redeliver(ctx, tess, test.ID) },
	} {
		_, err = call()
		requireCode(t, core.CodeConflict, err)
	}
	for _, none := range []string{"", "../x", "none", w.task().ID} {
		_, err = w.reg.Redeliver(ctx, tess, none)
		requireCode(t, core.CodeNotFound, err)
	}
	require.NoError(t, w.reg.RemoveWebhook(ctx, tess, hook))
	_, err = w.reg.Redeliver(ctx, tess, dead)
	requireCode(t, core.CodeNotFound, err)
}

// What a class's webhooks are told of is what is done there.
func TestAClassesWebhooksAreTold(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx, tess := t.Context(), w.as("tess")
	w.graded("hw1")
	requests, both := w.hook(), w.hook()
	both.Events = append(both.Events, core.EventTaskEnded)
	_, err := w.reg.EditWebhook(ctx, tess, both)
	require.NoError(t, err)
	off := w.hook()
	off.Disabled = true
	_, err = w.reg.EditWebhook(ctx, tess, off)
	require.NoError(t, err)

	s := w.submit("ann", "hw1")
	row, err := w.store.Get(ctx, s.Request)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{requests.ID, both.ID}, row.Spec.Notify)
	w.grade(nil)
	notices, err := w.store.Outbox(ctx, 10)
	require.NoError(t, err)
	require.Equal(t, []core.Notice{{Event: core.EventRequestEnded, Key: core.Key(s.Request, 1)}}, notices)

	task, err := w.reg.StartTask(ctx, tess, school.KindArchive, args(school.ArchiveArgs{Class: "cs101", Assignment: "hw1"}))
	require.NoError(t, err)
	require.Equal(t, []string{both.ID}, task.Notify)
}

func TestNotifyIsChecked(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	ours := w.hook()
	cluster, err := w.reg.AddWebhook(ctx, w.as("root"), core.Webhook{URL: hookURL, Events: []string{core.EventRequestEnded}})
	require.NoError(t, err)
	var many []string
	for i := range core.MaxNotify + 1 {
		many = append(many, fmt.Sprint("w", i))
	}
	for _, c := range []struct {
		notify     []string
		assignment string
		want       core.Code
	}{
		{[]string{cluster.ID}, "", ""},
		{[]string{ours.ID, cluster.ID}, "cs101/hw1", ""},
		{[]string{ours.ID}, "cs202/hw1", core.CodeInvalid},
		{[]string{ours.ID}, "", core.CodeInvalid},
		{[]string{ours.ID}, "cs1012", core.CodeInvalid},
		{[]string{cluster.ID, cluster.ID}, "", core.CodeInvalid},
		{[]string{"Ä"}, "", core.CodeInvalid},
		{[]string{"none"}, "", core.CodeNotFound},
		{many, "", core.CodeLimit},
	} {
		_, err := w.in.Check(ctx, core.Spec{Pool: pool, Submitter: "ann", Command: []string{"true"}, Assignment: c.assignment, Notify: c.notify})
		requireCode(t, c.want, err)
		_, _, err = w.in.SubmitTask(ctx, core.Task{Kind: core.KindPurge, About: c.assignment, Notify: c.notify})
		requireCode(t, c.want, err)
	}
}
