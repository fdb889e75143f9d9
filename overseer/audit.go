package overseer

import (
	"context"
	"errors"

	"github.com/sirupsen/logrus"
)

// auditLogged bounds how many broken invariants one audit logs; the metric has all.
const auditLogged = 20

// audit checks all that Redis holds, lets operators know what is wrong, and puts
// right what a program can.
func (o *Overseer) audit(ctx context.Context) (Counts, error) {
	found, err := o.parts.Audit.Audit(ctx)
	if err != nil {
		return nil, err
	}
	counts, troubles := Counts{"broken": len(found)}, []error{}
	o.metrics.broken.Reset()
	for i, v := range found {
		o.metrics.broken.WithLabelValues(string(v.Rule)).Inc()
		mended, err := o.parts.Audit.Mend(ctx, v)
		troubles = append(troubles, err)
		if mended {
			counts["mended"]++
		}
		if i < auditLogged {
			o.log.WithFields(logrus.Fields{"rule": v.Rule, "id": v.ID, "mended": mended}).Error("an invariant is broken: " + v.Text + "; see drover doctor")
		}
	}
	return counts, errors.Join(troubles...)
}
