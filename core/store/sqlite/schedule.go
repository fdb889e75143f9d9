package sqlite

import (
	"cmp"
	"context"
	"database/sql"

	"drover/core"
)

// PutSchedule makes or changes a schedule, see core.Schedules.
func (s *Store) PutSchedule(ctx context.Context, schedule core.Schedule) (int64, error) {
	if err := cmp.Or(core.CheckName("schedule", schedule.Name), core.CheckRevision(schedule.Name, schedule.Revision)); err != nil {
		return 0, err
	}
	doc, err := encode(schedule, schedule.Name)
	if err != nil {
		return 0, err
	}
	return commit(ctx, s.committer, schedule.Name, len(doc), func(t *tx) (int64, error) {
		if err := t.room(core.ScheduleQuota, schedule.Name, "SELECT count(*) FROM schedules WHERE name <> ?", schedule.Name); err != nil {
			return 0, err
		}
		return t.put(revised{
			"schedule " + schedule.Name, "schedules", []column{{"name", schedule.Name}}, []column{{"doc", doc}}, schedule.Revision,
		})
	})
}

// DeleteSchedule removes a schedule, see core.Schedules.
func (s *Store) DeleteSchedule(ctx context.Context, name string) error {
	_, err := commit(ctx, s.committer, name, 0, func(t *tx) (int, error) {
		n, err := t.exec("DELETE FROM schedules WHERE name = ?", name)
		if err == nil && n == 0 {
			err = core.NoSchedule(name)
		}
		return n, err
	})
	return err
}

// ListSchedules lists all schedules, see core.Schedules.
func (s *Store) ListSchedules(ctx context.Context) ([]core.Schedule, error) {
	var all []core.Schedule
	err := s.rows(ctx, "SELECT revision, doc FROM schedules ORDER BY name", nil, func(rows *sql.Rows) error {
		var revision int64
		var doc sql.RawBytes
		if err := rows.Scan(&revision, &doc); err != nil {
			return err
		}
		var schedule core.Schedule
		err := decode(doc, &schedule, "a schedule")
		schedule.Revision = revision
		all = append(all, schedule)
		return err
	})
	return all, err
}
