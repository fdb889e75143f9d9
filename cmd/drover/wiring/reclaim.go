package wiring

import (
	"context"
	"time"

	"drover/core/cloud"
	"drover/core/cluster/reclaim"
	"drover/core/service"
	"drover/core/service/clock"
)

// takenBack drains this host once its provider takes its machine back.
func takenBack(s Surroundings) service.Service {
	host := reclaim.Host{
		Name: s.Cluster.Config.Host, Store: s.Cluster.Store, Drain: s.Cluster.Redis.Drain, Now: s.Cluster.Now, Clock: clock.Real{}, Hears: cloud.Noticed,
		Warn: func(err error, text string) {
			if err != nil {
				s.Log.WithError(err).Warn(text)
				return
			}
			s.Log.Warn(text)
		},
		Wait: func(ctx context.Context) (time.Duration, error) {
			n, err := cloud.WaitNotice(ctx, cloud.MetadataURL(), clock.Real{})
			return n.Left(time.Now()), err
		},
	}
	return service.Service{Name: "spot notice", Run: host.Run}
}
