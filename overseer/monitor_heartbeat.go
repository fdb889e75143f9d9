package overseer

import (
	"context"
	"time"

	"drover/core"
)

// heartbeat is the monitor that judges hosts by their owners' heartbeats. It spares them after Redis' own start, and
// when most are late at once.
type heartbeat struct {
	hosts         core.Hosts
	suspect, down time.Duration // how late, after a heartbeat was due
	every         time.Duration
}

// Name implements Monitor.
func (h *heartbeat) Name() string { return "heartbeat" }

// Every implements Monitor.
func (h *heartbeat) Every() time.Duration { return h.every }

// Look implements Monitor.
func (h *heartbeat) Look(ctx context.Context, _ time.Duration) ([]News, error) {
	late, err := h.hosts.Judge(ctx, h.suspect, h.down)
	news := make([]News, len(late))
	for i, host := range late {
		news[i] = News{Host: host, Kind: Lost, By: h.Name(), Reason: "all its owners are late"}
	}
	return news, err
}

// Done implements Monitor. A host that is down is not reported again.
func (h *heartbeat) Done(context.Context, News) error { return nil }
