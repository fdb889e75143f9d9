package testrunner

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"drover/core"
	"drover/core/agent/wire"
	"drover/core/service/clock"
)

// ended is a bad end that another try would not change.
type ended struct {
	blame  core.Blame
	reason string
}

func (e *ended) Error() string { return e.reason }

// Texts for students about missing files.
const (
	reasonNoSubmission = "Submission content not found on testrunner."
	reasonNoHarness    = "Harness content not found on testrunner."
)

// pingTimeout is how long the blob store may take to answer a ping.
const pingTimeout = 5 * time.Second

// stage gives the VM its assignment and its files, as soon as the blob store has them. During an outage of the blob
// store the claim waits for its end.
func (j *job) stage(ctx context.Context) error {
	pause := newPause()
	for {
		err := j.stageInTime(ctx)
		if ctx.Err() != nil || !blobTrouble(err) {
			return err
		}
		if taken := j.waits(ctx); taken != nil {
			return taken
		}
		if j.blobsWell(ctx) {
			return err
		}
		j.log.WithError(err).Warn("the blob store is down; the claim waits for it")
		if err := clock.Sleep(ctx, j.r.deps.Clock, pause.NextBackOff()); err != nil {
			return err
		}
	}
}

// blobTrouble reports whether an outage of the blob store may be behind err.
func blobTrouble(err error) bool {
	var blob *blobFault
	return errors.As(err, &blob) && core.Is(blob.err, core.CodeUnavailable) || errors.Is(err, errStageTime)
}

func (j *job) blobsWell(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return j.r.deps.Blobs.Ping(ctx) == nil
}

var errStageTime = errors.New("the time for staging is up")

// stageInTime stages what is not staged yet, within the pool's time limit for it.
func (j *job) stageInTime(ctx context.Context) error {
	inner, cancel := context.WithTimeoutCause(ctx, j.pool.StageTimeout, errStageTime)
	defer cancel()
	err := j.stageOnce(inner)
	if err != nil && ctx.Err() == nil && context.Cause(inner) != nil {
		return core.Wrap(errStageTime, core.CodeBadVM, j.w.VM, "VM %s was not staged within %s", j.w.VM, j.pool.StageTimeout)
	}
	return err
}

func (j *job) stageOnce(ctx context.Context) error {
	spec := &j.w.Spec
	if err := j.vm.Assign(ctx, j.w.Key+"@"+j.w.Token); err != nil {
		return err
	}
	j.assigned = true
	files := wire.Work
	if spec.Harness != nil && j.input.Stock {
		if err := j.openSuite(ctx); err != nil {
			return err
		}
	} else if spec.Harness != nil {
		if j.away() {
			if err := j.openPeer(ctx, "it"); err != nil {
				return err
			}
		}
		files = wire.Submission
		if err := j.place(ctx, wire.Harness, core.BlameHarness, j.harnessTar); err != nil {
			return err
		}
	}
	if len(spec.Files) > 0 {
		if err := j.place(ctx, files, core.BlameSubmission, j.filesTar); err != nil {
			return err
		}
	}
	if spec.Stdin == nil || j.stdin != nil {
		return nil
	}
	// Not the context of staging: the run reads from it.
	in, err := j.r.deps.Blobs.Open(j.ctx, spec.Stdin.Digest)
	if err != nil {
		return &blobFault{err: err, missing: reasonNoSubmission}
	}
	j.stdin = &source{from: in}
	return nil
}

// place streams an archive into one of the places of the VM in which the command runs, once.
func (j *job) place(ctx context.Context, place string, blame core.Blame, write func(context.Context, io.Writer) error) error {
	if j.staged[place] {
		return nil
	}
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := write(ctx, w)
		w.CloseWithError(err)
		written <- err
	}()
	err := j.home().Stage(ctx, place, r)
	// A VM that needs no more input stops reading; this ends the writer.
	r.CloseWithError(errHeardEnough)
	if fault := <-written; fault != nil && !errors.Is(fault, errHeardEnough) {
		return fault
	}
	switch {
	case err == nil:
		j.staged[place] = true
	case core.Is(err, core.CodeInvalid), core.Is(err, core.CodeLimit):
		what := "The files submitted were refused: "
		if blame == core.BlameHarness {
			what = "The grading program could not be unpacked, which is not your fault: "
		}
		return &ended{blame: blame, reason: what + err.Error() + "."}
	}
	return err
}

var errHeardEnough = errors.New("the VM reads no further")

func (j *job) filesTar(ctx context.Context, w io.Writer) error {
	archive := tar.NewWriter(w)
	for _, f := range j.w.Spec.Files {
		mode := int64(f.Mode)
		if mode == 0 {
			mode = 0o644
		}
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.Path, Mode: mode, Size: f.Size}); err != nil {
			return err
		}
		n, err := j.copyBlob(ctx, j.r.deps.Blobs, f.Digest, reasonNoSubmission, archive)
		if errors.Is(err, tar.ErrWriteTooLong) || err == nil && n != f.Size {
			return &ended{blame: core.BlameSubmission, reason: fmt.Sprintf(
				"The files submitted were refused: %s has another size than the %d bytes that were declared.", f.Path, f.Size)}
		}
		if err != nil {
			return err
		}
	}
	return archive.Close()
}

// copyBlob copies a file from a blob store and returns its size in bytes.
func (j *job) copyBlob(ctx context.Context, blobs core.Blobs, digest, missing string, w io.Writer) (int64, error) {
	in, err := blobs.Open(ctx, digest)
	if err != nil {
		return 0, &blobFault{err: err, missing: missing}
	}
	defer in.Close() //nolint:errcheck // only read from
	s := &source{from: in}
	n, err := io.Copy(w, s)
	if fault := s.fault(); fault != nil {
		return n, &blobFault{err: fault, missing: missing}
	}
	return n, err
}

// source records why reading a blob failed, to distinguish that from a fault of the reader. The reader may continue
// in another goroutine after the call has returned.
type source struct {
	from io.ReadCloser
	mu   sync.Mutex
	err  error
}

// Read reads from the blob.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.err = err
	}
	return n, err
}

func (s *source) fault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// blobFault is a fault of the blob store.
type blobFault struct {
	err     error
	missing string // the error text if the blob is missing
}

func (b *blobFault) Error() string { return b.err.Error() }
func (b *blobFault) Unwrap() error { return b.err }

// newPause makes the pauses between tries: 0.1 s, then growing to 10 s.
func newPause() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = 100*time.Millisecond, 10*time.Second
	return b
}
