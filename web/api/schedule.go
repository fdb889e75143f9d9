package api

import (
	"context"
	"encoding/json"

	"drover/core"
)

// ScheduleFields are what is set of a schedule.
type ScheduleFields struct {
	Cron     string          `json:"cron" doc:"five fields, or @daily and the like; UTC unless it begins with CRON_TZ="`
	Kind     schedulable     `json:"kind"`
	Args     json.RawMessage `json:"args,omitempty" doc:"arguments of the tasks, depending on the kind"`
	Priority core.Priority   `json:"priority,omitempty" enum:"high,normal,low" doc:"low by default"`
	Paused   bool            `json:"paused,omitempty"`
}

// Named names a schedule.
type Named struct {
	Name string `path:"name"`
}

func (s *server) listSchedules(ctx context.Context, a core.Actor, _ *nothing) (*answer[Page[core.Schedule]], error) {
	return all(s.Classes.Schedules(ctx, a))
}

func (s *server) setSchedule(ctx context.Context, a core.Actor, in *struct {
	Named
	Body ScheduleFields
},
) (*tagged[core.Schedule], error) {
	b := in.Body
	set, err := s.Classes.SetSchedule(ctx, a, core.Schedule{Name: in.Name, Cron: b.Cron, Kind: string(b.Kind), Args: b.Args, Priority: b.Priority, Paused: b.Paused})
	if err != nil {
		return nil, err
	}
	return read(Reading{}, set.Revision, set), nil
}

func (s *server) removeSchedule(ctx context.Context, a core.Actor, in *Named) (*done, error) {
	return &done{}, s.Classes.RemoveSchedule(ctx, a, in.Name)
}

func (s *server) runSchedule(ctx context.Context, a core.Actor, in *Named) (*started, error) {
	return begun(s.Classes.RunSchedule(ctx, a, in.Name))
}
