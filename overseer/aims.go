package overseer

import (
	"context"
	"errors"
	"time"

	"drover/core"
)

// aimsEvery is the rest between two looks at what is aimed at hosts; aimTimeout is
// how long one of them has to take it.
const (
	aimsEvery  = time.Second
	aimTimeout = 5 * time.Second
)

// aims lets retries go whose pause is over, where no owner's proof of life does,
// and takes from hosts what they have not taken of what was aimed at them.
func (o *Overseer) aims(ctx context.Context) (Counts, error) {
	promoted, err := o.parts.Queue.Promote(ctx)
	counts, troubles := Counts{"promoted": promoted}, []error{err}
	moves, err := o.parts.Evacuations.Evacuations(ctx)
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
		n, err := o.parts.Evacuations.Unaim(ctx, host, aimTimeout)
		counts["unaimed"] += n
		troubles = append(troubles, err)
	}
	return counts, errors.Join(troubles...)
}
