package mongo

import (
	"context"

	"drover/core"
	"drover/core/store/bounds"
)

// PutSchedule makes or changes a schedule, see core.Schedules. (Where several new ones come at
// the same moment a few more than the most are taken.)
func (s *Store) PutSchedule(ctx context.Context, schedule core.Schedule) (int64, error) {
	if err := bounds.Schedule(schedule); err != nil {
		return 0, err
	}
	name := schedule.Name
	r := revised{what: "schedule " + name, in: schedules, id: name, name: name, revision: schedule.Revision}
	schedule.Revision++
	doc, err := encode(schedule, name)
	if err != nil {
		return 0, err
	}
	r.fields = m{"json": doc}
	others, err := s.count(ctx, schedules, m{"_id": m{"$ne": name}}, core.MaxSchedules)
	if err != nil {
		return 0, err
	}
	if others >= core.MaxSchedules {
		return 0, core.Errorf(core.CodeLimit, name, "there are %d schedules already, the most there may be: remove some", others)
	}
	return s.revise(ctx, r)
}

// DeleteSchedule removes a schedule, see core.Schedules.
func (s *Store) DeleteSchedule(ctx context.Context, name string) error {
	n, err := s.remove(ctx, schedules, m{"_id": name})
	if err == nil && n == 0 {
		err = core.Errorf(core.CodeNotFound, name, "there is no schedule %s: see drover schedule list", name)
	}
	return err
}

// ListSchedules lists all schedules, see core.Schedules.
func (s *Store) ListSchedules(ctx context.Context) ([]core.Schedule, error) {
	return documents[core.Schedule](ctx, s, schedules, m{}, by("_id"), 0)
}
