package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/service"
	"drover/core/service/metric"
)

// startOps runs an ops server until the test ends.
func startOps(t *testing.T, checks map[string]service.Check, metrics *metric.Set) *service.Ops {
	t.Helper()
	ops, err := service.NewOps("127.0.0.1:0", checks, metrics)
	require.NoError(t, err)
	g := service.Start(context.Background(), ops.Service())
	t.Cleanup(func() { require.NoError(t, g.Stop(context.Background())) })
	return ops
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	answer, err := client.Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, answer.Body.Close()) }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(body)
}

func TestHealthz(t *testing.T) {
	t.Parallel()
	fine := func(context.Context) error { return nil }
	for name, tc := range map[string]struct {
		checks map[string]service.Check
		status int
		want   []service.CheckReport
	}{
		"all fine": {
			map[string]service.Check{"store": fine, "redis": fine},
			http.StatusOK,
			[]service.CheckReport{{Name: "redis", OK: true}, {Name: "store", OK: true}},
		},
		"one fails": {
			map[string]service.Check{"store": fine, "redis": func(context.Context) error { return errors.New("away") }},
			http.StatusServiceUnavailable,
			[]service.CheckReport{{Name: "redis", Error: "away"}, {Name: "store", OK: true}},
		},
		"one panics": {
			map[string]service.Check{"odd": func(context.Context) error { panic("boom") }},
			http.StatusServiceUnavailable,
			[]service.CheckReport{{Name: "odd", Error: "the check panicked: boom"}},
		},
		"none": {nil, http.StatusOK, []service.CheckReport{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ops := startOps(t, tc.checks, &metric.Set{})
			status, body := get(t, "http://"+ops.Addr()+"/healthz")
			require.Equal(t, tc.status, status)
			var report service.HealthReport
			require.NoError(t, json.Unmarshal([]byte(body), &report))
			for i := range report.Checks {
				report.Checks[i].TookMs = 0
			}
			require.Equal(t, tc.want, report.Checks)
			require.Equal(t, tc.status == http.StatusOK, report.OK)
		})
	}
}

func TestAHangingCheckCostsOneGoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var calls atomic.Int32
		handler := service.HealthHandler(map[string]service.Check{"deaf": func(context.Context) error {
			calls.Add(1)
			<-release
			return nil
		}})
		ask := func() string {
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/healthz", nil))
			require.Equal(t, http.StatusServiceUnavailable, answer.Code)
			return answer.Body.String()
		}
		require.Contains(t, ask(), "no answer within 3s")
		for range 5 {
			require.Contains(t, ask(), "an earlier call of the check has not returned")
		}
		require.EqualValues(t, 1, calls.Load())
		close(release)
		synctest.Wait()
	})
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	metrics := &metric.Set{}
	metrics.Counter("drover_claims_total", "Claims.").Add(3)
	ops := startOps(t, nil, metrics)
	status, body := get(t, "http://"+ops.Addr()+"/metrics")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "drover_claims_total 3")
	status, _ = get(t, "http://"+ops.Addr()+"/")
	require.Equal(t, http.StatusNotFound, status)
}

func TestOpsAddressInUse(t *testing.T) {
	t.Parallel()
	ops, err := service.NewOps("127.0.0.1:0", nil, &metric.Set{})
	require.NoError(t, err)
	_, err = service.NewOps(ops.Addr(), nil, &metric.Set{})
	require.True(t, core.Is(err, core.CodeUnavailable), "%v", err)
	require.ErrorContains(t, err, "--metrics-listen")
	require.NoError(t, ops.Close())
}
