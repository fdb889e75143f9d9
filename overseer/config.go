package overseer

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"drover/core"
	"drover/core/cluster/lease"
	"drover/core/cluster/recovery"
)

// Config are the overseer's settings. The zero value of a setting that Defaults has is replaced by its default.
type Config struct {
	Beat    time.Duration // between an owner's heartbeats, the same in the whole cluster
	Suspect time.Duration // age of a host's last heartbeat after which it gets no new work
	Down    time.Duration // age of an owner's or host's last heartbeat after which it is fenced

	Monitors       []string                 // by their names; nil: all
	MonitorEvery   map[string]time.Duration // by monitor: between two looks; 0: as usual
	MonitorCommand string                   // the program of the monitor command; "": there is none
	MaxAttempts    int                      // deaths of VMs that make a request dead
	MaxDeaths      int                      // deaths of owners that make a request dead if they count against it; below 0: any number
	KeepFinished   time.Duration            // how long finished work stays in the result store
	KeepTombstones time.Duration            // how long Redis keeps tombstones

	JudgeEvery  time.Duration // between looks at heartbeats; a quarter of Beat, within 100 ms and 1 s, unless set
	KeepHistory time.Duration // how long changes of state and statistics of single hours stay in the result store

	Leases      lease.Rules
	LeasesEvery time.Duration // between looks at leases

	HistoryEvery     time.Duration // between copies of the events: what happened since the last one is lost with Redis
	StatisticsEvery  time.Duration
	ConsistencyEvery time.Duration
	PoolsEvery       time.Duration
	SweepEvery       time.Duration
	ExpireEvery      time.Duration
	TrimEvery        time.Duration
	Timeout          time.Duration // of one run of a chore, which continues at its next turn
}

// Defaults returns the default settings.
func Defaults() Config {
	return Config{
		Beat: time.Second, Suspect: 3 * time.Second, Down: 5 * time.Second, Monitors: monitorNames,
		MaxAttempts: recovery.MaxAttempts, MaxDeaths: recovery.MaxDeaths, KeepFinished: 30 * 24 * time.Hour, KeepTombstones: time.Hour,
		Leases: lease.DefaultRules(), LeasesEvery: 2 * time.Second,
		KeepHistory: 30 * 24 * time.Hour, HistoryEvery: 2 * time.Second, StatisticsEvery: 30 * time.Second,
		ConsistencyEvery: time.Minute, PoolsEvery: 10 * time.Second, SweepEvery: 5 * time.Second, ExpireEvery: 5 * time.Second,
		TrimEvery: time.Minute, Timeout: time.Minute,
	}
}

// filled returns c with defaults for zero fields.
func (c Config) filled() Config {
	d := Defaults()
	for _, f := range []struct{ got, or *time.Duration }{
		{&c.Beat, &d.Beat},
		{&c.Suspect, &d.Suspect},
		{&c.Down, &d.Down},
		{&c.KeepFinished, &d.KeepFinished},
		{&c.KeepTombstones, &d.KeepTombstones},
		{&c.KeepHistory, &d.KeepHistory},
		{&c.LeasesEvery, &d.LeasesEvery},
		{&c.HistoryEvery, &d.HistoryEvery},
		{&c.StatisticsEvery, &d.StatisticsEvery},
		{&c.ConsistencyEvery, &d.ConsistencyEvery},
		{&c.PoolsEvery, &d.PoolsEvery},
		{&c.SweepEvery, &d.SweepEvery},
		{&c.ExpireEvery, &d.ExpireEvery},
		{&c.TrimEvery, &d.TrimEvery},
		{&c.Timeout, &d.Timeout},
	} {
		if *f.got == 0 {
			*f.got = *f.or
		}
	}
	c.MaxAttempts, c.MaxDeaths = cmp.Or(c.MaxAttempts, d.MaxAttempts), cmp.Or(c.MaxDeaths, d.MaxDeaths)
	c.JudgeEvery = cmp.Or(c.JudgeEvery, min(max(c.Beat/4, 100*time.Millisecond), time.Second))
	if c.Monitors == nil {
		c.Monitors = d.Monitors
	}
	return c
}

// check returns an INVALID error that names the first invalid setting.
func (c Config) check() error {
	if c.Suspect < c.Beat || c.Suspect > c.Down {
		return core.Errorf(core.CodeInvalid, "", "overseer: suspect %s must be between beat %s and down %s", c.Suspect, c.Beat, c.Down)
	}
	for _, name := range c.Monitors {
		if !slices.Contains(monitorNames, name) {
			return core.Errorf(core.CodeInvalid, name, "overseer: %q is no monitor: use %s", name, strings.Join(monitorNames, ", "))
		}
	}
	if c.MaxAttempts < 1 {
		return core.Errorf(core.CodeInvalid, "", "overseer: max attempts %d must be at least 1", c.MaxAttempts)
	}
	for _, d := range []time.Duration{
		c.Beat, c.Suspect, c.Down, c.KeepFinished, c.KeepTombstones, c.KeepHistory, c.HistoryEvery, c.StatisticsEvery, c.JudgeEvery, c.ConsistencyEvery, c.PoolsEvery, c.SweepEvery,
		c.ExpireEvery, c.TrimEvery, c.Timeout, c.LeasesEvery, c.Leases.Lead, c.Leases.Healing, c.Leases.Cleaning,
	} {
		if d < 0 {
			return core.Errorf(core.CodeInvalid, "", "overseer: a time of %s is below 0", d)
		}
	}
	return nil
}
