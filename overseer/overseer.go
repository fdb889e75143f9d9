package overseer

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"drover/core"
	"drover/core/cluster/placement"
	"drover/core/cluster/recovery"
	"drover/core/service/clock"
	"drover/core/service/metric"
)

// Counts is what a chore did, such as "requests retried" → 3. Zeros may be left out.
type Counts map[string]int

// Chore is one line of the overseer's table.
type Chore struct {
	Name  string
	Every time.Duration // the interval between two runs
	// Routine marks a chore that always finds something to do: that is logged at the debug level only.
	Routine bool
	// Run does a bounded part of the chore and continues at its next turn.
	Run func(ctx context.Context) (Counts, error)
	// Wait returns when the next run is due, or an error when ctx ends; nil: Every after the last one.
	Wait func(ctx context.Context, every time.Duration) error
	// Whole does all of it, for an overseer that runs once. Nil: Run does.
	Whole func(ctx context.Context) (Counts, error)
}

// Intake is the part of intake.Intake that the overseer needs.
type Intake interface {
	RestorePools(ctx context.Context) (int, error)
	Sweep(ctx context.Context) (int, error)
	SweepAll(ctx context.Context) (int, error)
	SweepRemoved(ctx context.Context) (int, error)
	Expire(ctx context.Context) (int, error)
	ExpireAll(ctx context.Context) (int, error)
	FailBroken(ctx context.Context) (int, error)
	FailAllBroken(ctx context.Context) (int, error)
	FailBegun(ctx context.Context, id string) error
	SubmitTask(ctx context.Context, t core.Task) (core.Task, bool, error)
}

// Pools is the part of core.Pools that the overseer needs.
type Pools interface {
	ListPools(ctx context.Context) ([]core.Pool, error)
	RemovePool(ctx context.Context, name string, asks bool) error
	Outages(ctx context.Context) (map[string]core.Outage, error)
	SetOutage(ctx context.Context, pool string, o core.Outage) (bool, error)
}

// History is the part of core.History that the overseer needs.
type History interface {
	Events(ctx context.Context, after string) ([]core.Event, error)
}

// Store is what an Overseer needs of the result store.
type Store interface {
	recovery.Store
	core.HostWishes
	core.Schedules
	core.StateLog
	core.Statistics
	core.Leases
	Unfinished(ctx context.Context, after string, limit int) ([]core.Spec, error)
	Pools(ctx context.Context) ([]core.Pool, error)
	ListAuditEntries(ctx context.Context, f core.AuditFilter) ([]core.AuditEntry, error)
}

// Deps are what an Overseer works with.
type Deps struct {
	Owners      core.Owners
	Hosts       core.Hosts
	Pools       Pools
	Queue       core.Queue
	Evacuations core.Evacuations
	Placements  core.Placements
	Leased      core.LeasedPools
	Reports     core.Reports
	History     History
	Consistency core.Consistency
	Store       Store
	Intake      Intake
	Cancel      func(ctx context.Context, id, by string) (core.RequestState, error) // a waiting request, as intake.Intake does
	Clock       clock.Clock                                                         // nil: the machine's
	// Skew is how far that clock is ahead of Redis'; nil: not at all.
	Skew func(ctx context.Context) (time.Duration, error)
	// Expected returns how many requests per second are to be expected of pools, beside those that come anyway; nil:
	// none.
	Expected func(ctx context.Context) (map[string]float64, error)
	// Oversee records the overseer's heartbeat, whose next one is due within the given time; may be nil.
	Oversee func(ctx context.Context, within time.Duration) error
	Elastic Elastic     // hosts that are made when work waits; without Instances there are none
	Metrics *metric.Set // gets the metrics; may be nil
	Log     logrus.FieldLogger
}

// Overseer runs the chores. Several overseers may run at once.
type Overseer struct {
	cfg     Config
	deps    Deps
	clock   clock.Clock
	log     logrus.FieldLogger
	metrics *metrics
	damper  damper
	chores  []Chore

	seeded bool              // the built-in schedules exist, or existed
	broken map[string]string // schedule → invalid times that were reported

	reserved atomic.Pointer[placement.Reserved] // by leases, for the chore place; nil: nothing

	placed atomic.Int64 // pause after the last round of placement, ns
	hosts  atomic.Int64 // that it found

	calendar core.Calendar     // as last read, by the chore leases alone
	hostsOut chan struct{}     // a monitor has taken a host out
	clouds   map[string]opened // by group, of the chore scale alone

	expected map[string]float64 // as last read, by the chore place alone
	expectAt time.Time          // when it is read again
}

