package overseer

import (
	"context"

	"github.com/sirupsen/logrus"
)

// auditLogged bounds how many broken invariants one audit logs; the metric has all.
const auditLogged = 20

// audit checks all that Redis holds, and lets operators know what is wrong.
func (o *Overseer) audit(ctx context.Context) (Counts, error) {
	found, err := o.parts.Audit.Audit(ctx)
	if err != nil {
		return nil, err
	}
	o.metrics.broken.Reset()
	for i, v := range found {
		o.metrics.broken.WithLabelValues(string(v.Rule)).Inc()
		if i < auditLogged {
			o.log.WithFields(logrus.Fields{"rule": v.Rule, "id": v.ID}).Error("an invariant is broken: " + v.Text + "; see drover doctor")
		}
	}
	return Counts{"broken": len(found)}, nil
}
