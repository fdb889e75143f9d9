package core

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
)

// Schedule creates a task repeatedly.
type Schedule struct {
	Name      string          `json:"name"`
	Cron      string          `json:"cron"` // five fields, or @daily and the like; in UTC unless it begins with CRON_TZ=
	Kind      string          `json:"kind"`
	Args      json.RawMessage `json:"args,omitempty"`
	Priority  Priority        `json:"priority"`
	Requester string          `json:"requester,omitempty"`
	About     string          `json:"about,omitempty"`
	Paused    bool            `json:"paused,omitempty"`
	Since     int64           `json:"since_ms"` // moments before this one are never made up for
	Last      int64           `json:"last_ms"`  // the moment for which the last task was created; 0 if there was none
	Revision  int64           `json:"revision"`
}

// Schedules keeps schedules. Put is as in school.Roster.
type Schedules interface {
	// PutSchedule returns LIMIT if there are too many.
	PutSchedule(ctx context.Context, s Schedule) (revision int64, err error)
	// DeleteSchedule returns NOTFOUND for an unknown name.
	DeleteSchedule(ctx context.Context, name string) error
	// ListSchedules lists all, in order of name; there are at most MaxSchedules.
	ListSchedules(ctx context.Context) ([]Schedule, error)
}

// MaxSchedules bounds the schedules of a cluster.
const MaxSchedules = 1000

// maxCron bounds the times of a schedule, in bytes.
const maxCron = 256

// Check returns INVALID or LIMIT. What the times mean is for core/cluster/schedule to say.
func (s Schedule) Check() error {
	if strings.TrimSpace(s.Cron) == "" {
		return Errorf(CodeInvalid, s.Name, "schedule %s does not say when: use five fields, or @daily and the like", s.Name)
	}
	return cmp.Or(
		CheckNames("schedule", s.Name), CheckLine(s.Name, "times", s.Cron, maxCron), checkOrder(s.Name, s.Kind, s.Args, s.Priority),
		CheckOptional("requester", s.Requester), checkAbout(s.Name, s.About), CheckTimes(s.Name, s.Since, s.Last),
	)
}
