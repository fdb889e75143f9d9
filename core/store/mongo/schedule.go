package mongo

import (
	"cmp"
	"context"

	"drover/core"
)

// PutSchedule makes or changes a schedule, see core.Schedules. (Concurrent calls may create a few more than the
// maximum.)
func (s *Store) PutSchedule(ctx context.Context, schedule core.Schedule) (int64, error) {
	if err := cmp.Or(core.CheckName("schedule", schedule.Name), core.CheckRevision(schedule.Name, schedule.Revision)); err != nil {
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
	if err := s.room(ctx, core.ScheduleQuota, name, schedules, m{"_id": m{"$ne": name}}); err != nil {
		return 0, err
	}
	return s.revise(ctx, r)
}

// DeleteSchedule removes a schedule, see core.Schedules.
func (s *Store) DeleteSchedule(ctx context.Context, name string) error {
	n, err := s.remove(ctx, schedules, m{"_id": name})
	if err == nil && n == 0 {
		err = core.NoSchedule(name)
	}
	return err
}

// ListSchedules lists all schedules, see core.Schedules.
func (s *Store) ListSchedules(ctx context.Context) ([]core.Schedule, error) {
	return documents[core.Schedule](ctx, s, schedules, m{}, by("_id"), 0)
}
