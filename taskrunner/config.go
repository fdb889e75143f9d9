package taskrunner

import (
	"runtime"
	"time"

	"drover/core"
	"drover/core/recovery"
)

// maxSlots is the most tasks that one exchange can finish and claim.
const maxSlots = 64

// Config is how a taskrunner behaves. The zero value of a setting that Defaults
// names is replaced by its default.
type Config struct {
	Registration core.Registration // the owner's name, host and machine
	Slots        int               // tasks in hand at once
	Poll         time.Duration     // how often it looks for work unasked
	MaxAttempts  int               // tries until a task is dead
	RetryFirst   time.Duration     // before the second try; doubles
	RetryMost    time.Duration     // between any two tries
	Timeout      time.Duration     // of one try
	KeepFinished time.Duration     // of a purge that does not say
	BlobGrace    time.Duration     // how old a file that nothing names must be to be deleted
}

// Defaults returns the settings that a config may leave open.
func Defaults() Config {
	return Config{
		Slots: min(runtime.NumCPU(), maxSlots), Poll: time.Second, MaxAttempts: recovery.MaxAttempts,
		RetryFirst: time.Second, RetryMost: 5 * time.Minute, Timeout: 30 * time.Minute,
		KeepFinished: 30 * 24 * time.Hour, BlobGrace: 24 * time.Hour,
	}
}

// filled returns c with the defaults where it leaves something open.
func (c Config) filled() Config {
	d := Defaults()
	for _, f := range []struct{ got, or *time.Duration }{
		{&c.Poll, &d.Poll},
		{&c.RetryFirst, &d.RetryFirst},
		{&c.RetryMost, &d.RetryMost},
		{&c.Timeout, &d.Timeout},
		{&c.KeepFinished, &d.KeepFinished},
		{&c.BlobGrace, &d.BlobGrace},
	} {
		if *f.got == 0 {
			*f.got = *f.or
		}
	}
	if c.Slots == 0 {
		c.Slots = d.Slots
	}
	if c.MaxAttempts == 0 {
		c.MaxAttempts = d.MaxAttempts
	}
	if c.Registration.Beat == 0 {
		c.Registration.Beat = time.Second
	}
	c.Slots = min(c.Slots, maxSlots)
	return c
}

// check returns an INVALID error that names the first setting that cannot be.
func (c Config) check() error {
	role, host, err := core.ParseOwner(c.Registration.Owner)
	if err != nil {
		return err
	}
	invalid := func(format string, args ...any) error {
		return core.Errorf(core.CodeInvalid, c.Registration.Owner, "taskrunner: "+format, args...)
	}
	switch {
	case role != core.RoleTaskrunner || host != c.Registration.Host:
		return invalid("owner %q does not name a taskrunner of host %q", c.Registration.Owner, c.Registration.Host)
	case c.Slots < 1 || c.MaxAttempts < 1:
		return invalid("slots and max attempts must be above 0")
	}
	for _, d := range []time.Duration{
		c.Registration.Beat, c.Poll, c.RetryFirst, c.RetryMost, c.Timeout, c.KeepFinished, c.BlobGrace,
	} {
		if d < 0 {
			return invalid("a time of %s is below 0", d)
		}
	}
	return nil
}
