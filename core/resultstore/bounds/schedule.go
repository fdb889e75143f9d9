package bounds

import (
	"strings"
	"unicode"

	"drover/core"
)

// Schedule checks a schedule; what its times mean is for others to say. Returns INVALID or LIMIT.
func Schedule(s core.Schedule) error {
	if err := core.CheckName("schedule", s.Name); err != nil {
		return err
	}
	switch {
	case len(s.Cron) > maxCron:
		return core.Errorf(core.CodeLimit, s.Name, "the times of schedule %s have %d bytes, at most %d are allowed", s.Name, len(s.Cron), maxCron)
	case strings.TrimSpace(s.Cron) == "" || strings.ContainsFunc(s.Cron, func(r rune) bool { return r > unicode.MaxASCII || unicode.IsControl(r) }):
		return core.Errorf(core.CodeInvalid, s.Name, "the times of schedule %s must be five fields of plain text, or @daily and the like", s.Name)
	case s.Since < 0 || s.Last < 0 || s.Revision < 0:
		return core.Errorf(core.CodeInvalid, s.Name, "schedule %s has the times %d and %d and the revision %d, which cannot be", s.Name, s.Since, s.Last, s.Revision)
	}
	if err := order(s.Name, s.Kind, s.Args, s.Class); err != nil {
		return err
	}
	if err := optional("requester", s.Requester); err != nil {
		return err
	}
	return about(s.Name, s.About)
}
