package vmfactory

import (
	"context"
	"time"

	"drover/core"
	"drover/vmfactory/hostload"
)

// measureEvery is the time between two measures of the host. hostload.Due says which of them are sent.
const measureEvery = 2 * time.Second

// hostLoad is what the factory knows of the host's load.
type hostLoad struct {
	next   time.Time         // when it is measured again
	sent   *core.HostMeasure // what Redis knows; nil before the first one of an epoch or of an incarnation of Redis
	at     time.Time         // when that was sent
	within time.Duration     // time within which the next one is due
	broken bool              // the host could not be measured the last time
}

// measure measures the host at times, and sends the measure to Redis if it is due.
func (e *epoch) measure(ctx context.Context) error {
	its, now := &e.load, e.clock.Now()
	if e.meter == nil || now.Before(its.next) {
		return nil
	}
	its.next = now.Add(measureEvery)
	m, err := e.meter.Measure()
	if err != nil {
		if !its.broken {
			e.log.WithError(err).Warn("cannot measure what is free on this host; operators do not see it")
		}
		its.broken = true
		return nil
	}
	its.broken = false
	whole := e.cfg.Registration.Whole()
	e.metrics.measured(m, whole)
	if its.sent != nil && !hostload.Due(*its.sent, m, whole, now.Sub(its.at), its.within) {
		return nil
	}
	within, err := e.vms.Measured(ctx, e.owner(), e.n, e.host(), m)
	if err != nil {
		return err
	}
	its.sent, its.at, its.within = &m, now, within
	return nil
}
