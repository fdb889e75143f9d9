package api_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sirupsen/logrus"
	logged "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
	"drover/web/api"
	"drover/web/caller"
	"drover/web/services"
)

func TestProblemsAreWrittenSo(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for want, a := range map[string]answer{
		`{"type":"/api/docs#problem-NOTFOUND","title":"Not Found","status":404,"detail":"there is no class \"cs9\"","code":"NOTFOUND","id":"cs9"}`:                                                                                                            w.call("ann", "GET", "/classes/cs9", nil),
		`{"type":"/api/docs#problem-FORBIDDEN","title":"Forbidden","status":403,"detail":"ann may not do that in class cs101 (class.edit)","code":"FORBIDDEN","id":"ann"}`:                                                                                    w.call("ann", "PATCH", "/classes/cs101", object{"title": "Mine"}),
		`{"type":"/api/docs#problem-INVALID","title":"Unprocessable Entity","status":422,"detail":"the request is wrong: validation failed: expected string (body.title)","code":"INVALID","errors":[{"location":"body.title","message":"expected string"}]}`: w.call("root", "PATCH", "/classes/cs101", object{"title": 7}),
	} {
		require.Equal(t, "application/problem+json", a.Header().Get("Content-Type"))
		require.JSONEq(t, want, a.Body.String())
	}
}

// broken is a store that does not answer, and says why in words that are nobody's business.
type broken struct{ classes.Store }

var errSecret = errors.New("dial tcp 10.0.0.1: password hunter2 refused")

func (broken) GetClass(context.Context, string) (school.Class, error) {
	return school.Class{}, core.Wrap(errSecret, core.CodeUnavailable, "store-1", "the store does not answer")
}

func (broken) GetUser(context.Context, string) (school.User, error) { return school.User{}, errSecret }

func TestCausesAreLoggedAndNotTold(t *testing.T) {
	t.Parallel()
	log, entries := logged.NewNullLogger()
	log.SetLevel(logrus.ErrorLevel)
	w := newFixture(t, func(p *services.Deps) {
		other := *p.Classes
		other.Store, p.Classes, p.Log = broken{other.Store}, &other, log
	})
	a := w.call("ann", "GET", "/classes/cs101", nil)
	a.problem(http.StatusServiceUnavailable, core.CodeUnavailable)
	require.Equal(t, "10", a.Header().Get("Retry-After"))
	b := w.call("ann", "GET", "/me", nil)
	b.problem(http.StatusInternalServerError, core.CodeInternal)
	for _, one := range []answer{a, b} {
		require.NotContains(t, one.Body.String(), "hunter2")
		require.NotContains(t, one.Body.String(), "store-1")
	}
	require.Len(t, entries.AllEntries(), 2)
	require.Equal(t, "viewClass", entries.AllEntries()[0].Data["operation"])
}

// FuzzAnyPath calls what may or may not be there: nothing is a fault of the site, nothing
// is changed, and what is refused is a problem.
func FuzzAnyPath(f *testing.F) {
	for _, op := range api.Operations() {
		f.Add(strings.ReplaceAll(op.Path, "{class}", "cs101"), "limit=1")
	}
	f.Add("/classes/../../etc/passwd", "limit=-1&limit=2")
	f.Add("/classes/%00", "cursor=%ff")
	f.Add("/submissions/\u202e/files/..%2f", "a[b]=c")
	w := newFixture(f)
	root := w.as("root")
	f.Fuzz(func(t *testing.T, path, query string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://drover.example.org"+api.Prefix+path+"?"+query, http.NoBody)
		if err != nil {
			t.Skip("no URL")
		}
		rec := httptest.NewRecorder()
		w.api.ServeHTTP(rec, r.WithContext(caller.With(r.Context(), root)))
		a := answer{rec, t}
		assert.Less(t, a.Code, http.StatusInternalServerError, "%s", a.Body)
		if a.Code >= http.StatusBadRequest {
			var p api.Problem
			a.into(&p)
			assert.NotEmpty(t, p.Detail)
			assert.LessOrEqual(t, len(p.ID), 200)
			assert.True(t, utf8.Valid(a.Body.Bytes()))
		}
	})
}

func TestWritingAProblemOfAnyText(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	long := strings.Repeat("ü", 3000)
	p := w.call("ann", "GET", "/classes/"+long, nil).problem(http.StatusNotFound, core.CodeNotFound)
	require.LessOrEqual(t, len(p.ID), 200)
	rec := httptest.NewRecorder()
	w.api.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/api/v1/"+long, http.NoBody))
	require.Equal(t, http.StatusNotFound, rec.Code)
}
