package operate

import (
	"context"

	"drover/core"
)

// mostTurns is how many submitters of a queue are looked at.
const mostTurns = 20

// Queue is what waits of a pool in a class.
type Queue struct {
	core.QueueInfo

	Turns  []core.Turn `json:"turns"`     // whose turn is next, at most twenty
	Oldest int64       `json:"oldest_ms"` // when the request of those turns that waits longest was submitted; 0 if none does
	All    bool        `json:"all"`       // the turns are those of all its submitters
}

// Queues is what waits in the cluster.
type Queues struct {
	At     int64                `json:"at_ms"`
	Queues []Queue              `json:"queues"` // of the pools by name, in each from the heaviest class
	Tasks  []core.TaskQueueInfo `json:"tasks"`
}

// Queues reads what waits, and whose turn is next. Returns FORBIDDEN, UNAVAILABLE.
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
