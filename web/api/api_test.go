package api_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
	"drover/web/api"
	"drover/web/caller"
)

func TestWhoIsUnknownIsRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, op := range api.Operations() {
		a := w.send(nil, httptest.NewRequest(op.Method, api.Prefix+op.Path, http.NoBody))
		if op.Scope == "" {
			require.NotEqual(t, http.StatusUnauthorized, a.Code, op.ID)
			continue
		}
		a.problem(http.StatusUnauthorized, core.CodeForbidden)
		require.Equal(t, `Bearer realm="drover"`, a.Header().Get("WWW-Authenticate"))
		require.Contains(t, school.Scopes(), op.Scope, op.ID)
		none := &caller.Caller{Actor: w.as("root").Actor, Token: "t1"}
		a = w.send(none, httptest.NewRequest(op.Method, api.Prefix+op.Path, http.NoBody))
		a.problem(http.StatusForbidden, core.CodeForbidden)
		require.Contains(t, a.Header().Get("WWW-Authenticate"), "insufficient_scope")
	}
}

func TestMe(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var me api.Me
	w.call("ann", "GET", "/me", nil).is(http.StatusOK).into(&me)
	require.Equal(t, "ann", me.Handle)
	require.Len(t, me.Classes, 1)
	require.Equal(t, school.Scopes(), me.Scopes)

	c := w.as("ann")
	c.Token, c.Scopes = "t1", []school.Scope{school.ScopeRead}
	w.send(c, httptest.NewRequest(http.MethodGet, api.Prefix+"/me", http.NoBody)).is(http.StatusOK).into(&me)
	require.Equal(t, "t1", me.Token)
	require.Equal(t, []school.Scope{school.ScopeRead}, me.Scopes)
}

func TestMeInNoClass(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	require.Contains(t, w.call("nick", "GET", "/me", nil).is(http.StatusOK).Body.String(), `"classes":[]`)
}

func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.call("ann", "GET", "/nothing", nil).problem(http.StatusNotFound, core.CodeNotFound)
	a := w.call("ann", "DELETE", "/me", nil)
	a.problem(http.StatusMethodNotAllowed, core.CodeInvalid)
	require.Equal(t, "GET, HEAD, OPTIONS", a.Header().Get("Allow"))
	a = w.call("ann", "OPTIONS", "/me", nil).is(http.StatusNoContent)
	require.Equal(t, "GET, HEAD, OPTIONS", a.Header().Get("Allow"))
	w.call("ann", "HEAD", "/me", nil).is(http.StatusOK)
}

func TestWhatIsUnknownInAnInputIsRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p := w.call("root", "POST", "/classes", map[string]any{"handle": "cs1", "title": "x", "secret": "hunter2"}).
		problem(http.StatusUnprocessableEntity, core.CodeInvalid)
	require.NotContains(t, p.Detail, "hunter2")
	require.Len(t, p.Errors, 1)
	w.call("root", "GET", "/classes?colour=red", nil).problem(http.StatusUnprocessableEntity, core.CodeInvalid)
	w.call("root", "GET", "/classes?limit=501", nil).problem(http.StatusUnprocessableEntity, core.CodeInvalid)
	w.call("root", "POST", "/classes", map[string]any{"title": "no handle"}).problem(http.StatusUnprocessableEntity, core.CodeInvalid)
	w.call("root", "POST", "/classes", "text", "Content-Type", "text/plain").problem(http.StatusUnsupportedMediaType, core.CodeInvalid)
	huge := map[string]any{"handle": "cs1", "title": string(make([]byte, 300<<10))}
	w.call("root", "POST", "/classes", huge).problem(http.StatusRequestEntityTooLarge, core.CodeLimit)
}

