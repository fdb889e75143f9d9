package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"

	"github.com/stretchr/testify/require"
)

// Two secrets of webhooks.
const (
	secret      = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	otherSecret = "whsec_plJ3nmyCDGBKInavdOK15jsl1tTz2gBB"
)

// Webhook makes a webhook of no class.
func Webhook(id string) core.Webhook {
	return core.Webhook{ID: id, By: "ann", URL: "https://example.org/hook?a=b", Secret: secret, Events: []string{core.EventRequestEnded}, Created: 5}
}

// mustWebhook puts a webhook and returns it with its new revision.
func mustWebhook(t *testing.T, s school.ResultStore, w core.Webhook) core.Webhook {
	t.Helper()
	revision, err := s.PutWebhook(t.Context(), w)
	require.NoError(t, err)
	require.Greater(t, revision, w.Revision)
	w.Revision = revision
	return w
}

func webhooks(t *testing.T, s school.ResultStore) {
	mine := Webhook("a")
	mine.Class, mine.Events, mine.Disabled = "cs101", []string{core.EventRequestEnded, core.EventTaskEnded, core.EventTest}, true
	mine = mustWebhook(t, s, mine)
	is := func(want core.Webhook) {
		t.Helper()
		got, err := s.GetWebhook(t.Context(), want.ID)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	is(mine)
	old := mine
	mine.URL, mine.Disabled, mine.Events = "http://[::1]:8080/", false, []string{core.EventTaskEnded}
	mine = mustWebhook(t, s, mine)
	is(mine)
	kept := mine
	kept.Secret = ""
	mine.Revision = mustWebhook(t, s, kept).Revision
	is(mine) // with its secret
	mine.Secret = otherSecret
	mine = mustWebhook(t, s, mine)
	is(mine)

	_, err := s.PutWebhook(t.Context(), old)
	requireCode(t, core.CodeConflict, err)
	_, err = s.PutWebhook(t.Context(), Webhook("a"))
	requireCode(t, core.CodeConflict, err)
	ahead := Webhook("b")
	ahead.Revision = 1
	_, err = s.PutWebhook(t.Context(), ahead)
	requireCode(t, core.CodeNotFound, err)
	is(mine)

	require.NoError(t, s.DeleteWebhook(t.Context(), "a"))
	requireCode(t, core.CodeNotFound, s.DeleteWebhook(t.Context(), "a"))
	_, err = s.GetWebhook(t.Context(), "a")
	requireCode(t, core.CodeNotFound, err)
	_, err = s.PutWebhook(t.Context(), mine)
	requireCode(t, core.CodeNotFound, err)
	is(mustWebhook(t, s, Webhook("a"))) // a new one, with nothing of the old
}

func webhooksList(t *testing.T, s school.ResultStore) {
	want := map[string][]core.Webhook{}
	for i := range 30 {
		w := Webhook(fmt.Sprintf("w%02d", i))
		w.Class = []string{"", "cs101", "cs10"}[i%3]
		w = mustWebhook(t, s, w)
		w.Secret = ""
		want[w.Class] = append(want[w.Class], w)
	}
	for class, all := range want {
		got := []core.Webhook{}
		for after := ""; ; {
			page, err := s.ListWebhooks(t.Context(), class, after, 3)
			require.NoError(t, err)
			got = append(got, page...)
			if len(page) < 3 {
				break
			}
			after = page[2].ID
		}
		require.Equal(t, all, got, "in order of id, without secrets")
	}
	none, err := s.ListWebhooks(t.Context(), "cs1", "", 10)
	require.NoError(t, err)
	require.Empty(t, none)
	for _, limit := range []int{0, bounds.MaxPage + 1} {
		_, err := s.ListWebhooks(t.Context(), "", "", limit)
		requireCode(t, core.CodeInvalid, err)
	}
	one, err := s.GetWebhook(t.Context(), "w00")
	require.NoError(t, err)
	require.Equal(t, secret, one.Secret)
	text, err := json.Marshal(one)
	require.NoError(t, err)
	require.NotContains(t, string(text), strings.TrimPrefix(secret, "whsec_"), "nobody reads it again")
}

func webhooksRefuse(t *testing.T, s school.ResultStore) {
	for name, c := range map[string]struct {
		change func(*core.Webhook)
		want   core.Code
	}{
		"id": {func(w *core.Webhook) { w.ID = "" }, core.CodeInvalid},
	} {
		w := Webhook("a")
		c.change(&w)
		_, err := s.PutWebhook(t.Context(), w)
		require.Error(t, err, name)
		require.Equal(t, c.want, core.CodeOf(err), name)
	}
	all, err := s.ListWebhooks(t.Context(), "", "", 10)
	require.NoError(t, err)
	require.Empty(t, all)
}

func webhooksLimit(t *testing.T, s school.ResultStore) {
	together(t, core.WebhookQuota.Most, func(i int) error {
		w := Webhook(fmt.Sprintf("w%d", i))
		w.Class = "cs101"
		_, err := s.PutWebhook(t.Context(), w)
		return err
	})
	w := Webhook("one-too-many")
	w.Class = "cs101"
	_, err := s.PutWebhook(t.Context(), w)
	requireCode(t, core.CodeLimit, err)
	other := mustWebhook(t, s, Webhook("another-class"))
	other.Class = "cs101"
	_, err = s.PutWebhook(t.Context(), other)
	requireCode(t, core.CodeLimit, err)
	there, err := s.GetWebhook(t.Context(), "w7")
	require.NoError(t, err)
	mustWebhook(t, s, there) // one that is there can still be changed
}

func webhooksRace(t *testing.T, s school.ResultStore) {
	for round := range 5 {
		w := Webhook(fmt.Sprintf("w%d", round))
		for range 2 { // as new, then as changed
			var won atomic.Int64
			race(t, func(i int) error {
				mine := w
				mine.URL = fmt.Sprintf("https://example.org/%d", i)
				revision, err := s.PutWebhook(t.Context(), mine)
				if core.Is(err, core.CodeConflict) {
					return nil
				}
				won.Add(1)
				if err == nil && revision <= w.Revision {
					return fmt.Errorf("revision %d follows %d", revision, w.Revision)
				}
				return err
			})
			require.EqualValues(t, 1, won.Load())
			var err error
			w, err = s.GetWebhook(t.Context(), w.ID)
			require.NoError(t, err)
		}
	}
}

// webhooksOfClass shows that a class takes its webhooks along.
func webhooksOfClass(t *testing.T, s school.ResultStore) {
	_, err := s.PutClass(t.Context(), school.Class{Handle: "cs101", Title: "Programming", Created: 1})
	require.NoError(t, err)
	for i, class := range []string{"cs101", "cs101", "cs102", ""} {
		w := Webhook(fmt.Sprintf("w%d", i))
		w.Class = class
		mustWebhook(t, s, w)
	}
	require.NoError(t, s.DeleteClass(t.Context(), "cs101"))
	for i, want := range []core.Code{core.CodeNotFound, core.CodeNotFound, "", ""} {
		_, err := s.GetWebhook(t.Context(), fmt.Sprintf("w%d", i))
		require.Equal(t, want, core.CodeOf(err))
	}
}
