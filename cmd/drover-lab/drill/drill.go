// Package drill starts a cluster of real processes on this machine, puts load on it, injects faults of every kind at
// random, heals them again, and reports what became of the work: nothing may be lost, nothing doubled, nothing left
// behind.
//
// As root the cluster is in its own namespaces, with one network for each host, and all of it ends with the drill,
// even if the drill is killed. Otherwise hosts are plain processes, and faults that need root are left out.
package drill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"drover/core"
	"drover/core/cluster/lease"
	"drover/core/redisstore"
	"drover/core/requests/intake"
	"drover/core/school"
	"drover/core/service"
	"drover/core/service/clock"
)

// Config are a drill's settings.
type Config struct {
	For    time.Duration // no fault is injected after it; 0: until all were
	Faults int           // how many are injected
	Seed   uint64        // the same seed and settings make the same plan
	Only   []string      // kinds of faults; none means all
	AtOnce int           // most faults at the same time
	Hold   time.Duration // of every fault until it is healed; 0: the plan's
	Hosts  int
	Slots  int           // of each host's testrunner
	Load   int           // unfinished requests that are kept in the cluster
	Beat   time.Duration // between heartbeats; 0: the cluster's default. Suspect and down follow it
	Logs   string        // folder for what the components say; "": nobody asks

	Program  string // the executable that hosts run
	Open     func(ctx context.Context, environ []string) (*Client, error)
	Progress io.Writer // lines for people
}

// Client is a connection to the cluster under drill.
type Client struct {
	Redis   *redisstore.Store
	Store   school.ResultStore
	Intake  *intake.Intake
	Leases  *lease.Service
	StoreID string // id of the result store: its machines have it
	Close   func() error
}

// Check returns an INVALID error for the first setting that cannot be.
func (c *Config) Check() error {
	for _, n := range []struct {
		flag       string
		got, least int
		most       int
	}{
		{"faults", c.Faults, 1, 1_000_000},
		{"hosts", c.Hosts, 1, 16},
		{"slots", c.Slots, 1, 64},
		{"load", c.Load, 1, 900},
		{"at-once", c.AtOnce, 1, 64},
	} {
		if n.got < n.least || n.got > n.most {
			return core.Errorf(core.CodeInvalid, n.flag, "--%s %d must be between %d and %d", n.flag, n.got, n.least, n.most)
		}
	}
	const shortBeat = 50 * time.Millisecond
	switch {
	case c.For < 0:
		return core.Errorf(core.CodeInvalid, "for", "--for %s must not be below 0", c.For)
	case c.Hold < 0:
		return core.Errorf(core.CodeInvalid, "hold", "--hold %s must not be below 0", c.Hold)
	case c.Beat != 0 && c.Beat < shortBeat:
		return core.Errorf(core.CodeInvalid, "beat", "--beat %s must be at least %s", c.Beat, shortBeat)
	}
	_, err := pick(c.Only)
	return err
}

// beat is the time between heartbeats.
func (c *Config) beat() time.Duration { return cmp.Or(c.Beat, time.Second) }

// down is how late a heartbeat may be before its owner is fenced.
func (c *Config) down() time.Duration { return 5 * c.beat() }

func (c *Config) say(format string, args ...any) {
	fmt.Fprintf(c.Progress, format+"\n", args...)
}

// prefix begins the name of a drill's folder.
const prefix = "drover-drill-"

// Run makes one drill. If ctx ends early, it heals, cleans up and reports what was done until then. The error is
// about a drill that could not be made, not about its findings.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	kinds, err := pick(cfg.Only)
	if err != nil {
		return nil, err
	}
	sweep(ctx, cfg.Program)
	scratch, err := service.NewScratch(prefix)
	if err != nil {
		return nil, err
	}
	d := &drill{cfg: cfg, cluster: newCluster(cfg, scratch.Dir), report: newReport(cfg)}
	err = d.run(ctx, kinds)
	return d.report, errors.Join(err, scratch.Remove())
}

// drill is one run.
type drill struct {
	cfg     Config
	cluster *cluster
	report  *Report

	mu sync.Mutex // guards the report while faults are injected
}

// Bounds of the phases after the faults.
const (
	endTimeout         = 3 * time.Minute  // in which some request must end, until all have
	consistencyTimeout = 60 * time.Second // for the consistency check, and for Redis and hosts to agree
	stopTimeout        = 30 * time.Second
)

func (d *drill) run(ctx context.Context, kinds []*kind) error {
	begun := time.Now()
	always := context.WithoutCancel(ctx)
	h, r := d.cluster, d.report
	before, err := survey(h)
	if err != nil {
		return err
	}
	err = errors.Join(adopt(h), h.build(ctx))
	if err == nil {
		err = d.work(ctx, kinds)
	}
	prefixes := h.cgroupPrefixes()
	err = errors.Join(err, h.stop(always))
	r.leaks(h, prefixes)
	err = errors.Join(err, h.remove(always))
	after, unseen := survey(h)
	r.more(before, after)
	r.DurationMs = time.Since(begun).Milliseconds()
	return errors.Join(err, unseen)
}

