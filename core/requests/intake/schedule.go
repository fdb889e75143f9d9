package intake

import (
	"context"
	"time"

	"drover/core"
	"drover/core/cluster/schedule"
)

// nextMoments is how many moments SetSchedule tells of.
const nextMoments = 3

// SetSchedule checks a schedule, saves it, and returns it with the moments that it is due
// next. What was missed before, or while it was paused, is not made up for: its time
// begins now if it is new, has other times, or was paused. Returns INVALID with what is
// wrong with its times, CONFLICT if it was changed meanwhile, LIMIT, UNAVAILABLE.
func (in *Intake) SetSchedule(ctx context.Context, s core.Schedule) (core.Schedule, []time.Time, error) {
	times, err := schedule.Parse(s.Cron)
	if err != nil {
		return core.Schedule{}, nil, core.Wrap(err, core.CodeInvalid, s.Name, "schedule %s", s.Name)
	}
	now := in.now()
	all, err := in.Store.ListSchedules(ctx)
	if err != nil {
		return core.Schedule{}, nil, err
	}
	was := core.Schedule{Paused: true}
	for _, other := range all {
		if other.Name == s.Name {
			was = other
		}
	}
	s.Since, s.Last = was.Since, was.Last
	if was.Paused || was.Cron != s.Cron {
		s.Since = now.UnixMilli()
	}
	if err := checkTask(&core.Task{ID: s.Name, Kind: s.Kind, Args: s.Args, Priority: s.Priority, Requester: s.Requester}); err != nil {
		return core.Schedule{}, nil, err
	}
	if s.Revision, err = in.Store.PutSchedule(ctx, s); err != nil {
		return core.Schedule{}, nil, err
	}
	return s, times.Next(now, nextMoments), nil
}
