package taskrunner

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/core/clock"
)

// Handler does one kind of task and returns a note for people on what it did. It
// must return soon after ctx has ended, and bear being run again. An error with
// code INVALID cannot be mended by trying again.
type Handler func(ctx context.Context, args json.RawMessage) (note string, err error)

// Parts are what a Runner works with.
type Parts struct {
	Owners   core.Owners
	Tasks    core.Tasks
	Store    core.ResultStore
	Blobs    core.Blobs
	Clock    clock.Clock // nil: the machine's
	Log      logrus.FieldLogger
	Handlers map[string]Handler // by kind, beside the built-in ones
}

// Runner does tasks.
type Runner struct {
	cfg      Config
	owners   core.Owners
	tasks    core.Tasks
	store    core.ResultStore
	clock    clock.Clock
	log      logrus.FieldLogger
	handlers map[string]Handler
	metrics  *metrics

	drained  sync.Once
	draining chan struct{}
}

// New checks the config and makes a runner. Returns INVALID for a config that cannot be.
func New(cfg Config, parts Parts) (*Runner, error) {
	cfg = cfg.filled()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	r := &Runner{
		cfg: cfg, owners: parts.Owners, tasks: parts.Tasks, store: parts.Store, clock: parts.Clock,
		log: parts.Log.WithField("owner", cfg.Registration.Owner), metrics: newMetrics(), draining: make(chan struct{}),
	}
	if r.clock == nil {
		r.clock = clock.Real{}
	}
	purge := &Purge{
		Store: parts.Store, Blobs: parts.Blobs, Keep: cfg.KeepFinished, Grace: cfg.BlobGrace, Clock: r.clock,
	}
	r.handlers = map[string]Handler{core.KindPurge: purge.Handle}
	maps.Copy(r.handlers, parts.Handlers)
	return r, nil
}

// Collector returns the runner's Prometheus metrics.
func (r *Runner) Collector() prometheus.Collector { return r.metrics }

// Drain asks Run to claim no more, finish what is in hand and return.
func (r *Runner) Drain() { r.drained.Do(func() { close(r.draining) }) }

// Run works until Drain was called and its tasks are done, or until ctx ends: then
// it stops its tasks and gives them back. When its epoch ends it stops them too,
// and starts a new one. Returns BUSY if another machine has the host's name,
// VERSION if Redis is of another schema.
func (r *Runner) Run(ctx context.Context) error {
	wait := patience()
	for ctx.Err() == nil {
		err := r.live(ctx)
		if err == nil || slices.Contains(hopeless, core.CodeOf(err)) {
			return err
		}
		if ctx.Err() == nil {
			r.log.WithError(err).Warn("cannot go on in this epoch; starting a new one")
		}
		select {
		case <-r.clock.After(wait.NextBackOff()):
		case <-r.draining: // it holds nothing that it could finish
			return nil
		case <-ctx.Done():
		}
	}
	return nil
}

// live is one epoch, from registration to deregistration.
func (r *Runner) live(ctx context.Context) error {
	reg, err := r.owners.Register(ctx, r.cfg.Registration)
	if err != nil {
		return err
	}
	r.log.WithFields(logrus.Fields{"epoch": reg.Epoch, "left": len(reg.Left)}).Info("registered")
	return newEpoch(r, reg).run(ctx)
}

// hopeless are the refusals of a registration that trying again does not mend.
var hopeless = []core.Code{core.CodeBusy, core.CodeVersion, core.CodeInvalid, core.CodeForbidden}

// patience spaces out what must be repeated until Redis or the store answers.
func patience() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = 100*time.Millisecond, 5*time.Second
	return b
}

// delay says how long a task rests after its nth failure.
func (r *Runner) delay(failures int) time.Duration {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier, b.MaxInterval = r.cfg.RetryFirst, 2, r.cfg.RetryMost
	var d time.Duration
	for range min(failures, 32) {
		d = b.NextBackOff()
	}
	return d
}