// work is the part between the cluster's start and its end.
func (d *drill) work(ctx context.Context, kinds []*kind) error {
	h, always := d.cluster, context.WithoutCancel(ctx)
	if err := h.start(ctx); err != nil {
		return err
	}
	w, l := newWatch(h), newLoad(d.cfg, h)
	h.watch, h.leases = w, newLeasing(d.cfg, h)
	var err error
	if h.elastic, err = h.startGroup(ctx); err != nil {
		return err
	}
	watching, enough := context.WithCancel(always)
	var watched sync.WaitGroup
	watched.Go(func() { w.run(watching) })
	watched.Go(func() { h.rooms.watch(watching, h.hosts) })
	watched.Go(func() { h.elastic.watch(watching, w.seen) })
	watched.Go(func() { h.leases.watch(watching) })
	defer watched.Wait()
	defer enough()
	d.cfg.say("%d hosts, %s; seed %d", len(h.hosts), h.kind(), d.cfg.Seed)
	if err := l.warm(ctx); err != nil {
		return err
	}
	h.leases.stand(ctx)
	loading, unload := context.WithCancel(ctx)
	var loaded sync.WaitGroup
	loaded.Go(func() { l.run(loading) })
	for _, k := range kinds {
		if why := h.skipped(k); why != "" {
			d.report.Skipped[k.name] = why
		}
	}
	d.inject(ctx, w, newPlan(d.cfg, kinds, h))
	unload()
	loaded.Wait()
	wrong := h.leases.close(always)
	for _, what := range wrong {
		d.report.lease("%s", what)
	}
	d.settle(always, l)
	if err := h.elastic.close(always, d.report); err != nil {
		return err
	}
	w.times(d.report)
	h.exits(d.report)
	return d.report.count(always, h, l, w.seen)
}

// inject carries out the plan, several faults at a time, and returns once all are healed.
func (d *drill) inject(ctx context.Context, w *watch, plan []fault) {
	if d.cfg.For > 0 {
		bounded, cancel := context.WithTimeout(ctx, d.cfg.For)
		defer cancel()
		ctx = bounded
	}
	g := newGround(d.cfg.AtOnce)
	for _, f := range plan {
		if clock.Sleep(ctx, clock.Real{}, f.gap) != nil || !g.take(ctx, f.needs()) {
			break
		}
		if d.cfg.AtOnce == 1 {
			d.recover(ctx, w, f)
		}
		d.report.Faults[f.kind.name]++
		d.report.Faults[total]++
		if n := d.report.Faults[total]; n%50 == 0 {
			d.cfg.say("%d faults, %d of them now", n, g.busy())
		}
		go func() {
			defer g.give(f.needs())
			d.cluster.note("fault %d: %s", f.n, f)
			defer d.cluster.note("fault %d is healed", f.n)
			if err := f.carryOut(ctx, d.cluster, w); err != nil {
				d.mu.Lock()
				d.report.detail("fault %d, %s: %v", f.n, f, err)
				d.mu.Unlock()
			}
		}()
	}
	g.drain()
}

// recover removes the effects of the previous fault: failing hosts one after the other is a measurement, and must not
// count as flapping.
func (d *drill) recover(ctx context.Context, w *watch, f fault) {
	d.cluster.await(ctx, stopTimeout, func(ctx context.Context) bool { return w.all(ctx, f.struck()) })
	for _, o := range d.cluster.hosts {
		if err := d.cluster.client.Redis.Probation(ctx, o.name, "", 0, 0); err != nil {
			d.mu.Lock()
			d.report.detail("%s stays on probation: %v", o.name, err)
			d.mu.Unlock()
		}
	}
}

// settle waits until every accepted request has its end, and the consistency check is clean.
func (d *drill) settle(ctx context.Context, l *load) {
	d.cfg.say("all is healed; waiting for what was accepted")
	last, since := -1, time.Now()
	for time.Since(since) < endTimeout {
		n, err := l.unfinished(ctx)
		if err == nil && n == 0 {
			break
		}
		if err == nil && n != last {
			last, since = n, time.Now()
		}
		if clock.Sleep(ctx, clock.Real{}, 100*time.Millisecond) != nil {
			return
		}
	}
	audit := &lease.Audit{Consistency: d.cluster.client.Redis, Leases: d.cluster.client.Leases}
	d.cluster.await(ctx, consistencyTimeout, func(ctx context.Context) bool {
		broken, err := audit.CheckConsistency(ctx)
		d.report.Consistency = broken
		return err == nil && len(broken) == 0 && len(d.cluster.unknown(ctx)) == 0
	})
	d.report.Unknown = d.cluster.unknown(ctx)
}
