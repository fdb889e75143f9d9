package service_test

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core/service"
)

// Signals reach every listener of the process, so these tests do not run side by side.

//nolint:paralleltest // see above
func TestSignals(t *testing.T) {
	self, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)

	for name, sig := range map[string]os.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": os.Interrupt} {
		t.Run(name+" drains", func(t *testing.T) {
			signals := service.Listen()
			defer signals.Close()
			w := newWorker()
			notices, ended := make(chan string, 2), make(chan error, 1)
			started := make(chan struct{})
			go func() {
				ended <- signals.Run(context.Background(), time.Hour, func(s string) { notices <- s }, w.service("worker"),
					service.Service{Name: "heart", Run: func(ctx context.Context) error { close(started); return untilDone(ctx) }})
			}()
			<-started
			require.NoError(t, self.Signal(sig))
			require.Contains(t, <-notices, "finishing what is in hand, for at most 1h0m0s")
			<-w.drained
			close(w.work)
			require.NoError(t, <-ended)
			require.False(t, w.cut.Load())
		})
	}

	t.Run("a second one stops at once", func(t *testing.T) {
		signals := service.Listen()
		defer signals.Close()
		w := newWorker()
		notices, ended := make(chan string, 2), make(chan error, 1)
		started := make(chan struct{})
		go func() {
			ended <- signals.Run(context.Background(), time.Hour, func(s string) { notices <- s }, w.service("worker"),
				service.Service{Name: "heart", Run: func(ctx context.Context) error { close(started); return untilDone(ctx) }})
		}()
		<-started
		require.NoError(t, self.Signal(syscall.SIGTERM))
		<-notices
		require.NoError(t, self.Signal(syscall.SIGTERM))
		require.Contains(t, <-notices, "stopping at once")
		require.NoError(t, <-ended)
		require.True(t, w.cut.Load())
	})

	t.Run("a failure needs no signal", func(t *testing.T) {
		signals := service.Listen()
		defer signals.Close()
		err := signals.Run(context.Background(), time.Hour, func(string) {},
			service.Service{Name: "loop", Run: func(context.Context) error { return errors.New("broke") }})
		require.ErrorContains(t, err, "broke")
	})

	t.Run("one that comes before anything runs ends the start", func(t *testing.T) {
		signals := service.Listen()
		defer signals.Close()
		ctx := signals.Starting(context.Background())
		require.False(t, signals.Asked())
		require.NoError(t, self.Signal(syscall.SIGTERM))
		<-ctx.Done()
		require.True(t, signals.Asked())
		var notices []string
		err := signals.Run(context.Background(), time.Hour, func(s string) { notices = append(notices, s) },
			service.Service{Name: "loop", Run: func(context.Context) error { panic("it ran") }})
		require.NoError(t, err)
		require.Equal(t, []string{"asked to stop before it had started"}, notices)
	})

	t.Run("one that comes later leaves what was opened", func(t *testing.T) {
		signals := service.Listen()
		defer signals.Close()
		ctx := signals.Starting(context.Background())
		w := newWorker()
		ended, started := make(chan error, 1), make(chan struct{})
		go func() {
			ended <- signals.Run(ctx, time.Hour, func(string) {}, w.service("worker"),
				service.Service{Name: "heart", Run: func(ctx context.Context) error { close(started); return untilDone(ctx) }})
		}()
		<-started
		require.NoError(t, self.Signal(syscall.SIGTERM))
		<-w.drained
		require.NoError(t, ctx.Err())
		close(w.work)
		require.NoError(t, <-ended)
	})
}
