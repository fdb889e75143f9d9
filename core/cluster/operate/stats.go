package operate

import (
	"context"
	"slices"
	"time"

	"drover/core"
	"drover/core/cluster/history"
)

// Stats returns what ended in a span of time, parted by history.Ways or, by "", as a whole. Returns FORBIDDEN,
// INVALID, UNAVAILABLE.
func (o *Service) Stats(ctx context.Context, a core.Actor, by string, from, until time.Time) (history.Stats, error) {
	if err := o.Watch(a); err != nil {
		return history.Stats{}, err
	}
	return history.Read(ctx, o.Store, by, from, until, o.now())
}

// Series returns what ended and what was sampled over a span of time, for charts. Returns FORBIDDEN, INVALID,
// UNAVAILABLE.
func (o *Service) Series(ctx context.Context, a core.Actor, from, until time.Time) (history.Series, error) {
	if err := o.Watch(a); err != nil {
		return history.Series{}, err
	}
	return history.ReadSeries(ctx, o.Store, from, until, o.now())
}

// Lately is what the cluster did in the last day.
type Lately struct {
	Hour history.Row    `json:"hour"` // what ended in the last hour
	Day  history.Series `json:"day"`  // of the last 24 hours
}

// Lost is how many attempts of the last day were lost to faults of the platform, with or without another try.
func (l *Lately) Lost() (n int) {
	for i := range l.Day.Ended {
		n += l.Day.Ended[i].Lost()
	}
	return n
}

// Lately returns what the cluster did in the last day, as of at most half a minute ago. Returns FORBIDDEN, UNAVAILABLE.
func (o *Service) Lately(ctx context.Context, a core.Actor) (Lately, error) {
	if err := o.Watch(a); err != nil {
		return Lately{}, err
	}
	return o.lately.get(ctx, o.now, latelyFor, func(ctx context.Context) (l Lately, err error) {
		now := o.now()
		hour, err := history.Read(ctx, o.Store, "", now.Add(-time.Hour), now, now)
		if err != nil {
			return l, err
		}
		l.Hour = hour.Total
		l.Day, err = history.ReadSeries(ctx, o.Store, now.Add(-24*time.Hour), now, now)
		return l, err
	})
}

// remembered are the steps of a generation that the result store has, oldest first. At and N of the last one tell
// which events are newer.
func (o *Service) remembered(ctx context.Context, row core.Row) ([]Step, error) {
	const most = 1000
	all, err := o.Store.StateChanges(ctx, core.StateChangeFilter{Kind: core.EntityRequest, Thing: row.Spec.Key(), Limit: most})
	if err != nil {
		return nil, err
	}
	var steps []Step
	for _, c := range slices.Backward(all) {
		if kind, ok := stepOfChange(c); ok {
			steps = append(steps, Step{Kind: kind, At: c.At, By: c.By, Text: c.Why, Gen: row.Spec.Generation})
		}
	}
	return steps, nil
}

// stepOfChange says what a change of state did to a request.
func stepOfChange(c core.StateChange) (StepKind, bool) {
	switch core.RequestState(c.State) {
	case core.RequestClaimed:
		return StepClaimed, true
	case core.RequestRunning:
		return StepRunning, true
	case core.RequestCancelling:
		return StepCancel, true
	case core.RequestQueued, core.RequestParked:
		switch {
		case core.Outcome(c.How).Fault():
			return StepFault, true
		case core.Outcome(c.How) == core.OutcomeRelease:
			return StepReleased, true
		}
		return StepQueued, true
	case core.RequestCompleted, core.RequestFailed, core.RequestCancelled, core.RequestTimedOut, core.RequestDead:
		if c.How == "withdraw" {
			return StepWithdrawn, true
		}
	}
	return "", false // its end, of which the store says more
}
