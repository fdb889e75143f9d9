package staff_test

import (
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/school"
)

const hooks = "/classes/cs101/webhooks"

// hook adds a webhook of cs101 and returns its page's path and its secret.
func (w *fixture) hook() (at, secret string) {
	w.t.Helper()
	rec := w.post("tess", hooks, "url", "https://chat.example.org/hook", "event", core.EventRequestEnded)
	require.Equal(w.t, http.StatusOK, rec.Code, "%s", rec.Body)
	text := rec.Body.String()
	at = regexp.MustCompile(`/webhooks/[a-z0-9]+`).FindString(text)
	secret = html.UnescapeString(regexp.MustCompile(`whsec_[^<]+`).FindString(text))
	require.NotEmpty(w.t, at)
	require.NotEmpty(w.t, secret)
	require.Equal(w.t, "no-store", rec.Header().Get("Cache-Control"))
	return at, secret
}

func (w *fixture) storedHook(at string) core.Webhook {
	w.t.Helper()
	hook, err := w.reg.Store.GetWebhook(w.t.Context(), strings.TrimPrefix(at, "/webhooks/"))
	require.NoError(w.t, err)
	return hook
}

func TestAWebhooksSecretIsShownOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	require.Contains(t, w.shows("tess", hooks), "There is none.")
	at, secret := w.hook()
	require.Equal(t, secret, w.storedHook(at).Secret)
	require.NotContains(t, w.shows("tess", at), "whsec_")
	require.NotContains(t, w.shows("tess", hooks), "whsec_")
	require.Contains(t, w.shows("tess", hooks), at)

	rec := w.post("tess", at+"/rotate")
	require.Equal(t, http.StatusOK, rec.Code)
	both := strings.Fields(w.storedHook(at).Secret)
	require.Equal(t, secret, both[1])
	require.Contains(t, html.UnescapeString(rec.Body.String()), both[0])
	require.NotContains(t, html.UnescapeString(rec.Body.String()), secret)
	w.post("tess", at+"/rotate", "distrust", "yes")
	require.Len(t, strings.Fields(w.storedHook(at).Secret), 1)
}

func TestAWrongWebhookComesBack(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	text := again(t, w.post("tess", hooks, "url", "ftp://x/"+evil, "event", core.EventTaskEnded), "")
	require.Contains(t, text, `value="ftp://x/&#34;&gt;`)
	require.Contains(t, text, `value="task.ended" checked`)
	require.NotContains(t, text, `value="request.ended" checked`)
	require.NotContains(t, text, "<script>alert")
	again(t, w.post("tess", hooks, "url", "https://chat.example.org/"), "event")
	again(t, w.post("tess", hooks, "url", "https://127.0.0.1/", "event", core.EventTaskEnded), "127.0.0.1")
}

func TestAWebhookIsChangedTestedAndRemoved(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	at, secret := w.hook()
	id := strings.TrimPrefix(at, "/webhooks/")
	require.Equal(t, at, leads(t, w.post("tess", at+"/test")))
	all, err := w.reg.Deliveries(t.Context(), w.as("tess"), id, "", 10)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Contains(t, w.shows("tess", at), core.EventTest)
	again(t, w.post("tess", at+"/redeliver", "delivery", all[0].ID), "")
	again(t, w.post("tess", at+"/redeliver", "delivery", "none"), "no delivery")
	_, err = w.reg.Store.(school.ResultStore).EndTask(t.Context(), core.TaskEnd{ID: all[0].ID, Generation: 1, State: core.TaskDone, Note: "answered 200 " + evil})
	require.NoError(t, err)
	text := w.shows("tess", at)
	require.Contains(t, text, "Deliver again")
	require.NotContains(t, text, "<script>alert")
	require.Equal(t, at, leads(t, w.post("tess", at+"/redeliver", "delivery", all[0].ID)))
	all, err = w.reg.Deliveries(t.Context(), w.as("tess"), id, "", 10)
	require.NoError(t, err)
	require.Len(t, all, 2)

	rev := strconv.FormatInt(w.storedHook(at).Revision, 10)
	again(t, w.post("tess", at, "url", "nonsense", "event", core.EventTaskEnded, "revision", rev), "")
	require.Equal(t, at, leads(t, w.post("tess", at, "url", "https://chat.example.org/two", "event", core.EventTaskEnded, "disabled", "yes", "revision", rev)))
	is := w.storedHook(at)
	require.Equal(t, "https://chat.example.org/two", is.URL)
	require.True(t, is.Disabled)
	require.Equal(t, secret, is.Secret)
	again(t, w.post("tess", at, "url", "https://chat.example.org/3", "event", core.EventTaskEnded, "revision", rev), "changed")
	again(t, w.post("tess", at+"/test"), "disabled")

	again(t, w.post("tess", at+"/delete"), "Tick the box to confirm")
	for who, want := range map[string]int{"tina": http.StatusForbidden, "ann": http.StatusForbidden, "theo": http.StatusNotFound, "olga": http.StatusNotFound} {
		require.Equal(t, want, w.get(who, at).Code, who)
		require.Equal(t, want, w.post(who, at+"/delete", "sure", "yes").Code, who)
		require.Equal(t, want, w.post(who, at+"/rotate").Code, who)
	}
	require.Equal(t, hooks, leads(t, w.post("tess", at+"/delete", "sure", "yes")))
	require.Equal(t, http.StatusNotFound, w.get("tess", at).Code)
}
