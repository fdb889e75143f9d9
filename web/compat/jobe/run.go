package jobe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"time"

	"drover/core"
	"drover/web/compat"
)

const (
	maxBody    = 8 << 20          // bytes of a run
	staging    = 10 * time.Second // beside a run's own time: to bring it into its VM, and its end to the store
	cancelTime = 5 * time.Second
)

// body reads a body. Until release is called, it counts as one that is being read: so few are in memory at once.
func (d *API) body(w http.ResponseWriter, r *http.Request, c *call, most int64) (text []byte, release func(), err error) {
	body, release, err := d.gate.Body(w, r, c.who, most)
	if err != nil {
		return nil, nil, err
	}
	if text, err = io.ReadAll(body); err != nil {
		release()
		return nil, nil, err
	}
	return text, release, nil
}

// run runs a run and answers with its result.
func (d *API) run(w http.ResponseWriter, r *http.Request, c *call) error {
	if !d.runs.TryAcquire(1) {
		return errBusy
	}
	defer d.runs.Release(1)
	spec, l, err := d.accept(w, r, c)
	if err != nil {
		return err
	}
	row, err := d.requests.SubmitStored(r.Context(), c.who.Actor, spec)
	if err != nil {
		return err
	}
	ended, err := d.await(w, r, c, row.Spec.ID, l)
	if err != nil {
		d.abandon(r.Context(), c, row.Spec.ID)
		return err
	}
	return d.show(w, r, ended.Result, l)
}

// accept reads a run and stores what it brings.
func (d *API) accept(w http.ResponseWriter, r *http.Request, c *call) (core.Spec, limits, error) {
	text, release, err := d.body(w, r, c, maxBody)
	if err != nil {
		return core.Spec{}, limits{}, err
	}
	defer release()
	ctx := r.Context()
	s, err := d.readSpec(text)
	if err != nil {
		return core.Spec{}, limits{}, err
	}
	pool, err := d.requests.Pool(ctx, d.own.Pool)
	if err != nil {
		return core.Spec{}, limits{}, core.Wrap(err, core.CodeUnavailable, d.own.Pool, "the pool of the Jobe API cannot be used")
	}
	l, err := s.limits(pool)
	if err != nil {
		return core.Spec{}, l, err
	}
	spec := core.Spec{Pool: pool.Name, Submitter: c.who.Actor.Handle, Command: s.command(l), Collect: collected(), Limits: l.request}
	if spec.Files, err = d.files(ctx, c, s); err != nil {
		return spec, l, err
	}
	source, err := d.put(ctx, []byte(s.source))
	if err != nil {
		return spec, l, err
	}
	source.Path = s.name
	spec.Files = append(spec.Files, source)
	if s.input != "" {
		input, err := d.put(ctx, []byte(s.input))
		if err != nil {
			return spec, l, err
		}
		spec.Stdin = &input
	}
	return spec, l, nil
}

// files returns the listed files of a run, with their names in its VM. If one is not there, the answer is 404: the
// caller puts its files, then sends the run again.
func (d *API) files(ctx context.Context, c *call, s *runspec) ([]core.File, error) {
	ids := make([]string, len(s.files))
	for i, f := range s.files {
		ids[i] = f.id
	}
	have, err := d.find(ctx, c.who.Actor.Handle, ids)
	if err != nil {
		return nil, err
	}
	files := make([]core.File, len(s.files))
	for i, f := range s.files {
		at, is := have[f.id]
		if !is {
			return nil, &refusal{http.StatusNotFound, fmt.Sprintf(notHere, f.id)}
		}
		files[i] = core.File{Path: f.name, Digest: at.Digest, Size: at.Size}
	}
	return files, nil
}

// await waits for the end of a run. Returns errBusy if it does not start in time, or does not end in time.
func (d *API) await(w http.ResponseWriter, r *http.Request, c *call, id string, l limits) (row core.Row, err error) {
	began := time.Now()
	err = compat.Await(w, r, d.requests, c.who.Actor, id, d.own.MaxQueue+l.request.Timeout+staging, func(is core.Row, err error) (bool, error) {
		switch {
		case core.Is(err, core.CodeUnavailable): // what is away for a moment may come back
			return false, nil
		case err != nil:
			return false, err
		case is.State.Terminal() && is.Result != nil:
			row = is
			return true, nil
		case time.Since(began) >= d.own.MaxQueue && (is.State == core.RequestQueued || is.State == core.RequestParked):
			return false, errBusy
		}
		return false, nil
	})
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		err = errBusy
	}
	return row, err
}

// abandon cancels a run for which nobody waits any more.
func (d *API) abandon(ctx context.Context, c *call, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer cancel()
	if _, err := d.requests.Cancel(ctx, c.who.Actor, id); err != nil && !core.Is(err, core.CodeEnded) && !core.Is(err, core.CodeConflict) {
		d.log.WithError(err).WithField("request", id).Warn("a run of the Jobe API for which nobody waits was not cancelled")
	}
}

// show answers with the result of a run. Its bytes are in memory several times, and with escapes.
func (d *API) show(w http.ResponseWriter, r *http.Request, res *core.Result, l limits) error {
	ctx := r.Context()
	weight := int64(0)
	const each, times = 32 << 10, 6
	for _, f := range res.Files {
		weight += min(f.Size, maxStream*mb)
	}
	weight = min(each+times*weight, maxMemory)
	if err := d.memory.Acquire(ctx, weight); err != nil {
		return err
	}
	defer d.memory.Release(weight)
	files := notes{}
	for _, f := range res.Files {
		if path.Dir(f.Path) != folder {
			continue
		}
		in, err := d.requests.Blobs.Open(ctx, f.Digest)
		if err != nil {
			return core.Wrap(err, core.CodeUnavailable, res.ID, "what run %s printed cannot be read", res.ID)
		}
		text, err := io.ReadAll(io.LimitReader(in, maxStream*mb))
		_ = in.Close() // only read from
		if err != nil {
			return core.Wrap(err, core.CodeUnavailable, res.ID, "what run %s printed cannot be read", res.ID)
		}
		files[path.Base(f.Path)] = text
	}
	d.answer(w, http.StatusOK, judge(res, l, files))
	return nil
}
