package jobe

import (
	"context"
	"io"
	"net/http"
	"path"
	"time"

	"drover/core"
)

const (
	maxBody    = 8 << 20          // bytes of a run
	staging    = 10 * time.Second // beside a run's own time: to bring it into its VM, and its end to the store
	answerTime = 30 * time.Second // to write an answer after waiting
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
	if row, err = d.await(w, r, c, row.Spec.ID, l); err != nil {
		d.abandon(r.Context(), c, row.Spec.ID)
		return err
	}
	return d.show(w, r, row.Result, l)
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
			e := refuse(notHere, f.id).(*refusal) //nolint:errcheck,forcetypeassert,errorlint // made by refuse
			e.status = http.StatusNotFound
			return nil, e
		}
		files[i] = core.File{Path: f.name, Digest: at.Digest, Size: at.Size}
	}
	return files, nil
}

// await waits for the end of a run. Returns errBusy if it does not start in time, or does not end in time.
func (d *API) await(w http.ResponseWriter, r *http.Request, c *call, id string, l limits) (core.Row, error) {
	longest := d.own.MaxQueue + l.request.Timeout + staging
	ctx, cancel := context.WithTimeout(r.Context(), longest)
	defer cancel()
	// The server's own limit is for answers without waiting. If it has none, this does nothing.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(longest + answerTime))
	var news <-chan struct{}
	if d.requests.Watch != nil {
		listener := d.requests.Watch.Listen(id)
		defer listener.Close()
		news = listener.News()
	}
	queue := time.NewTimer(d.own.MaxQueue)
	defer queue.Stop()
	none, late := core.Row{Spec: core.Spec{ID: id}}, false
	const first, most = 50 * time.Millisecond, time.Second
	for pause := first; ; pause = min(2*pause, most) {
		row, err := d.look(ctx, c, id)
		switch {
		case ctx.Err() != nil:
			return none, errBusy
		case err != nil && !core.Is(err, core.CodeUnavailable): // what is away for a moment may come back
			return none, err
		case err == nil && row.State.Terminal() && row.Result != nil:
			return row, nil
		case err == nil && late && (row.State == core.RequestQueued || row.State == core.RequestParked):
			return none, errBusy
		}
		select {
		case <-news:
		case <-time.After(pause):
		case <-queue.C:
			late = true
		case <-ctx.Done():
		}
	}
}

// look reads a request's state; few read at once.
func (d *API) look(ctx context.Context, c *call, id string) (row core.Row, err error) {
	read := func() error {
		row, err = d.requests.Row(ctx, c.who.Actor, id)
		return err
	}
	if d.requests.Watch == nil {
		return row, read()
	}
	return row, d.requests.Watch.Look(ctx, read)
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
