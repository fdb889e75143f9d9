package overseer

import (
	"context"
	"errors"
	"time"

	"drover/core"
)

// assignedEvery is the rest between two looks at what is assigned to hosts; assignTimeout is
// how long one of them has to take it.
const (
	assignedEvery = time.Second
	assignTimeout = 5 * time.Second
)

// assigned lets retries go whose pause is over, where no owner's heartbeat does,
// and takes from hosts what they have not taken of what was assigned to them.
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
