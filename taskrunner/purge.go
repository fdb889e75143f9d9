package taskrunner

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/docker/go-units"

	"drover/core"
	"drover/core/clock"
)

// purgeBatch is how many rows are deleted at once, so that a purge never holds
// up the store for long.
const purgeBatch = 1000

// Purge deletes finished work that is past its retention, and then the files that
// nothing names any more. Cut short anywhere, the next one goes on.
//
// Its memory is bounded whatever the number of rows and files: the digests that
// rows name go into a filter of fixed size, which sometimes takes a file for
// named that is not, never the reverse. A file kept by such a mistake goes next
// time, because each purge mixes anew.
//
// A file that arrives while a purge runs is younger than Grace, also if the same
// content was stored long ago: Blobs.Put renews it.
type Purge struct {
	Store core.ResultStore
	Blobs core.Blobs
	Keep  time.Duration // how long finished work stays, if the arguments do not say
	Grace time.Duration // how old a file that nothing names must be
	Clock clock.Clock

	bits int // of the filter; 0 is filterBits
}

// Handle is the Handler of core.KindPurge.
func (p *Purge) Handle(ctx context.Context, args json.RawMessage) (string, error) {
	a := core.PurgeArgs{Keep: p.Keep}
	if len(args) > 0 {
		if err := json.Unmarshal(args, &a); err != nil {
			return "", core.Wrap(err, core.CodeInvalid, core.KindPurge, "the arguments of a purge are not readable")
		}
	}
	if a.Keep <= 0 {
		return "", core.Errorf(core.CodeInvalid, core.KindPurge, "a purge must keep finished work for some time, not for %s", a.Keep)
	}
	rows, err := p.rows(ctx, p.Clock.Now().Add(-a.Keep))
	if err != nil {
		return "", err
	}
	files, bytes, err := p.files(ctx)
	return fmt.Sprintf("deleted %d rows and %d files (%s)", rows, files, units.BytesSize(float64(bytes))), err
}

// rows deletes what finished before the time.
func (p *Purge) rows(ctx context.Context, before time.Time) (int, error) {
	total := 0
	for {
		n, err := p.Store.Purge(ctx, before, purgeBatch)
		total += n
		if err != nil || n < purgeBatch {
			return total, err
		}
		if ctx.Err() != nil {
			return total, ctx.Err()
		}
	}
}

// files deletes what no row names and what is older than the grace period.
func (p *Purge) files(ctx context.Context) (n int, bytes int64, err error) {
	before := p.Clock.Now().Add(-p.Grace).UnixMilli()
	named := newFilter(p.bits)
	if err := p.Store.Digests(ctx, func(digest string) error {
		named.add(digest)
		return ctx.Err()
	}); err != nil {
		return 0, 0, err
	}
	err = p.Blobs.Each(ctx, func(digest string, size, stored int64) error {
		if stored >= before || named.has(digest) {
			return ctx.Err()
		}
		if err := p.Blobs.Delete(ctx, digest); err != nil {
			return err
		}
		n++
		bytes += size
		return ctx.Err()
	})
	return n, bytes, err
}
