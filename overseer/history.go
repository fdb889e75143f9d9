package overseer

import (
	"context"
	"errors"

	"drover/core/cluster/history"
)

// history copies changes of state into the result store.
func (o *Overseer) history(ctx context.Context) (Counts, error) {
	done, err := history.Copier{Events: o.deps.History.Events, Store: o.deps.Store, Now: o.now}.Run(ctx)
	if done.Gaps > 0 {
		o.log.Warn("Redis was wiped or set back, or dropped events before they were copied: the history has a gap")
	}
	return Counts{"copied": done.Changes, "gaps": done.Gaps}, err
}

// statistics samples the cluster, counts what ended, and deletes what is old. Redis may be away while results are
// counted, and the other way round.
func (o *Overseer) statistics(ctx context.Context) (Counts, error) {
	c := history.Counter{
		Store: o.deps.Store, Cluster: history.Cluster{Hosts: o.deps.Hosts.ListHosts, Waiting: o.deps.Queue.Waiting},
		Now: o.clock.Now, Keep: o.cfg.KeepHistory,
	}
	sampled := c.Sample(ctx)
	counted, err := c.Count(ctx)
	trimmed, untrimmed := c.Trim(ctx)
	return Counts{"counted": counted, "trimmed": trimmed}, errors.Join(sampled, err, untrimmed)
}
