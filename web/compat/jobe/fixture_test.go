package jobe_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drover/core"
	"drover/web/compat/compattest"
	"drover/web/compat/jobe"
	"drover/web/services"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const pool = "jobe"

// fixture is a compatible API in the fixture of compatible APIs.
type fixture struct {
	*compattest.Fixture

	t   *testing.T
	api *jobe.API
	now time.Time
}

func newFixture(t *testing.T, change ...func(*services.Deps, *jobe.Settings, *core.Pool)) *fixture {
	t.Helper()
	p := core.DefaultPool(pool)
	p.Limits.Timeout, p.Limits.Memory, p.Limits.Pids = time.Minute, 1<<30, 300
	own := jobe.Settings{Pool: pool}
	var deps services.Deps
	for _, c := range change {
		c(&deps, &own, &p)
	}
	w := &fixture{Fixture: compattest.New(t, p), t: t, now: time.Now()}
	w.Deps.Now = func() time.Time { return w.now }
	if deps.Limits != nil {
		w.Deps.Limits = deps.Limits
	}
	own.Keys, own.Cache = w, w.Cluster.Store
	var err error
	w.api, err = jobe.New(w.Deps, own)
	require.NoError(t, err)
	return w
}

// step is one call of a recorded conversation. In what is expected "*" is anything.
type step struct {
	Note   string          `json:"note"` // what it shows
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Key    string          `json:"key"` // ann's, if there is none
	Body   json.RawMessage `json:"body"`
	Status int             `json:"status"`
	Answer json.RawMessage `json:"answer"`
}

// ask makes one call, with the headers that CodeRunner sends.
func (w *fixture) ask(s step) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequestWithContext(w.t.Context(), s.Method, s.Path, strings.NewReader(string(s.Body)))
	for name, value := range map[string]string{
		"User-Agent": "CodeRunner", "Content-Type": "application/json; charset=utf-8", "Accept": "application/json", "X-CodeRunner-Job-Id": "0badcafe",
	} {
		r.Header.Set(name, value)
	}
	switch s.Key {
	case "":
		r.Header.Set("X-API-KEY", "ann")
	case "none":
	default:
		r.Header.Set("X-API-KEY", s.Key)
	}
	rec := httptest.NewRecorder()
	w.api.ServeHTTP(rec, r)
	return rec
}

type answer struct {
	ID      string `json:"run_id"`
	Outcome int    `json:"outcome"`
	Compile string `json:"cmpinfo"`
	Stdout  string `json:"stdout"`
	Stderr  string `json:"stderr"`
}

// runs sends a run and returns its result.
func (w *fixture) runs(spec string) answer {
	w.t.Helper()
	rec := w.ask(step{Method: http.MethodPost, Path: "/index.php/restapi/runs", Body: json.RawMessage(`{"run_spec": ` + spec + `}`)})
	require.Equal(w.t, http.StatusOK, rec.Code, rec.Body)
	var a answer
	require.NoError(w.t, json.Unmarshal(rec.Body.Bytes(), &a), rec.Body)
	return a
}

// refused sends a run that is refused and returns the text.
func (w *fixture) refused(status int, spec string) string {
	w.t.Helper()
	rec := w.ask(step{Method: http.MethodPost, Path: "/index.php/restapi/runs", Body: json.RawMessage(`{"run_spec": ` + spec + `}`)})
	require.Equal(w.t, status, rec.Code, rec.Body)
	var text string
	require.NoError(w.t, json.Unmarshal(rec.Body.Bytes(), &text), rec.Body)
	return text
}
