package vmfactory

import (
	"runtime"
	"time"

	"drover/core"
)

// Config are a host's vmfactory's settings. The zero value of a setting that Defaults has is replaced by its default.
type Config struct {
	Registration core.Registration // the owner's name, host, machine and size
	Pools        []string          // pools whose VMs this host makes
	RunDir       string            // the host's run folder: VMs' folders and the lock file
	MaxVMs       int               // most VMs on the host, of all pools together; 0 is no limit
	Parallel     int               // concurrent calls to providers; about twice the cores saturate a host

	Poll           time.Duration // how often it looks for work without the bell
	CheckEvery     time.Duration // between health checks of clean VMs
	ReconcileEvery time.Duration // between comparisons with the VMs that are really on the host

	CreateTimeout  time.Duration // of each phase of a creation
	DestroyTimeout time.Duration // of one try
	CheckTimeout   time.Duration // of one VM's health check
	ListTimeout    time.Duration // of listing a provider's VMs, and of checking whether the provider is ready
	StopTimeout    time.Duration // for work in progress when told to stop

	CreateTries   int           // failures in a row before a pool is marked broken on this host
	CreateBackoff time.Duration // after the first failure; doubles
	BrokenRetry   time.Duration // between tries of a broken pool
	DestroyTries  int           // before a VM is quarantined
	DestroyPause  time.Duration // after the first failed try; doubles
	SurplusAfter  time.Duration // how long surplus clean VMs are kept

	Recover         bool // discard Redis' records of the host and rebuild them from the machine
	ForceUnregister bool // evict another vmfactory of this host
	DestroyOnStop   bool // leave no VM behind, for an embedded cluster
	SelfTestWarns   bool // use a provider even if it fails its self-test
	SelfTestBeside  bool // use a provider during its first self-test, until it fails
}

// Defaults returns the default settings.
func Defaults() Config {
	return Config{
		Parallel: 2 * runtime.NumCPU(),
		Poll:     time.Second, CheckEvery: 30 * time.Second, ReconcileEvery: time.Minute,
		CreateTimeout: 30 * time.Second, DestroyTimeout: 30 * time.Second, CheckTimeout: 4 * time.Second,
		ListTimeout: 30 * time.Second, StopTimeout: 15 * time.Second,
		CreateTries: 3, CreateBackoff: 500 * time.Millisecond, BrokenRetry: time.Minute,
		DestroyTries: 3, DestroyPause: time.Second, SurplusAfter: 10 * time.Second,
	}
}

// filled returns c with defaults for zero fields.
func (c Config) filled() Config {
	d := Defaults()
	for _, f := range []struct{ got, or *time.Duration }{
		{&c.Poll, &d.Poll},
		{&c.CheckEvery, &d.CheckEvery},
		{&c.ReconcileEvery, &d.ReconcileEvery},
		{&c.CreateTimeout, &d.CreateTimeout},
		{&c.DestroyTimeout, &d.DestroyTimeout},
		{&c.CheckTimeout, &d.CheckTimeout},
		{&c.ListTimeout, &d.ListTimeout},
		{&c.StopTimeout, &d.StopTimeout},
		{&c.CreateBackoff, &d.CreateBackoff},
		{&c.BrokenRetry, &d.BrokenRetry},
		{&c.DestroyPause, &d.DestroyPause},
		{&c.SurplusAfter, &d.SurplusAfter},
	} {
		if *f.got == 0 {
			*f.got = *f.or
		}
	}
	for _, f := range []struct{ got, or *int }{
		{&c.Parallel, &d.Parallel}, {&c.CreateTries, &d.CreateTries}, {&c.DestroyTries, &d.DestroyTries},
	} {
		if *f.got == 0 {
			*f.got = *f.or
		}
	}
	if c.Registration.Beat == 0 {
		c.Registration.Beat = time.Second
	}
	return c
}

// check returns an INVALID error that names the first invalid setting.
func (c Config) check() error {
	if err := core.CheckName("host", c.Registration.Host); err != nil {
		return err
	}
	name := core.OwnerName(core.RoleVMFactory, c.Registration.Host, 0)
	invalid := func(format string, args ...any) error {
		return core.Errorf(core.CodeInvalid, c.Registration.Owner, "vmfactory: "+format, args...)
	}
	switch {
	case c.Registration.Owner != name:
		return invalid("the one vmfactory of host %s is called %s", c.Registration.Host, name)
	case len(c.Pools) == 0:
		return invalid("no pools: name at least one with --pools")
	case c.RunDir == "":
		return invalid("no run folder: name one with --run")
	case c.MaxVMs < 0 || c.Parallel < 1 || c.CreateTries < 1 || c.DestroyTries < 1:
		return invalid("most VMs must not be negative; parallel calls and tries must be above 0")
	}
	for _, d := range []time.Duration{
		c.Registration.Beat, c.Poll, c.CheckEvery, c.ReconcileEvery, c.CreateTimeout, c.DestroyTimeout, c.CheckTimeout,
		c.ListTimeout, c.StopTimeout, c.CreateBackoff, c.BrokenRetry, c.DestroyPause, c.SurplusAfter,
	} {
		if d < 0 {
			return invalid("a time of %s is below 0", d)
		}
	}
	for _, p := range c.Pools {
		if err := core.CheckName("pool", p); err != nil {
			return err
		}
	}
	return nil
}
