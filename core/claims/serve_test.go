package claims_test

import (
	"testing"
	"testing/synctest"
	"time"

	"drover/core"

	"github.com/stretchr/testify/require"
)

func TestServeAsksAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.addVMs(1)
		d := open(t, f, config(1))
		idle := make(chan struct{})
		go func() {
			defer close(idle)
			if w, err := d.Next(t.Context()); err != nil {
				t.Error(err)
			} else if _, err := d.Finish(t.Context(), w, core.OutcomeDone); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		f.mu.Lock()
		f.queue = append(f.queue, "a-1") // of the new pool: its ring is long gone
		f.mu.Unlock()
		began := time.Now()
		require.Equal(t, core.CodeInvalid, core.CodeOf(d.Serve(nil)))
		require.Equal(t, core.CodeInvalid, core.CodeOf(d.Serve([]string{"A B"})))
		require.NoError(t, d.Serve([]string{"p8", "p9"}))
		<-idle
		require.Zero(t, time.Since(began))
		closeDesk(t, d)
		for _, x := range f.exchanged {
			if len(x.Finish) > 0 {
				return
			}
			require.Contains(t, [][]string{{"p1"}, {"p8", "p9"}, {"p9", "p8"}}, x.Pools)
		}
	})
}
