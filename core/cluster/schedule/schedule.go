package schedule

import (
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"drover/core"
)

// maxCron bounds the text of times, in bytes.
const maxCron = 200

// Times are the moments of a schedule.
type Times struct{ spec *cron.SpecSchedule }

// Parse reads times. Returns INVALID with the reason.
func Parse(text string) (Times, error) {
	invalid := func(why string) (Times, error) {
		return Times{}, core.Errorf(core.CodeInvalid, "", "the times %.50q cannot be read: %s; use five fields such as \"30 6 * * 1-5\", or @daily and the like, perhaps after CRON_TZ=Europe/Berlin", text, why)
	}
	zone, rest, spaced := strings.Cut(text, " ")
	switch {
	case len(text) > maxCron:
		return invalid("they are too long")
	case strings.HasPrefix(text, "TZ="):
		return invalid("a time zone is named with CRON_TZ=")
	case zone == "CRON_TZ=Local":
		return invalid("the local zone may be another one on each host")
	case strings.HasPrefix(text, "CRON_TZ=") && (!spaced || strings.TrimSpace(rest) == ""):
		return invalid("nothing follows " + zone)
	}
	parsed, err := cron.ParseStandard(text)
	if err != nil {
		return invalid(err.Error())
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return invalid("@every has no moments that all agree on")
	}
	if !strings.HasPrefix(text, "CRON_TZ=") {
		spec.Location = time.UTC
	}
	t := Times{spec}
	if len(t.Next(time.Unix(0, 0), 1)) == 0 {
		return invalid("they never come")
	}
	return t, nil
}

// Next returns the next n moments after the given one, fewer if there are no more in the next years.
func (t Times) Next(after time.Time, n int) []time.Time {
	var out []time.Time
	for range n {
		after = t.spec.Next(after.UTC())
		if after.IsZero() {
			break
		}
		out = append(out, after)
	}
	return out
}

// Last returns the last moment after the first time and not after now, and whether there is one.
func (t Times) Last(after, now time.Time) (time.Time, bool) {
	const day = 24 * time.Hour
	for _, back := range []time.Duration{time.Hour, day, 32 * day, 367 * day, 5 * 366 * day} {
		from := now.Add(-back)
		first := !from.After(after)
		if first {
			from = after
		}
		var last time.Time
		for next := t.Next(from, 1); len(next) == 1 && !next[0].After(now); next = t.Next(last, 1) {
			last = next[0]
		}
		if !last.IsZero() || first {
			return last, !last.IsZero()
		}
	}
	return time.Time{}, false
}
