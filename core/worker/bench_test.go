package worker_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"drover/core"
	"drover/core/worker"
)

// endless is a Redis that always has work and answers at once: what is left is the worker.
type endless struct{ core.Owners }

func (endless) Register(context.Context, core.Registration) (core.Registered, error) {
	return core.Registered{Epoch: 1}, nil
}
func (endless) Deregister(context.Context, string, int64) error { return nil }
func (endless) Progress(context.Context, string, int64, string, string, string, time.Duration) error {
	return nil
}

func (endless) Beat(context.Context, string, int64, time.Duration) (core.Beat, error) {
	return core.Beat{Slots: -1, Ready: true}, nil
}

func (endless) Reclaim(_ context.Context, _, _ string, _ int64, _ string, claims []core.HeldClaim) (core.Reclaimed, error) {
	return core.Reclaimed{Held: make([]bool, len(claims))}, nil
}

func (endless) Wait(ctx context.Context, _, _ string, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

func (endless) Exchange(_ context.Context, x core.Exchange) (core.Exchanged, error) {
	out := core.Exchanged{Finished: make([]bool, len(x.Finish)), Claims: make([]core.Claim, x.Want), Slots: -1, Ready: true}
	for i := range out.Finished {
		out.Finished[i] = true
	}
	for i := range out.Claims {
		out.Claims[i].Key = strconv.FormatInt(x.TokenBase+int64(i), 10)
	}
	return out, nil
}

// BenchmarkWorker shows what the worker itself costs a job.
func BenchmarkWorker(b *testing.B) {
	for _, slots := range []int{1, 100, 1000} {
		b.Run(strconv.Itoa(slots), func(b *testing.B) {
			d, _, err := worker.Open(b.Context(), endless{}, endless{}, config(slots))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			var workers sync.WaitGroup
			for i := range slots {
				jobs := b.N / slots
				if i < b.N%slots {
					jobs++
				}
				workers.Go(func() {
					if jobs == 0 {
						return
					}
					w, err := d.Next(context.Background())
					for ; err == nil && jobs > 1; jobs-- {
						w, _, err = d.FinishNext(context.Background(), w, core.OutcomeDone)
					}
					if err == nil {
						_, err = d.Finish(context.Background(), w, core.OutcomeDone)
					}
					if err != nil {
						b.Error(err)
					}
				})
			}
			workers.Wait()
			b.ReportMetric(float64(d.Stats().Calls)/float64(b.N), "calls/op")
			b.StopTimer()
			if err := d.Close(context.Background()); err != nil {
				b.Error(err)
			}
		})
	}
}
