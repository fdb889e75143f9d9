package overseer

import (
	"time"

	"drover/core"
	"drover/core/recovery"
)

// Config is how the overseer behaves. The zero value of a setting that Defaults
// names is replaced by its default.
type Config struct {
	Suspect time.Duration // how late a host's proof of life may be before it gets no new work
	Down    time.Duration // how late an owner's or host's may be before it is fenced

	MaxAttempts    int           // tries that platform faults ended until a request is dead
	KeepFinished   time.Duration // how long finished work stays in the result store
	KeepTombstones time.Duration // how long Redis remembers what ended

	ReapEvery   time.Duration
	PoolsEvery  time.Duration
	SweepEvery  time.Duration
	ExpireEvery time.Duration
	TrimEvery   time.Duration
	PurgeEvery  time.Duration
	Timeout     time.Duration // of one chore's run; it goes on at its next turn
}

// Defaults returns the settings that a config may leave open.
func Defaults() Config {
	return Config{
		Suspect: 3 * time.Second, Down: 5 * time.Second,
		MaxAttempts: recovery.MaxAttempts, KeepFinished: 30 * 24 * time.Hour, KeepTombstones: time.Hour,
		ReapEvery: time.Second, PoolsEvery: 10 * time.Second, SweepEvery: 5 * time.Second, ExpireEvery: 5 * time.Second,
		TrimEvery: time.Minute, PurgeEvery: time.Hour, Timeout: time.Minute,
	}
}

// filled returns c with the defaults where it leaves something open.
func (c Config) filled() Config {
	d := Defaults()
	for _, f := range []struct{ got, or *time.Duration }{
		{&c.Suspect, &d.Suspect},
		{&c.Down, &d.Down},
		{&c.KeepFinished, &d.KeepFinished},
		{&c.KeepTombstones, &d.KeepTombstones},
		{&c.ReapEvery, &d.ReapEvery},
		{&c.PoolsEvery, &d.PoolsEvery},
		{&c.SweepEvery, &d.SweepEvery},
		{&c.ExpireEvery, &d.ExpireEvery},
		{&c.TrimEvery, &d.TrimEvery},
		{&c.PurgeEvery, &d.PurgeEvery},
		{&c.Timeout, &d.Timeout},
	} {
		if *f.got == 0 {
			*f.got = *f.or
		}
	}
	if c.MaxAttempts == 0 {
		c.MaxAttempts = d.MaxAttempts
	}
	return c
}

// check returns an INVALID error that names the first setting that cannot be.
func (c Config) check() error {
	if c.Suspect > c.Down {
		return core.Errorf(core.CodeInvalid, "", "overseer: suspect %s must not be above down %s", c.Suspect, c.Down)
	}
	if c.MaxAttempts < 1 {
		return core.Errorf(core.CodeInvalid, "", "overseer: max attempts %d must be at least 1", c.MaxAttempts)
	}
	for _, d := range []time.Duration{
		c.Suspect, c.Down, c.KeepFinished, c.KeepTombstones, c.ReapEvery, c.PoolsEvery, c.SweepEvery,
		c.ExpireEvery, c.TrimEvery, c.PurgeEvery, c.Timeout,
	} {
		if d < 0 {
			return core.Errorf(core.CodeInvalid, "", "overseer: a time of %s is below 0", d)
		}
	}
	return nil
}
