package overseer

import (
	"context"
	"errors"

	"github.com/sirupsen/logrus"
)

// violationsLogged bounds how many broken invariants one check logs; the metric counts all.
const violationsLogged = 20

// consistency checks all of Redis, logs broken invariants, and repairs those that a program can.
func (o *Overseer) consistency(ctx context.Context) (Counts, error) {
	found, err := o.deps.Consistency.CheckConsistency(ctx)
	if err != nil {
		return nil, err
	}
	counts, troubles := Counts{"broken": len(found)}, []error{}
	o.metrics.broken.Reset()
	for i, v := range found {
		o.metrics.broken.Add(1, string(v.Rule))
		mended, err := o.deps.Consistency.Mend(ctx, v)
		troubles = append(troubles, err)
		if mended {
			counts["mended"]++
		}
		if i < violationsLogged {
			o.log.WithFields(logrus.Fields{"rule": v.Rule, "id": v.ID, "mended": mended}).Error("an invariant is broken: " + v.Text + "; see drover doctor")
		}
	}
	return counts, errors.Join(troubles...)
}