// New checks the config and makes an overseer with the whole table of chores. Returns INVALID for an invalid config.
func New(cfg Config, deps Deps) (*Overseer, error) {
	cfg = cfg.filled()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	o := &Overseer{cfg: cfg, deps: deps, clock: deps.Clock, log: deps.Log, metrics: newMetrics(deps.Metrics), broken: map[string]string{}, hostsOut: make(chan struct{}, 1), clouds: map[string]opened{}}
	if o.clock == nil {
		o.clock = clock.Real{}
	}
	o.chores = o.table()
	return o, nil
}

// late converts the age of a heartbeat to its lateness: the next one is due a beat after it.
func (o *Overseer) late(since time.Duration) time.Duration { return since - o.cfg.Beat }

// now returns the time by Redis' clock, which all of its records use.
func (o *Overseer) now(ctx context.Context) (time.Time, error) {
	if o.deps.Skew == nil {
		return o.clock.Now(), nil
	}
	ahead, err := o.deps.Skew(ctx)
	return o.clock.Now().Add(-ahead), err
}

// Run runs every chore at its interval until ctx ends. A chore that fails is reported and tried again at its next
// turn.
func (o *Overseer) Run(ctx context.Context) error {
	var g errgroup.Group
	for _, c := range o.chores {
		g.Go(func() error {
			o.repeat(ctx, c)
			return nil
		})
	}
	return g.Wait()
}

// repeat runs one chore repeatedly. Only changes are logged.
func (o *Overseer) repeat(ctx context.Context, c Chore) {
	failing := false
	for ctx.Err() == nil {
		r := o.do(ctx, c, c.Run)
		log := o.log.WithField("chore", c.Name)
		switch {
		case ctx.Err() != nil:
			return
		case r.Err != nil && !failing:
			log.WithError(r.Err).Warn("a chore failed; trying again")
		case r.Err == nil && failing:
			log.Info("the chore works again")
		}
		failing = r.Err != nil
		wait := c.Wait
		if wait == nil {
			wait = func(ctx context.Context, every time.Duration) error { return clock.Sleep(ctx, o.clock, every) }
		}
		if wait(ctx, c.Every) != nil {
			return
		}
	}
}

// Report is what one overseer did in one run.
type Report struct {
	Chores []Done `json:"chores"`
}

// Done is one chore's run.
type Done struct {
	Chore  string `json:"chore"`
	Counts Counts `json:"counts"`
	TookMs int64  `json:"took_ms"`
	Error  string `json:"error,omitempty"`
	Err    error  `json:"-"`
}

// Once runs every chore once, completely and in the order of the table. One failure does not hold back the other
// chores; the error lists all of them.
func (o *Overseer) Once(ctx context.Context) (Report, error) {
	var report Report
	var troubles []error
	for _, c := range o.chores {
		run := c.Run
		if c.Whole != nil {
			run = c.Whole
		}
		d := o.do(ctx, c, run)
		report.Chores = append(report.Chores, d)
		if d.Err != nil {
			troubles = append(troubles, core.Wrap(d.Err, core.CodeOf(d.Err), c.Name, "chore %s", c.Name))
		}
	}
	return report, errors.Join(troubles...)
}

// do runs a chore, bounded, and counts what it did.
func (o *Overseer) do(ctx context.Context, c Chore, run func(context.Context) (Counts, error)) Done {
	bounded, cancel := context.WithTimeout(ctx, o.cfg.Timeout)
	defer cancel()
	begun := o.clock.Now()
	counts, err := run(bounded)
	took := o.clock.Now().Sub(begun)
	if bounded.Err() != nil && ctx.Err() == nil && err != nil {
		err = core.Wrap(err, core.CodeUnavailable, c.Name, "not done within %s; it goes on at its next turn", o.cfg.Timeout)
	}
	o.metrics.observe(c.Name, counts, took, err, o.clock.Now())
	d := Done{Chore: c.Name, Counts: Counts{}, TookMs: took.Milliseconds(), Err: err}
	if err != nil {
		d.Error = err.Error()
	}
	fields := logrus.Fields{}
	for what, n := range counts {
		if n != 0 {
			d.Counts[what], fields[what] = n, n
		}
	}
	if len(fields) > 0 {
		level := logrus.InfoLevel
		if c.Routine {
			level = logrus.DebugLevel
		}
		o.log.WithField("chore", c.Name).WithFields(fields).Log(level, "done")
	}
	return d
}