func TestClasses(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var c school.Class
	a := w.call("root", "POST", "/classes", map[string]any{"handle": "cs1", "title": "One"}).is(http.StatusCreated).into(&c)
	require.Equal(t, "/api/v1/classes/cs1", a.Header().Get("Location"))
	w.call("root", "POST", "/classes", map[string]any{"handle": "cs1", "title": "One"}).problem(http.StatusConflict, core.CodeConflict)

	etag := w.call("root", "GET", "/classes/cs1", nil).is(http.StatusOK).Header().Get("ETag")
	a = w.call("root", "GET", "/classes/cs1", nil, "If-None-Match", etag).is(http.StatusNotModified)
	require.Empty(t, a.Body.String())
	w.call("root", "PATCH", "/classes/cs1", map[string]any{"term": "spring"}, "If-Match", etag).is(http.StatusOK).into(&c)
	require.Equal(t, "One", c.Title, "what is not named stays")
	require.Equal(t, "spring", c.Term)
	w.call("root", "PATCH", "/classes/cs1", map[string]any{"term": "fall"}, "If-Match", etag).problem(http.StatusPreconditionFailed, core.CodeStale)
	w.call("root", "PATCH", "/classes/cs1", map[string]any{"term": "fall"}).is(http.StatusOK)
	w.call("root", "PATCH", "/classes/cs1", map[string]any{"handle": "cs2"}).problem(http.StatusUnprocessableEntity, core.CodeInvalid)

	var task core.Task
	a = w.call("root", "DELETE", "/classes/cs1", nil).is(http.StatusAccepted).into(&task)
	require.Equal(t, "/api/v1/tasks/"+task.ID, a.Header().Get("Location"))
}

func TestListsAreWalkedByCursor(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	next, seen := "/classes?limit=1", []string{}
	for next != "" {
		var page api.Page[classes.ClassEntry]
		a := w.call("root", "GET", next, nil).is(http.StatusOK).into(&page)
		for _, c := range page.Items {
			seen = append(seen, c.Handle)
		}
		next = ""
		if page.Next != "" {
			next = "/classes?limit=1&cursor=" + page.Next
			require.Equal(t, `</api/v1/classes?cursor=`+page.Next+`&limit=1>; rel="next"`, a.Header().Get("Link"))
		}
	}
	require.Equal(t, []string{"cs101", "cs202"}, seen)
}

func TestAssignments(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var as school.Assignment
	body := map[string]any{"handle": "hw1", "title": "First", "due_ms": theDue, "pool": pool}
	w.call("tess", "POST", "/classes/cs101/assignments", body).is(http.StatusCreated).into(&as)
	require.Equal(t, core.PriorityNormal, as.Priority)
	w.call("ann", "POST", "/classes/cs101/assignments", body).problem(http.StatusForbidden, core.CodeForbidden)
	w.call("eve", "GET", hw1, nil).problem(http.StatusNotFound, core.CodeNotFound)

	// A teacher's own deadline is told, and does not become everybody's.
	require.NoError(t, w.reg.SetDeadline(t.Context(), w.as("tess").Actor, school.Deadline{Class: "cs101", Assignment: "hw1", User: "tess", Due: theEnd}))
	var e classes.AssignmentEntry
	w.call("tess", "GET", hw1, nil).is(http.StatusOK).into(&e)
	require.Equal(t, theEnd, e.Due)
	w.call("tess", "PATCH", hw1, map[string]any{"text": "*Do it.*"}).is(http.StatusOK).into(&as)
	require.Equal(t, theDue, as.Due)
	require.Equal(t, "*Do it.*", as.Text)
	require.Equal(t, "First", as.Title)

	var page api.AssignmentPage
	for _, path := range []string{"/assignments", "/classes/cs101/assignments?all=true"} {
		w.call("ann", "GET", path, nil).is(http.StatusOK).into(&page)
		require.Len(t, page.Items, 1)
	}
	w.call("ann", "GET", "/find/assignment?query=mine/hw", nil).is(http.StatusOK).into(&as)
	require.Equal(t, "hw1", as.Handle)
	w.call("tess", "DELETE", hw1, nil).is(http.StatusAccepted)
}
