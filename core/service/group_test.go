package service_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/service"
)

// untilDone is a loop that ends with its context.
func untilDone(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// worker is a loop that holds work: it returns once it was drained and its work is done.
type worker struct {
	drained, work chan struct{}
	cut           atomic.Bool // its context ended first
}

func newWorker() *worker {
	return &worker{drained: make(chan struct{}), work: make(chan struct{})}
}

func (w *worker) service(name string) service.Service {
	return service.Service{
		Name: name, Drain: func() { close(w.drained) },
		Run: func(ctx context.Context) error {
			for _, step := range []chan struct{}{w.drained, w.work} {
				select {
				case <-step:
				case <-ctx.Done():
					w.cut.Store(true)
					return nil
				}
			}
			return nil
		},
	}
}

func TestStopDrainsFirstAndKeepsTheOthersUntilThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorker()
		beats := make(chan struct{})
		g := service.Start(context.Background(), w.service("worker"), service.Service{Name: "heart", Run: func(ctx context.Context) error {
			defer close(beats)
			return untilDone(ctx)
		}})
		stopped := make(chan error, 2)
		for range 2 {
			go func() { stopped <- g.Stop(context.Background()) }()
		}
		synctest.Wait()
		<-w.drained
		select {
		case <-beats:
			t.Fatal("the heart stopped while work was in hand")
		case <-g.Done():
			t.Fatal("the group ended while work was in hand")
		default:
		}
		close(w.work)
		require.NoError(t, <-stopped)
		require.NoError(t, <-stopped)
		<-beats
		require.False(t, w.cut.Load())
		require.NoError(t, g.Stop(context.Background()), "again")
	})
}

func TestStopCutsADrainThatTakesTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorker()
		g := service.Start(context.Background(), w.service("worker"))
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		began := time.Now()
		require.NoError(t, g.Stop(ctx))
		require.Equal(t, time.Minute, time.Since(began))
		require.True(t, w.cut.Load())
	})
}

func TestFirstFailureStopsAll(t *testing.T) {
	t.Parallel()
	broken := core.Errorf(core.CodeUnavailable, "redis", "Redis is away")
	for name, tc := range map[string]struct {
		run  func(context.Context) error
		code core.Code
		want string
	}{
		"error":          {func(context.Context) error { return broken }, core.CodeUnavailable, "loop failed: Redis is away"},
		"foreign error":  {func(context.Context) error { return errors.New("odd") }, core.CodeInternal, "loop failed: odd"},
		"panic":          {func(context.Context) error { panic("boom") }, core.CodeInternal, "loop panicked: boom"},
		"left goroutine": {func(context.Context) error { runtime.Goexit(); return nil }, core.CodeInternal, "loop panicked"},
		"silent end":     {func(context.Context) error { return nil }, core.CodeInternal, "loop ended by itself"},
		"foreign context": {func(context.Context) error {
			return context.Canceled // not its own: nobody cancelled it
		}, core.CodeInternal, "loop failed: context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorker()
			g := service.Start(context.Background(),
				service.Service{Name: "loop", Run: tc.run}, w.service("worker"), service.Service{Name: "heart", Run: untilDone})
			err := g.Wait()
			require.ErrorContains(t, err, tc.want)
			require.Equal(t, tc.code, core.CodeOf(err))
			require.True(t, w.cut.Load())
			require.Equal(t, err, g.Stop(context.Background()))
		})
	}
}

func TestPanicKeepsItsStack(t *testing.T) {
	t.Parallel()
	g := service.Start(context.Background(), service.Service{Name: "loop", Run: func(context.Context) error { panic("boom") }})
	require.ErrorContains(t, g.Wait(), "group_test.go")
}

func TestFailuresWhileStoppingAreKept(t *testing.T) {
	t.Parallel()
	late := func(text string) func(context.Context) error {
		return func(ctx context.Context) error {
			<-ctx.Done()
			return errors.New(text)
		}
	}
	g := service.Start(context.Background(), service.Service{Name: "a", Run: late("lost a slot")}, service.Service{Name: "b", Run: late("lost a lock")})
	err := g.Stop(context.Background())
	require.ErrorContains(t, err, "lost a slot")
	require.ErrorContains(t, err, "lost a lock")
}

func TestEndOfTheContextStopsWithoutDraining(t *testing.T) {
	t.Parallel()
	w := newWorker()
	ctx, cancel := context.WithCancel(context.Background())
	g := service.Start(ctx, w.service("worker"))
	cancel()
	require.NoError(t, g.Wait())
	require.True(t, w.cut.Load())
}

func TestALoopThatWillNotStopIsNamedAndLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		g := service.Start(context.Background(),
			service.Service{Name: "deaf", Run: func(context.Context) error { <-release; return nil }},
			service.Service{Name: "heart", Run: untilDone})
		began := time.Now()
		require.ErrorContains(t, g.Stop(context.Background()), "deaf did not stop within 30s")
		require.Equal(t, service.StopTimeout, time.Since(began))
		close(release)
		synctest.Wait()
		require.ErrorContains(t, g.Wait(), "deaf did not stop")
	})
}

func TestEmptyGroupHasEnded(t *testing.T) {
	t.Parallel()
	g := service.Start(context.Background())
	<-g.Done()
	require.NoError(t, g.Stop(context.Background()))
}

// TestStress starts and stops groups from many sides at once; the race detector
// and goleak look on.
func TestStress(t *testing.T) {
	t.Parallel()
	for i := range 200 {
		ctx, cancel := context.WithCancel(context.Background())
		w := newWorker()
		close(w.work)
		services := []service.Service{w.service("worker"), {Name: "heart", Run: untilDone}, {Name: "page", Run: untilDone}}
		failing := i%4 == 0
		if failing {
			services = append(services, service.Service{Name: "broken", Run: func(context.Context) error { return errors.New("broke") }})
		}
		g := service.Start(ctx, services...)
		var all sync.WaitGroup
		errs := make(chan error, 20)
		for n := range cap(errs) {
			all.Go(func() {
				if n == 7 && i%3 == 0 {
					cancel()
				}
				if n%2 == 0 {
					errs <- g.Stop(context.Background())
				} else {
					errs <- g.Wait()
				}
			})
		}
		all.Wait()
		close(errs)
		first := g.Wait()
		for err := range errs {
			require.Equal(t, first, err)
		}
		if failing {
			require.ErrorContains(t, first, "broke")
		} else {
			require.NoError(t, first)
		}
		cancel()
	}
}
