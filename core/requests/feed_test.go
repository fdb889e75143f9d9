package requests_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

// nextRead is a feed that tells which outputs are awaited by the read after the one that has a claim.
type nextRead struct {
	core.Feed
	begun   chan struct{} // closed at the first read, which has all that happens from then on
	begin   sync.Once
	claimed bool
	awaited chan map[core.OutputOf]string
}

func (f *nextRead) Next(ctx context.Context, event string, outputs map[core.OutputOf]string, wait time.Duration) ([]core.Event, []core.OutputOf, error) {
	f.begin.Do(func() { close(f.begun) })
	if f.claimed {
		select {
		case f.awaited <- outputs:
		default:
		}
	}
	events, more, err := f.Feed.Next(ctx, event, outputs, wait)
	f.claimed = false
	for i := range events {
		f.claimed = f.claimed || events[i].Claimed != ""
	}
	return events, more, err
}

// The common read that follows a claim awaits its output already: it may last.
func TestTheFirstOutputIsAwaitedFromTheClaimOn(t *testing.T) {
	t.Parallel()
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		w := fixtureOn(t, b)
		feed := &nextRead{Feed: w.cluster.Store, begun: make(chan struct{}), awaited: make(chan map[core.OutputOf]string, 1)}
		w.watchBy(feed)
		<-feed.begun
		v := w.submit("ann")
		ctx, stop := context.WithCancel(t.Context())
		followed := make(chan struct{})
		defer func() {
			stop()
			<-followed
		}()
		idle := make(chan struct{}, 100)
		go func() {
			defer close(followed)
			for e, err := range w.service.Follow(ctx, as("ann"), v.ID, "") {
				if err == nil && e.Kind == "idle" {
					idle <- struct{}{}
				}
			}
		}()
		<-idle
		c := w.claim()
		require.Contains(t, <-feed.awaited, core.OutputOf{Key: c.Key, Token: c.Token})
	})
}
