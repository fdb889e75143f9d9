package operate

import (
	"context"

	"drover/core"
)

// mostTurns is how many submitters of a queue are read.
const mostTurns = 20

// Queue is the waiting work of one pool and priority.
type Queue struct {
	core.QueueInfo

	Turns  []core.Turn `json:"turns"`     // the next turns, at most twenty
	Oldest int64       `json:"oldest_ms"` // when the oldest request of those turns was submitted, ms since 1970; 0 if there is none
	All    bool        `json:"all"`       // Turns has all submitters
}

// Queues is all waiting work of the cluster.
type Queues struct {
	At     int64                `json:"at_ms"`
	Queues []Queue              `json:"queues"` // in order of pool, then from the highest priority
	Tasks  []core.TaskQueueInfo `json:"tasks"`
}

// Queues reads the waiting work and the next turns. Returns FORBIDDEN, UNAVAILABLE.
func (o *Service) Queues(ctx context.Context, a core.Actor) (Queues, error) {
	if err := o.Watch(a); err != nil {
		return Queues{}, err
	}
	return o.queues.get(ctx, o.now, freshFor, func(ctx context.Context) (Queues, error) {
		v := Queues{At: o.now().UnixMilli()}
		counts, err := o.Cluster.Waiting(ctx)
		if err != nil {
			return v, err
		}
		turns, err := o.Cluster.Turns(ctx, counts, mostTurns)
		if err != nil {
			return v, err
		}
		v.Queues = make([]Queue, len(counts))
		for i, c := range counts {
			q := Queue{QueueInfo: c, Turns: turns[i], All: c.Submitters <= len(turns[i])}
			for _, t := range turns[i] {
				if t.Since > 0 && (q.Oldest == 0 || t.Since < q.Oldest) {
					q.Oldest = t.Since
				}
			}
			v.Queues[i] = q
		}
		v.Tasks, err = o.Cluster.TaskQueues(ctx)
		return v, err
	})
}
