package testrunner

import (
	"context"
	"errors"
	"io"

	"drover/core"
	"drover/core/agent"
	"drover/core/agent/wire"
	"drover/core/service/clock"
)

// collect stores the files that the request names in the blob store once its run has ended. Like staging it waits for
// the end of an outage of the store: the VM keeps the files.
func (j *job) collect(ctx context.Context, res *core.Result) error {
	if len(j.w.Spec.Collect) == 0 {
		return nil
	}
	if taken := j.progress(ctx, core.RequestRunning, j.pool.StageTimeout+ownGrace); taken != nil {
		return taken
	}
	pause := newPause()
	for {
		err := j.collectOnce(ctx, res)
		if ctx.Err() != nil || !blobTrouble(err) {
			return err
		}
		if taken := j.waits(ctx); taken != nil {
			return taken
		}
		if j.blobsWell(ctx) {
			return err
		}
		j.log.WithError(err).Warn("the blob store is down; the files of a run wait for it")
		if err := clock.Sleep(ctx, j.r.deps.Clock, pause.NextBackOff()); err != nil {
			return err
		}
	}
}

func (j *job) collectOnce(ctx context.Context, res *core.Result) error {
	inner, cancel := context.WithTimeoutCause(ctx, j.pool.StageTimeout,
		core.Wrap(errLate, core.CodeBadVM, j.w.VM, "VM %s did not hand out its files within %s", j.w.VM, j.pool.StageTimeout))
	defer cancel()
	var files []core.File
	left, err := j.vm.Collect(inner, wire.Work, agent.Collection{Paths: j.w.Spec.Collect}, func(f agent.Taken, in io.Reader) error {
		from := &source{from: io.NopCloser(in)}
		digest, n, err := j.r.deps.Blobs.Put(inner, from, max(f.Size, 1)) // a store accepts no limit of 0
		switch {
		case from.fault() != nil:
			return from.fault() // the VM's fault, not the store's
		case err != nil:
			return &blobFault{err: err}
		}
		files = append(files, core.File{Path: f.Path, Digest: digest, Size: n, Mode: f.Mode})
		return nil
	})
	if err != nil {
		var blob *blobFault
		if ctx.Err() == nil && inner.Err() != nil && !errors.As(err, &blob) {
			return context.Cause(inner)
		}
		return err
	}
	res.Files = files
	for _, one := range left {
		res.LeftOut = append(res.LeftOut, core.LeftOut{Path: one.Path, Why: one.Why})
	}
	return nil
}
