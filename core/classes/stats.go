package classes

import (
	"context"
	"time"

	"drover/core"
	"drover/core/cluster/history"
)

// Stats returns what ended of the tests of a class's submissions in a span of time, parted by history.ClassWays or, by
// "", as a whole. It begins with the class: another one may have had its name before. Returns NOTFOUND, FORBIDDEN,
// INVALID.
func (r *Service) Stats(ctx context.Context, a core.Actor, class, by string, from, until time.Time) (history.Stats, error) {
	from, err := r.statsSince(ctx, a, class, from, until)
	if err != nil {
		return history.Stats{}, err
	}
	return history.ReadClass(ctx, r.Store, class, by, from, until, r.now())
}

// StatsSeries returns the same over time, for charts. Returns NOTFOUND, FORBIDDEN, INVALID.
func (r *Service) StatsSeries(ctx context.Context, a core.Actor, class string, from, until time.Time) (history.Series, error) {
	from, err := r.statsSince(ctx, a, class, from, until)
	if err != nil {
		return history.Series{}, err
	}
	return history.ReadClassSeries(ctx, r.Store, class, from, until, r.now())
}

// statsSince returns from when on the actor may read a class's statistics.
func (r *Service) statsSince(ctx context.Context, a core.Actor, class string, from, until time.Time) (time.Time, error) {
	c, err := r.class(ctx, a, class, core.ActGradeView)
	if err != nil {
		return from, err
	}
	created := time.UnixMilli(c.Created)
	switch {
	case !created.After(from):
		return from, nil
	case !created.Before(until):
		return from, core.Errorf(core.CodeInvalid, "until", "class %s was created at %s: statistics end after that", class, created.UTC().Format(time.RFC3339))
	}
	return created, nil
}
