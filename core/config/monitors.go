package config

import (
	"errors"
	"slices"
	"strings"
	"time"

	"drover/core/service/script"
)

// minMonitorEvery is the shortest time between two looks of a monitor.
const minMonitorEvery = 100 * time.Millisecond

// MonitorTimes returns how often monitors look, of those for which that is set. Returns INVALID.
func (c *Config) MonitorTimes() (map[string]time.Duration, error) {
	times := make(map[string]time.Duration)
	var problems []error
	for _, text := range c.MonitorEvery {
		name, value, ok := strings.Cut(text, "=")
		every, err := time.ParseDuration(value)
		switch {
		case !ok || err != nil || every < minMonitorEvery:
			problems = append(problems, c.problem("monitor_every", "%q is not MONITOR=TIME with a time of at least %s, such as provider=10s", text, minMonitorEvery))
		case !slices.Contains([]string{MonitorHeartbeat, MonitorProvider, MonitorCommand}, name):
			problems = append(problems, c.problem("monitor_every", "%q is no monitor that looks at times: name %s, %s or %s", name, MonitorHeartbeat, MonitorProvider, MonitorCommand))
		}
		times[name] = every
	}
	if c.MonitorCommand != "" {
		if err := (script.Script{Path: c.MonitorCommand}).Check(); err != nil {
			problems = append(problems, c.problem("monitor_command", "%w", err))
		}
	}
	return times, errors.Join(problems...)
}

func (c *Config) checkMonitors() error {
	if slices.Equal(c.Monitors, []string{MonitorNone}) {
		return nil
	}
	known := []string{MonitorHeartbeat, MonitorProvider, MonitorReport, MonitorCommand}
	var problems []error
	for i, name := range c.Monitors {
		switch {
		case !slices.Contains(known, name):
			problems = append(problems, c.problem("monitors", "%q is no monitor: name some of %s, or %s alone", name, strings.Join(known, ", "), MonitorNone))
		case slices.Contains(c.Monitors[:i], name):
			problems = append(problems, c.problem("monitors", "%s is named twice", name))
		}
	}
	if len(c.Monitors) == 0 {
		problems = append(problems, c.problem("monitors", "it names no monitor: name some of %s, or %s", strings.Join(known, ", "), MonitorNone))
	}
	_, wrong := c.MonitorTimes()
	return errors.Join(append(problems, wrong)...)
}
