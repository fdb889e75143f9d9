package taskrunner

import (
	"cmp"
	"runtime"
	"time"

	"github.com/cenkalti/backoff/v5"

	"drover/core"
	"drover/core/cluster/recovery"
	"drover/core/webhook"
)

// maxSlots is the most tasks that one exchange can finish and claim.
const maxSlots = 64

// Config are a taskrunner's settings. The zero value of a setting that Defaults has is replaced by its default.
type Config struct {
	Registration core.Registration // the owner's name, host and machine
	Slots        int               // concurrent tasks
	Poll         time.Duration     // how often it looks for work without the bell
	MaxAttempts  int               // tries after which a task is dead
	RetryFirst   time.Duration     // before the second try; doubles
	RetryMost    time.Duration     // the longest pause between two tries
	Timeout      time.Duration     // of one try
	KeepFinished time.Duration     // retention of a purge whose arguments have none
	BlobGrace    time.Duration     // minimum age of an unused file before it is deleted

	KeepDownloads time.Duration            // how long the file of a task can be fetched
	Rates         map[string]core.TaskRate // by kind, for the whole cluster
	Webhooks      webhook.Addresses        // where deliveries may be sent
	Mail          *SMTP                    // nil: mail is not sent
}

// Defaults returns the default settings.
func Defaults() Config {
	return Config{
		Slots: min(runtime.NumCPU(), maxSlots), Poll: time.Second, MaxAttempts: recovery.MaxAttempts,
		RetryFirst: time.Second, RetryMost: 5 * time.Minute, Timeout: 30 * time.Minute,
		KeepFinished: 30 * 24 * time.Hour, BlobGrace: 24 * time.Hour, KeepDownloads: 24 * time.Hour,
	}
}

// filled returns c with defaults for zero fields.
func (c Config) filled() Config {
	d := Defaults()
	for _, f := range []struct{ got, or *time.Duration }{
		{&c.Poll, &d.Poll},
		{&c.RetryFirst, &d.RetryFirst},
		{&c.RetryMost, &d.RetryMost},
		{&c.Timeout, &d.Timeout},
		{&c.KeepFinished, &d.KeepFinished},
		{&c.BlobGrace, &d.BlobGrace},
		{&c.KeepDownloads, &d.KeepDownloads},
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

// filledKind returns k with the config's values for zero fields.
func (c Config) filledKind(k Kind) Kind {
	k.MaxAttempts, k.Timeout = cmp.Or(k.MaxAttempts, c.MaxAttempts), cmp.Or(k.Timeout, c.Timeout)
	if k.Retry == nil {
		k.Retry = c.pause
	}
	return k
}

// pause returns the pause of a task after so many failures.
func (c Config) pause(failures int) time.Duration {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier, b.MaxInterval = c.RetryFirst, 2, c.RetryMost
	var d time.Duration
	for range min(failures, 32) {
		d = b.NextBackOff()
	}
	return d
}

// check returns an INVALID error that names the first invalid setting.
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
		c.Registration.Beat, c.Poll, c.RetryFirst, c.RetryMost, c.Timeout, c.KeepFinished, c.BlobGrace, c.KeepDownloads,
	} {
		if d < 0 {
			return invalid("a time of %s is below 0", d)
		}
	}
	return nil
}
