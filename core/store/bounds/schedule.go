package bounds

import (
	"cmp"
	"strings"

	"drover/core"
)

// Schedule checks a schedule, but not the meaning of its times. Returns INVALID or LIMIT.
func Schedule(s core.Schedule) error {
	if strings.TrimSpace(s.Cron) == "" {
		return core.Errorf(core.CodeInvalid, s.Name, "schedule %s does not say when: use five fields, or @daily and the like", s.Name)
	}
	return cmp.Or(
		names("schedule", s.Name), line(s.Name, "times", s.Cron, maxCron), order(s.Name, s.Kind, s.Args, s.Priority),
		optional("requester", s.Requester), about(s.Name, s.About), times(s.Name, s.Since, s.Last), revision(s.Name, s.Revision),
	)
}
