package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"drover/core"
	"drover/core/school"
	"drover/web/api"

	"github.com/stretchr/testify/require"
)

// keyed makes a call with an idempotency key.
func (w *fixture) keyed(user, path, key string, body any) answer {
	w.t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(w.t, err)
	r := httptest.NewRequest(http.MethodPost, api.Prefix+path, bytes.NewReader(raw))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	return w.send(w.as(user), r)
}

func (w *fixture) comments(user, submission string) []school.Comment {
	w.t.Helper()
	var page struct{ Items []school.Comment }
	w.call(user, "GET", "/submissions/"+submission+"/comments", nil).is(http.StatusOK).into(&page)
	return page.Items
}

// A repeated call adds no second comment, question or answer; a key stands for one text of one author.
func TestIdempotencyKeyMakesOneComment(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := submitted(w, 0)
	for i, one := range []struct{ user, kind string }{{"tess", "comments"}, {"ann", "questions"}, {"tess", "answers"}} {
		path, key := "/submissions/"+id+"/"+one.kind, "k-"+one.kind
		var first, again school.Comment
		w.keyed(one.user, path, key, object{"text": "Name it."}).is(http.StatusCreated).into(&first)
		w.keyed(one.user, path, key, object{"text": "Name it."}).is(http.StatusCreated).into(&again)
		require.Equal(t, first.ID, again.ID, one.kind)
		require.Len(t, w.comments("tess", id), i+1)
		p := w.keyed(one.user, path, key, object{"text": "Name it total."}).problem(http.StatusConflict, core.CodeConflict)
		require.Contains(t, p.Detail, "use another key")
		w.keyed(one.user, path, strings.Repeat("k", school.MaxCommentKey+1), object{"text": "x"}).is(http.StatusUnprocessableEntity)
	}
	var other school.Comment
	w.keyed("tina", "/submissions/"+id+"/comments", "k-comments", object{"text": "Mine."}).is(http.StatusCreated).into(&other)
	require.Equal(t, "tina", other.By)
	require.Len(t, w.comments("tess", id), 4)
}

// Staff change and delete comments, and students their questions; neither the other's.
func TestCommentsAreChangedAndDeleted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := submitted(w, 0)
	var note, question school.Comment
	w.call("tess", "POST", "/submissions/"+id+"/comments", object{"text": "Name it.", "file": "main.py", "line": 1}).is(http.StatusCreated).into(&note)
	w.call("ann", "POST", "/submissions/"+id+"/questions", object{"text": "Why?"}).is(http.StatusCreated).into(&question)
	w.call("ann", "PATCH", "/comments/"+note.ID, object{"text": "x"}).problem(http.StatusNotFound, core.CodeNotFound)
	w.call("ann", "DELETE", "/comments/"+note.ID, nil).problem(http.StatusNotFound, core.CodeNotFound)
	w.call("tess", "PATCH", "/comments/"+question.ID, object{"text": "x"}).problem(http.StatusForbidden, core.CodeForbidden)
	w.call("tess", "DELETE", "/comments/"+question.ID, nil).problem(http.StatusForbidden, core.CodeForbidden)
	w.call("tess", "PATCH", "/comments/"+note.ID, object{"text": " "}).problem(http.StatusUnprocessableEntity, core.CodeInvalid)
	w.call("tess", "PATCH", "/comments/"+note.ID, object{"text": strings.Repeat("x", school.MaxCommentText+1)}).is(http.StatusRequestEntityTooLarge)
	w.call("tess", "PATCH", "/comments/no-such", object{"text": "x"}).problem(http.StatusNotFound, core.CodeNotFound)

	w.call("tina", "PATCH", "/comments/"+note.ID, object{"text": "Name it total."}).is(http.StatusNoContent)
	w.call("ann", "PATCH", "/comments/"+question.ID, object{"text": "Why is it wrong?"}).is(http.StatusNoContent)
	all := w.comments("tess", id)
	require.Len(t, all, 2)
	require.Equal(t, []string{"Name it total.", "Why is it wrong?"}, []string{all[0].Text, all[1].Text})
	require.NotZero(t, all[0].Edited)
	w.call("ann", "DELETE", "/comments/"+question.ID, nil).is(http.StatusNoContent)
	w.call("tess", "DELETE", "/comments/"+note.ID, nil).is(http.StatusNoContent)
	w.call("tess", "DELETE", "/comments/"+note.ID, nil).problem(http.StatusNotFound, core.CodeNotFound)
	require.Empty(t, w.comments("tess", id))
}
