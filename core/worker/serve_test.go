package worker_test

import (
	"context"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"
	"drover/core/worker"

	"github.com/stretchr/testify/require"
)

func TestServeTakesWorkFromNewPools(t *testing.T) {
	t.Parallel()
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		h := coretest.NewCluster(t, b.Open(t), "h1", "p1")
		h.AddVMs(t, 1)
		h.Submit(t, coretest.Spec("r1", "p1", "ann"))
		own, _, err := worker.Open(context.Background(), h.Store, h.Store, worker.Config{
			Registration: core.Registration{Owner: "testrunner@h1#1", Host: "h1", Machine: "m-h1", Beat: time.Minute},
			Pools:        []string{"p2"}, Poll: time.Minute,
		})
		require.NoError(t, err)
		require.Equal(t, core.CodeInvalid, core.CodeOf(own.Serve(nil)))
		require.Equal(t, core.CodeInvalid, core.CodeOf(own.Serve([]string{"No Name"})))
		got := make(chan *worker.Work)
		go func() {
			w, err := own.Next(context.Background())
			if err == nil {
				got <- w
			}
			close(got)
		}()
		require.Eventually(t, func() bool { return own.Stats().Calls > 0 }, 5*time.Minute, time.Millisecond, "it asked for work of p2")
		require.NoError(t, own.Serve([]string{"p2", "p1"}))
		w := <-got
		require.NotNil(t, w)
		require.Equal(t, "r1-1", w.Key)
		moved, err := own.Finish(context.Background(), w, core.OutcomeDone)
		require.NoError(t, err)
		require.True(t, moved)
		require.NoError(t, own.Close(context.Background()))
	})
}
