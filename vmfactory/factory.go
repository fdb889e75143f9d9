package vmfactory

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/core/service"
	"drover/core/service/clock"
	"drover/core/service/metric"
	"drover/core/worker"
)

// Deps are what a Factory works with.
type Deps struct {
	VMs       core.VMs
	Owners    core.Owners
	Providers []Provider
	Clock     clock.Clock      // nil: the machine's
	Now       func() time.Time // by the clock that all hosts share; nil: by Clock
	Log       logrus.FieldLogger
	Metrics   *metric.Set   // gets the metrics; may be nil
	NewID     func() string // makes the name of a VM; nil: lower-case ULIDs
	// Wishes reads the result store's wishes for a host. Until it has returned, the host claims nothing in a new
	// epoch or incarnation of Redis. Nil: there are no wishes.
	Wishes func(ctx context.Context, host string) ([]core.HostWish, error)
	Trial  Trial // tests a provider before its first VM; nil: no test
	Meter  Meter // measures the host; nil: nothing is measured
}

// Meter measures a host.
type Meter interface {
	Measure() (core.HostMeasure, error)
}

// Factory keeps one host's pools at their targets.
type Factory struct {
	cfg       Config
	vms       core.VMs
	owners    core.Owners
	providers map[string]Provider
	names     []string // of the providers, in the given order
	clock     clock.Clock
	now       func() time.Time // by the clock that all hosts share
	log       logrus.FieldLogger
	newID     func() string
	wishes    func(ctx context.Context, host string) ([]core.HostWish, error)
	trial     Trial
	meter     Meter
	metrics   *metrics

	calls calls // provider calls that have not returned

	// The following belongs to the loop of the current epoch and outlives it.
	pools  map[string]*poolState // by name
	turn   int64                 // number of creations begun
	purge  bool                  // --recover is still to be done
	trials trials
	load   hostLoad

	served atomic.Pointer[[]string] // pools whose VMs this host makes

	homes homes // VM → provider
	board board // data for Status
}

// New checks the config and makes a factory. Returns INVALID for an invalid config.
func New(cfg Config, deps Deps) (*Factory, error) {
	cfg = cfg.filled()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	f := &Factory{
		cfg: cfg, vms: deps.VMs, owners: deps.Owners, clock: deps.Clock, now: deps.Now, log: deps.Log, newID: deps.NewID,
		wishes: deps.Wishes, trial: deps.Trial, meter: deps.Meter, trials: make(trials),
		providers: make(map[string]Provider), pools: make(map[string]*poolState),
		metrics: newMetrics(deps.Metrics), purge: cfg.Recover,
	}
	for _, p := range deps.Providers {
		if _, twice := f.providers[p.Name()]; twice {
			return nil, core.Errorf(core.CodeInvalid, p.Name(), "provider %s is given twice", p.Name())
		}
		f.providers[p.Name()] = pairs{p}
		f.names = append(f.names, p.Name())
	}
	if len(f.names) == 0 {
		return nil, core.Errorf(core.CodeInvalid, cfg.Registration.Owner, "vmfactory: no provider: name at least one with --provider")
	}
	if f.clock == nil {
		f.clock = clock.Real{}
	}
	if f.now == nil {
		f.now = f.clock.Now
	}
	if f.newID == nil {
		f.newID = func() string { return strings.ToLower(ulid.Make().String()) }
	}
	f.Serve(cfg.Pools)
	f.serving()
	f.log = f.log.WithField("owner", cfg.Registration.Owner)
	return f, nil
}

// Serve changes for which pools this host makes VMs, from the next look on. VMs of pools that it no longer serves
// stay as they are.
func (f *Factory) Serve(pools []string) { f.served.Store(&pools) }

// serving returns the served pools and makes sure that each has a state. It belongs to the loop.
func (f *Factory) serving() []string {
	pools := *f.served.Load()
	for _, name := range pools {
		if f.pools[name] == nil {
			f.pools[name] = newPoolState(name, f.cfg)
		}
	}
	return pools
}

// Run works until ctx ends; then it completes its work in progress and deregisters. VMs stay, unless the config says
// otherwise. When its epoch ends it starts a new one. Returns BUSY if another vmfactory has the host or evicted this
// one, VERSION if Redis is of another schema, FORBIDDEN or INVALID if Redis refuses it permanently.
func (f *Factory) Run(ctx context.Context) error {
	lock, err := f.lock()
	if err != nil {
		return err
	}
	defer lock.Release()
	notice := func(text string, err error) { f.log.WithError(err).Warn(text) }
	return worker.Epochs(ctx, nil, notice, func() error {
		err := f.live(ctx)
		if core.Is(err, core.CodeFenced) && !lock.Stands() {
			return core.Wrap(err, core.CodeBusy, f.cfg.Registration.Host, "another vmfactory evicted this one")
		}
		return err
	})
}

func (f *Factory) lock() (*service.Lock, error) {
	if f.cfg.ForceUnregister {
		return seizeLock(f.cfg.RunDir)
	}
	return takeLock(f.cfg.RunDir)
}

// awaitEvicted waits for the vmfactory that lost its lock to us. It notices that and stops because our registration
// has ended its epoch.
func (f *Factory) awaitEvicted(ctx context.Context) {
	if f.cfg.ForceUnregister && !awaitEvicted(ctx, f.cfg.RunDir, f.cfg.StopTimeout) {
		f.log.Warn("the evicted vmfactory has not stopped; going on without waiting for it")
	}
}

// live is one epoch, from registration to deregistration.
func (f *Factory) live(ctx context.Context) error {
	e := newEpoch(f)
	presence, left, err := worker.Join(ctx, f.owners, worker.PresenceConfig{Registration: f.cfg.Registration, Hear: e.hear})
	if err != nil {
		return err
	}
	defer presence.Stop()
	f.awaitEvicted(ctx)
	f.log.WithFields(logrus.Fields{"epoch": presence.Epoch(), "left": len(left)}).Info("registered")
	return e.run(ctx, presence, left)
}

// host is the factory's host.
func (f *Factory) host() string { return f.cfg.Registration.Host }

// owner is the factory's name.
func (f *Factory) owner() string { return f.cfg.Registration.Owner }
