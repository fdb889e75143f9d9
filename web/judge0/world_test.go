package judge0_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drover/core"
	"drover/web/door/doortest"
	"drover/web/judge0"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const pool = "judge0"

// world is a door in the world of doors.
type world struct {
	*doortest.World

	t    *testing.T
	door *judge0.Door
}

func newWorld(t *testing.T, change ...func(*judge0.Settings, *core.Pool)) *world {
	t.Helper()
	p := core.DefaultPool(pool)
	p.Limits.Timeout, p.Limits.Memory, p.Limits.Pids = time.Minute, 1<<30, 200
	own := judge0.Settings{Pool: pool, Callbacks: doortest.Here(t), Version: "test"}
	for _, c := range change {
		c(&own, &p)
	}
	w := &world{World: doortest.New(t, p), t: t}
	w.open(own)
	return w
}

// open makes the door.
func (w *world) open(own judge0.Settings) {
	w.t.Helper()
	own.Keys = w
	var err error
	w.door, err = judge0.New(w.Parts, own)
	require.NoError(w.t, err)
}
