package overseer

import (
	"context"
	"errors"
	"time"

	"drover/core"
)

// assignedEvery is the interval between two looks at requests assigned to hosts; assignTimeout is how long a host may
// take to claim one.
const (
	assignedEvery = time.Second
	assignTimeout = 5 * time.Second
)

// assigned promotes retries whose pause is over, in case no owner's heartbeat does, and returns requests to the queue
// that their host has not claimed in time.
func (o *Overseer) assigned(ctx context.Context) (Counts, error) {
	promoted, err := o.deps.Queue.Promote(ctx)
	counts, troubles := Counts{"promoted": promoted}, []error{err}
	moves, err := o.deps.Evacuations.Evacuations(ctx)
	if err != nil {
		return counts, errors.Join(append(troubles, err)...)
	}
	slow := make(map[string]bool)
	for _, m := range moves {
		if m.State == core.EvacuationScheduled {
			slow[m.To] = true
		}
	}
	for host := range slow {
		n, err := o.deps.Evacuations.Unassign(ctx, host, assignTimeout)
		counts["unassigned"] += n
		troubles = append(troubles, err)
	}
	return counts, errors.Join(troubles...)
}
