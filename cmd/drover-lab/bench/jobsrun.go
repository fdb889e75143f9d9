package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"drover/cmd/drover/access"
	"drover/core"
	"drover/core/requests"
)

// stallTimeout is how long no job may end.
const stallTimeout = time.Minute

// lastCalls bounds what is asked of a cluster once a measurement has failed.
const lastCalls = 10 * time.Second

// ride is one job as its submitter saw it.
type ride struct {
	id       string
	began    time.Time
	accepted time.Duration // since began, as the others
	printed  time.Duration // its first output; 0: it printed nothing
	ended    time.Duration // the submitter knows that there is a result
	bare     time.Duration // what it ran, run by itself afterwards; 0: that was not measured

	result core.Result // read afterwards
}

// run measures all kinds, one after the other, on a cluster that is asked in these ways, in turns.
func (b jobsBench) run(ctx context.Context, asked []access.Backend, m usageMeter, kinds []kind, r *jobsReport) error {
	for _, k := range kinds {
		if k.why != "" {
			r.Runs = append(r.Runs, kindReport{Kind: k.name, Skipped: k.why})
			continue
		}
		// So that programs, files and scripts are where they are in a cluster in use.
		if _, err := b.rides(ctx, asked, k, min(b.Jobs, 2*max(b.AtOnce, b.Slots))); err != nil {
			return err
		}
		one, err := measured(ctx, asked, m, k, func() ([]ride, error) { return b.rides(ctx, asked, k, b.Jobs) })
		if err != nil {
			return err
		}
		r.Runs = append(r.Runs, one)
		if b.Load > 0 {
			if one, err = b.loaded(ctx, asked, m, k); err != nil {
				return err
			}
			r.Runs = append(r.Runs, one)
		}
	}
	return nil
}

// measured reports what jobs take that run has run.
func measured(ctx context.Context, asked []access.Backend, m usageMeter, k kind, run func() ([]ride, error)) (kindReport, error) {
	before, err := m.read(ctx)
	if err != nil {
		return kindReport{}, err
	}
	begun := time.Now()
	rides, err := run()
	took := time.Since(begun)
	if err != nil {
		return kindReport{}, err
	}
	after, err := m.read(ctx)
	if err != nil {
		return kindReport{}, err
	}
	for i := range rides {
		v, err := asked[i%len(asked)].ViewRequest(ctx, rides[i].id)
		if err != nil {
			return kindReport{}, err
		}
		rides[i].result = v.Result
	}
	return kindReportOf(k.name, rides, took, after.since(before), m.sameClock()), nil
}

// rides has n jobs of a kind run, with a pause before each.
func (b jobsBench) rides(ctx context.Context, asked []access.Backend, k kind, n int) ([]ride, error) {
	return b.ridesAt(ctx, asked, k, n, b.AtOnce, func(ctx context.Context, _ int) {
		select {
		case <-time.After(b.Pause):
		case <-ctx.Done():
		}
	})
}

// ridesAt has n jobs run by some submitters, each job not before wait returns for it.
func (b jobsBench) ridesAt(ctx context.Context, asked []access.Backend, k kind, n, submitters int, wait func(context.Context, int)) ([]ride, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var last atomic.Value // an id that has not ended
	stalled := time.AfterFunc(stallTimeout, func() { fail(stall(context.WithoutCancel(ctx), asked[0], last.Load())) })
	defer stalled.Stop()
	all := make([]ride, n)
	var next atomic.Int64
	var mu sync.Mutex // of the first error
	var g errgroup.Group
	for range min(submitters, n) {
		g.Go(func() error {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				wait(ctx, i)
				err := all[i].take(ctx, asked[i%len(asked)], k.draft(), &last)
				if err == nil && k.bare != nil {
					all[i].bare, err = k.bare(ctx)
				}
				if err != nil {
					mu.Lock()
					defer mu.Unlock()
					fail(err)
					return err
				}
				stalled.Reset(stallTimeout)
			}
			return nil
		})
	}
	err := g.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	return all, err
}

// take submits a job and waits for its result. A job that nobody waits for any more is cancelled.
func (r *ride) take(ctx context.Context, d access.Backend, draft requests.Draft, last *atomic.Value) error {
	r.began = time.Now()
	v, err := d.SubmitRequest(ctx, draft)
	if err != nil {
		return err
	}
	r.id, r.accepted = v.ID, time.Since(r.began)
	last.Store(v.ID)
	for e, err := range d.FollowRequest(ctx, v.ID, "") {
		switch {
		case err != nil:
			return errors.Join(err, cancelled(context.WithoutCancel(ctx), d, v.ID))
		case e.Kind == requests.EventOutput && r.printed == 0:
			r.printed = time.Since(r.began)
		case e.Kind == requests.EventEnd:
			r.ended = time.Since(r.began)
		}
	}
	return nil
}

// cancelled cancels a request that may have ended.
func cancelled(ctx context.Context, d access.Backend, id string) error {
	ctx, cancel := context.WithTimeout(ctx, lastCalls)
	defer cancel()
	_, err := d.CancelRequest(ctx, id)
	if core.Is(err, core.CodeConflict) { // it has
		return nil
	}
	return err
}

// stall says that no job ends any more, and why the last one waits.
func stall(ctx context.Context, d access.Backend, id any) error {
	why := ""
	if id, ok := id.(string); ok {
		ctx, cancel := context.WithTimeout(ctx, lastCalls)
		defer cancel()
		if v, err := d.ViewRequest(ctx, id); err == nil && v.Reason != "" {
			why = fmt.Sprintf("; request %s: %s", id, v.Reason)
		}
	}
	return core.Errorf(core.CodeUnavailable, "", "no job ended within %s%s", stallTimeout, why)
}
