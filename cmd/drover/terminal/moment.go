package terminal

import (
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones by name, also where the machine has none

	"github.com/docker/go-units"
	"github.com/urfave/cli/v2"

	"drover/core"
	"drover/core/service/pattern"
)

// Times as people write them, in their zone.
var momentLayouts = []string{"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05"}

// momentShown is how they are shown.
const momentShown = "2006-01-02 15:04 MST"

// MomentHelp says what a flag of time takes.
const MomentHelp = `such as "2026-12-01 23:59", 2026-12-01T23:59:00Z, +7d, +36h; none takes it away`

// relative is a time from now: days and weeks are those of the calendar.
var relative = pattern.New(`^\+([0-9]{1,4})([dw])$`)

// ZoneFlag is that of commands that show moments.
func ZoneFlag() cli.Flag {
	return &cli.StringFlag{Name: "time-zone", Usage: "times are read and shown in `ZONE`, such as Europe/Berlin or UTC", DefaultText: "this machine's"}
}

// Zone returns the time zone of the command's times.
func Zone(c *cli.Context) (*time.Location, error) {
	name := c.String("time-zone")
	if name == "" {
		return time.Local, nil
	}
	at, err := time.LoadLocation(name)
	return at, core.Wrap(err, core.CodeInvalid, name, "--time-zone %q is none: use a name such as Europe/Berlin or UTC", name)
}

// MomentFlag reads a flag that is a time, if it was given, into ms since 1970; none is 0.
func MomentFlag(c *cli.Context, name string, into *int64) error {
	if !c.IsSet(name) {
		return nil
	}
	at, err := Zone(c)
	if err != nil {
		return err
	}
	ms, err := parseMoment(c.String(name), time.Now().In(at))
	if err != nil {
		return core.Wrap(err, core.CodeInvalid, name, "--%s", name)
	}
	*into = ms
	return nil
}

// parseMoment reads a time in the zone of now.
func parseMoment(text string, now time.Time) (int64, error) {
	switch text = strings.TrimSpace(text); {
	case text == "none":
		return 0, nil
	case strings.HasPrefix(text, "+"):
		return parseRelative(text, now)
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return inRange(text, t)
	}
	for _, layout := range momentLayouts {
		t, err := time.ParseInLocation(layout, text, now.Location())
		if err != nil {
			continue
		}
		if t.Format(layout) != text {
			return 0, core.Errorf(core.CodeInvalid, text, "%q does not exist in %s: clocks are put forward then", text, now.Location())
		}
		return inRange(text, t)
	}
	return 0, core.Errorf(core.CodeInvalid, text, "%.80q is no time: write one %s", text, MomentHelp)
}

func parseRelative(text string, now time.Time) (int64, error) {
	if m := relative().FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // digits only
		if m[2] == "w" {
			n *= 7
		}
		return inRange(text, now.AddDate(0, 0, n))
	}
	d, err := time.ParseDuration(text[1:])
	if err != nil || d < 0 {
		return 0, core.Errorf(core.CodeInvalid, text, "%.80q is no time from now: write +90m, +36h, +7d or +2w", text)
	}
	return inRange(text, now.Add(d))
}

// inRange keeps out years that look like a typing error.
func inRange(text string, t time.Time) (int64, error) {
	const first, last = 1971, 2999
	if t.Year() < first || t.Year() > last {
		return 0, core.Errorf(core.CodeInvalid, text, "%.80q is not between the years %d and %d", text, first, last)
	}
	return t.UnixMilli(), nil
}

// ShowMoment formats a time in a zone, and its distance from now; "none" for 0.
func ShowMoment(ms int64, at *time.Location) string {
	if ms == 0 {
		return "none"
	}
	t := time.UnixMilli(ms).In(at)
	if left := time.Until(t); left > 0 {
		return t.Format(momentShown) + " (in " + strings.ToLower(units.HumanDuration(left)) + ")"
	}
	return t.Format(momentShown) + " (" + strings.ToLower(units.HumanDuration(time.Since(t))) + " ago)"
}

// ShortMoment formats a time in a zone; "" for 0.
func ShortMoment(ms int64, at *time.Location) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).In(at).Format(momentShown)
}
