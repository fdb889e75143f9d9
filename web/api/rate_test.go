package api_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/web/api"
	"drover/web/services"
)

// meter allows few calls of each name.
type meter struct {
	mu    sync.Mutex
	most  int
	taken map[string]int
	err   error
}

func (m *meter) Take(_ context.Context, name string, _ core.Rate, n int) (core.Allowance, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.taken == nil {
		m.taken = map[string]int{}
	}
	m.taken[name] += n
	left := m.most - m.taken[name]
	if left < 0 {
		return core.Allowance{Retry: 1500 * time.Millisecond, Reset: 10 * time.Second}, m.err
	}
	return core.Allowance{Allowed: true, Remaining: left, Reset: time.Second}, m.err
}

func limited(m *meter) func(p *services.Deps) { return func(p *services.Deps) { p.Limits = m } }

func TestWhoCallsTooOftenHasToWait(t *testing.T) {
	t.Parallel()
	m := &meter{most: 2}
	w := newFixture(t, limited(m))
	a := w.call("ann", "GET", "/me", nil).is(http.StatusOK)
	require.Equal(t, `"user";q=200;w=10`, a.Header().Get("RateLimit-Policy"))
	require.Equal(t, `"user";r=1;t=1`, a.Header().Get("RateLimit"))
	w.call("ann", "GET", "/classes", nil).is(http.StatusOK)
	a = w.call("ann", "GET", "/me", nil)
	a.problem(http.StatusTooManyRequests, core.CodeFull)
	require.Equal(t, "2", a.Header().Get("Retry-After"))
	require.Equal(t, `"user";r=0;t=10`, a.Header().Get("RateLimit"))
	w.call("cleo", "GET", "/me", nil).is(http.StatusOK)
	require.Equal(t, map[string]int{"api-user:ann": 3, "api-user:cleo": 1}, m.taken)
}

func TestWhoIsUnknownIsCountedByAddress(t *testing.T) {
	t.Parallel()
	m := &meter{most: 1}
	w := newFixture(t, limited(m))
	from := func(addr string) answer {
		r := httptest.NewRequest(http.MethodGet, api.Prefix+"/me", http.NoBody)
		r.RemoteAddr = addr
		return w.send(nil, r)
	}
	from("192.0.2.1:1000").problem(http.StatusUnauthorized, core.CodeForbidden)
	from("192.0.2.1:1001").problem(http.StatusTooManyRequests, core.CodeFull)
	from("192.0.2.2:1000").problem(http.StatusUnauthorized, core.CodeForbidden)
	from("[2001:db8::1]:1000").problem(http.StatusUnauthorized, core.CodeForbidden)
	from("[2001:db8::2]:1000").problem(http.StatusTooManyRequests, core.CodeFull)
}

func TestCallsPassWhereNobodyCounts(t *testing.T) {
	t.Parallel()
	w := newFixture(t, limited(&meter{err: errors.New("redis is gone")}))
	w.call("ann", "GET", "/me", nil).is(http.StatusOK)
}
