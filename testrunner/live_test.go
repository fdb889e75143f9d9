package testrunner

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/service/clock"
)

// slowOutput holds every append until it is let go, and can refuse.
type slowOutput struct {
	core.Output
	came chan struct{} // an append has begun
	let  chan error    // how it ends

	mu     sync.Mutex
	chunks []core.OutputChunk
}

func newSlowOutput() *slowOutput {
	return &slowOutput{came: make(chan struct{}), let: make(chan error)}
}

func (o *slowOutput) Append(_ context.Context, _, _ string, chunks []core.OutputChunk) error {
	o.came <- struct{}{}
	err := <-o.let
	if err == nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.chunks = append(o.chunks, chunks...)
	}
	return err
}

func (o *slowOutput) text(stream string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var b strings.Builder
	for _, c := range o.chunks {
		if c.Stream == stream {
			b.Write(c.Data)
		}
	}
	return b.String()
}

// serveRest lets everything through from now on.
func (o *slowOutput) serveRest() {
	go func() {
		for range o.came {
			o.let <- nil
		}
	}()
}

func TestLiveThatCannotKeepUpIsABeginning(t *testing.T) {
	t.Parallel()
	out := newSlowOutput()
	l := startLive(out, clock.Real{}, "r-1", "1.1")
	l.add("stdout", []byte("first,"))
	<-out.came // under way and slow
	piece := []byte(strings.Repeat("x", 1000))
	for range 2 * liveBacklog / len(piece) {
		l.add("stdout", piece) // never blocks
	}
	l.add("stdout", []byte("never seen"))
	out.let <- nil
	out.serveRest()
	l.close()
	got := out.text("stdout")
	assert.True(t, strings.HasPrefix(got, "first,x"))
	assert.NotContains(t, got, "never")
	assert.Greater(t, len(got), liveBacklog-2*len(piece))
	assert.LessOrEqual(t, len(got), liveBacklog+len("first,"))
	require.NoError(t, l.end(core.RequestCompleted))
	assert.Equal(t, "completed", out.text(StreamEnd))
	close(out.came)
}

// After an append whose fate is not known nothing may follow but the end.
func TestLiveAfterAFailureIsABeginning(t *testing.T) {
	t.Parallel()
	out := newSlowOutput()
	l := startLive(out, clock.Real{}, "r-1", "1.1")
	l.add("stdout", []byte("a"))
	<-out.came
	l.add("stdout", []byte("b"))
	out.let <- core.Errorf(core.CodeUnavailable, "", "no Redis")
	out.serveRest()
	require.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.broken
	}, 5*time.Minute, time.Millisecond)
	l.add("stdout", []byte("c"))
	l.close()
	assert.Empty(t, out.text("stdout"))
	close(out.came)
}

// Between two appends there is a pause; what comes meanwhile goes along.
func TestLivePauses(t *testing.T) {
	t.Parallel()
	out, c := newSlowOutput(), clock.NewManual(time.UnixMilli(0))
	l := startLive(out, c, "r-1", "1.1")
	for round, text := range []string{"a", "b"} {
		l.add("stdout", []byte(text))
		<-out.came
		out.let <- nil
		require.Eventually(t, func() bool { return c.Sleepers() == 1 }, 5*time.Minute, time.Millisecond)
		l.add("stderr", []byte(text))
		l.add("stdout", []byte("+"))
		assert.Equal(t, "a+b+"[:2*round+1], out.text("stdout"))
		c.Advance(liveEvery)
		<-out.came
		out.let <- nil
		require.Eventually(t, func() bool { return c.Sleepers() == 1 }, 5*time.Minute, time.Millisecond)
		c.Advance(liveEvery)
	}
	l.close()
	assert.Equal(t, "a+b+", out.text("stdout"))
	assert.Equal(t, "ab", out.text("stderr"))
}
