package testrunner

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/service/clock"
)

// Marks leave at whole seconds, whenever tests end, and the newest stand for all.
func TestMarksLeaveAtTheirTimes(t *testing.T) {
	t.Parallel()
	out, c := newSlowOutput(), clock.NewManual(time.UnixMilli(0))
	l := startLive(out, c, "r-1", "1.1")
	l.mark([]byte("f.."))
	l.mark([]byte("fx."))
	go func() {
		for range out.came {
			out.let <- nil
		}
	}()
	at := time.Duration(0) // before the marks left
	require.Eventually(t, func() bool {
		if out.text(core.StreamTests) != "" {
			return true
		}
		at = c.Now().Sub(time.UnixMilli(0))
		c.Advance(100 * time.Millisecond)
		return false
	}, time.Minute, time.Millisecond)
	assert.Equal(t, "fx.", out.text(core.StreamTests), "what was replaced is not sent")
	assert.GreaterOrEqual(t, at, marksEvery-100*time.Millisecond)
	l.mark([]byte("fxs"))
	l.close()
	assert.Equal(t, "fx.", out.text(core.StreamTests), "the result follows")
	require.NoError(t, l.end(core.RequestCompleted))
	close(out.came)
	for _, chunk := range out.chunks {
		assert.Zero(t, chunk.Offset, "marks are no output")
	}
}
