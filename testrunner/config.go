package testrunner

import (
	"cmp"
	"time"

	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/core/cluster/recovery"
	"drover/core/service/clock"
	"drover/core/service/metric"
)

// Config are a testrunner's settings. Zero fields get the defaults named.
type Config struct {
	Registration core.Registration // the owner's name, host, machine and size
	Pools        []string          // pools to take work from
	Slots        int               // concurrent requests; default 1
	RunDir       string            // the host's run folder: a VM's folder is RunDir/<vm>
	BuildsDir    string            // where compiled states are kept for later gradings; "" keeps none; runners of a host may share it
	Proc         string            // where the kernel says how busy the host is; default /proc
	SpoolDir     string            // where results wait while the store is down; runners of a host may share it

	Poll        time.Duration // how often an idle testrunner asks for work without the bell; default 1 s
	MaxAttempts int           // deaths of VMs that make a request dead; default recovery.MaxAttempts
	MaxDeaths   int           // deaths of testrunners that make a request dead if they count against it; default recovery.MaxDeaths, below 0 any number
	RunGrace    time.Duration // how long after a run's time limit its VM may take to report the end; default 10 s
	Pause       time.Duration // before the third run of a test that is close to its limit; each later one waits by that much longer; default 0.5 s
	HandOver    time.Duration // how long a stopping testrunner tries to deliver results; default 10 s
	BuildsBytes int64         // most bytes of compiled states; default 512 MiB
	SpoolFiles  int           // most results that the spool holds; default 10,000
	SpoolBytes  int64         // most bytes that the spool holds; default 1 GiB
}

func (c Config) filled() Config {
	c.Proc = cmp.Or(c.Proc, "/proc")
	c.Slots = cmp.Or(c.Slots, 1)
	c.Poll = cmp.Or(c.Poll, time.Second)
	c.MaxAttempts = cmp.Or(c.MaxAttempts, recovery.MaxAttempts)
	c.RunGrace = cmp.Or(c.RunGrace, 10*time.Second)
	c.Pause = cmp.Or(c.Pause, 500*time.Millisecond)
	c.HandOver = cmp.Or(c.HandOver, 10*time.Second)
	c.BuildsBytes = cmp.Or(c.BuildsBytes, 512<<20)
	c.SpoolFiles = cmp.Or(c.SpoolFiles, 10_000)
	c.SpoolBytes = cmp.Or(c.SpoolBytes, 1<<30)
	return c
}

// check returns an INVALID error that names the first invalid setting. The worker checks its own settings when it is
// opened.
func (c Config) check() error {
	owner := c.Registration.Owner
	role, _, err := core.ParseOwner(owner)
	switch {
	case err != nil:
		return err
	case role != core.RoleTestrunner:
		return core.Errorf(core.CodeInvalid, owner, "testrunner: %q is not the name of a testrunner", owner)
	case c.RunDir == "":
		return core.Errorf(core.CodeInvalid, owner, "testrunner: no run folder: name one with --run")
	case c.SpoolDir == "":
		return core.Errorf(core.CodeInvalid, owner, "testrunner: no folder for results that wait for the store")
	case c.Slots < 1 || c.MaxAttempts < 1 || c.SpoolFiles < 1 || c.SpoolBytes < 1 || c.BuildsBytes < 1:
		return core.Errorf(core.CodeInvalid, owner, "testrunner: slots, attempts and the bounds of spool and builds must be at least 1")
	case c.Poll < 0 || c.RunGrace < 0 || c.Pause < 0 || c.HandOver < 0:
		return core.Errorf(core.CodeInvalid, owner, "testrunner: no time may be below 0")
	}
	return nil
}

// Deps are what a Runner works with.
type Deps struct {
	Owners core.Owners
	Claims core.Claims
	Pools  core.Pools
	Output core.Output
	Store  recovery.Store
	Blobs  core.Blobs // of submissions and standard input
	// Harnesses holds harness archives: the host's cache in front of the blob store. Nil: Blobs.
	Harnesses core.Blobs
	Dial      Dial        // nil: core/agent over the VM's socket
	Clock     clock.Clock // nil: the machine's
	Log       logrus.FieldLogger
	Metrics   *metric.Set // gets the metrics; may be nil
}
