package taskrunner

import (
	"context"
	"fmt"
	"time"

	"drover/core"
	"drover/core/service/clock"
)

// purgeBatch is how many rows are deleted at once, so that a purge never blocks the store for long.
const purgeBatch = 1000

// PurgeStore is what a Purge needs of the result store.
type PurgeStore interface {
	core.Retention
	PurgeTokens(ctx context.Context, before int64, limit int) (int, error)
	Pools(ctx context.Context) ([]core.Pool, error)
}

// Purge deletes finished work and expired tokens after their retention, outputs of results after their pool's, and
// then the files that nothing refers to any more. If it is interrupted, the next one continues.
//
// Its memory is bounded whatever the number of rows and files: the digests in rows go into a filter of fixed size,
// which sometimes keeps an unused file, but never drops a used one. Each purge mixes the filter anew, so the next one
// deletes such a file.
//
// Files are deleted in two steps, a Grace apart, so that a file that is put again at the moment of its deletion is
// not lost: see core/blobs.
type Purge struct {
	Store PurgeStore
	Blobs core.Blobs
	Keep  time.Duration // retention of finished work, if the arguments have none
	Grace time.Duration // minimum age of an unused file before it is trashed, and again before it is deleted
	Clock clock.Clock
	// Skew is how far that clock is ahead of Redis'; nil: not at all. A clock that is ahead must not make things look
	// old enough to be deleted.
	Skew func(ctx context.Context) (time.Duration, error)

	bits int // of the filter; 0 is filterBits
}

// Kind is core.KindPurge.
func (p *Purge) Kind() Kind { return Kind{Name: core.KindPurge, Handle: p.handle} }

func (p *Purge) handle(ctx context.Context, job *Job) (End, error) {
	a := core.PurgeArgs{Keep: p.Keep}
	if err := job.Args(&a); err != nil {
		return End{}, err
	}
	if a.Keep <= 0 {
		return End{}, core.Errorf(core.CodeInvalid, job.Task.ID, "a purge must keep finished work for some time, not for %s", a.Keep)
	}
	now, err := p.now(ctx)
	if err != nil {
		return End{}, err
	}
	before := now.Add(-a.Keep)
	rows, err := p.rows(ctx, before, job)
	if err != nil {
		return End{}, err
	}
	if err := p.tokens(ctx, before); err != nil {
		return End{}, err
	}
	expired, err := p.outputs(ctx, now, job)
	if err != nil {
		return End{}, err
	}
	job.Progress(int64(rows+expired), 0, "deleting files that nothing names")
	files, err := p.files(ctx, now)
	note := fmt.Sprintf("deleted %d rows, the outputs of %d requests and %d files (%s); trashed %d files", rows, expired, files.Files, core.SizeText(files.Bytes), files.Trashed)
	return End{Note: note}, err
}

// now returns the time by this host's clock or by Redis', whichever is earlier: deletion is final, so both clocks
// must agree that something is old. It is read before all rows: whatever is put from here on is younger.
func (p *Purge) now(ctx context.Context) (time.Time, error) {
	now := p.Clock.Now()
	if p.Skew == nil {
		return now, nil
	}
	ahead, err := p.Skew(ctx)
	return now.Add(-max(0, ahead)), err
}

// rows deletes what finished before the given time.
func (p *Purge) rows(ctx context.Context, before time.Time, job *Job) (int, error) {
	total := 0
	for {
		n, err := p.Store.Purge(ctx, before, purgeBatch)
		total += n
		if err != nil || n < purgeBatch {
			return total, err
		}
		job.Progress(int64(total), 0, "deleting finished work")
		if ctx.Err() != nil {
			return total, ctx.Err()
		}
	}
}

// tokens deletes those that expired before the given time.
func (p *Purge) tokens(ctx context.Context, before time.Time) error {
	for {
		n, err := p.Store.PurgeTokens(ctx, before.UnixMilli(), purgeBatch)
		if err != nil || n < purgeBatch {
			return err
		}
	}
}

// outputs expires the outputs of results of each pool that has KeepOutputs.
func (p *Purge) outputs(ctx context.Context, now time.Time, job *Job) (int, error) {
	pools, err := p.Store.Pools(ctx)
	if err != nil {
		return 0, err
	}
	total := 0
	for _, pool := range pools {
		if pool.KeepOutputs <= 0 {
			continue
		}
		for n := purgeBatch; n == purgeBatch; {
			if n, err = p.Store.ExpireOutputs(ctx, pool.Name, now.Add(-pool.KeepOutputs), purgeBatch); err != nil {
				return total, err
			}
			total += n
			job.Progress(int64(total), 0, "deleting outputs of pool "+pool.Name)
			if ctx.Err() != nil {
				return total, ctx.Err()
			}
		}
	}
	return total, nil
}

// files purges the files to which no row refers.
func (p *Purge) files(ctx context.Context, now time.Time) (core.Purged, error) {
	named := newFilter(p.bits)
	if err := p.Store.Digests(ctx, func(digest string) error {
		named.add(digest)
		return ctx.Err()
	}); err != nil {
		return core.Purged{}, err
	}
	return p.Blobs.Purge(ctx, now, p.Grace, named.has)
}
