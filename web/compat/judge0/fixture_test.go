package judge0_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drover/core"
	"drover/web/compat/compattest"
	"drover/web/compat/judge0"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const pool = "judge0"

// fixture is a compatible API in the fixture of compatible APIs.
type fixture struct {
	*compattest.Fixture

	t   *testing.T
	api *judge0.API
}

func newFixture(t *testing.T, change ...func(*judge0.Settings, *core.Pool)) *fixture {
	t.Helper()
	p := core.DefaultPool(pool)
	p.Limits.Timeout, p.Limits.Memory, p.Limits.Pids = time.Minute, 1<<30, 200
	own := judge0.Settings{Pool: pool, Callbacks: compattest.Here(t), Version: "test"}
	for _, c := range change {
		c(&own, &p)
	}
	w := &fixture{Fixture: compattest.New(t, p), t: t}
	w.open(own)
	return w
}

// open makes the compatible API.
func (w *fixture) open(own judge0.Settings) {
	w.t.Helper()
	own.Keys = w
	var err error
	w.api, err = judge0.New(w.Deps, own)
	require.NoError(w.t, err)
}
