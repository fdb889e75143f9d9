package operate

import (
	"context"

	"drover/core"
	"drover/core/service/pattern"
)

// mostEvents is how many of the last events are returned.
const mostEvents = 200

// Findings is the result of a consistency check.
type Findings struct {
	At     int64            `json:"at_ms"`
	Broken []core.Violation `json:"broken"`
}

// Findings returns the broken invariants of the cluster, as of at most half a minute ago. Returns FORBIDDEN,
// UNAVAILABLE.
func (o *Service) Findings(ctx context.Context, a core.Actor) (Findings, error) {
	if err := o.Watch(a); err != nil {
		return Findings{}, err
	}
	return o.findings.get(ctx, o.now, consistencyFor, func(ctx context.Context) (Findings, error) {
		broken, err := o.Cluster.CheckConsistency(ctx)
		return Findings{At: o.now().UnixMilli(), Broken: broken}, err
	})
}

// eventID is the format of a position in the stream of events.
var eventID = pattern.New(`^[0-9]{1,19}(-[0-9]{1,19})?$`)

// Events returns the events after the one with this id, oldest first, at most a thousand; "" starts at the oldest
// that is left. Returns FORBIDDEN, INVALID, UNAVAILABLE.
func (o *Service) Events(ctx context.Context, a core.Actor, after string) ([]core.Event, error) {
	if err := o.Watch(a); err != nil {
		return nil, err
	}
	if after != "" && !eventID().MatchString(after) {
		return nil, core.Errorf(core.CodeInvalid, "after", "%.60q is no place in the events: use the id of one", after)
	}
	return o.Cluster.Events(ctx, after)
}

// LastEvents returns the last two hundred events, newest first. Returns FORBIDDEN, UNAVAILABLE.
func (o *Service) LastEvents(ctx context.Context, a core.Actor) ([]core.Event, error) {
	if err := o.Watch(a); err != nil {
		return nil, err
	}
	return o.events.get(ctx, o.now, freshFor, func(ctx context.Context) ([]core.Event, error) {
		return o.Cluster.LastEvents(ctx, mostEvents)
	})
}
