package blobs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"drover/core"
	"drover/core/service/pattern"
)

// leavingFolder is the prefix of all keys of files that were trashed.
const leavingFolder = "leaving/"

// leavingName is the name of a trashed file: its digits, when, ms since 1970, and a random part.
var leavingName = pattern.New(`^([0-9a-f]{64})\.(\d{1,15})\.[0-9a-f]+$`)

// leavingPrefix returns the prefix of the keys of a trashed file.
func leavingPrefix(digits string) string { return leavingFolder + digits[:2] + "/" + digits + "." }

func leavingKey(digits string, now time.Time) string {
	once := make([]byte, 8)
	_, _ = rand.Read(once) // never fails
	return leavingPrefix(digits) + strconv.FormatInt(now.UnixMilli(), 10) + "." + hex.EncodeToString(once)
}

// Purge deletes unused files, see core.Blobs and the package's comment.
func (s *Store) Purge(ctx context.Context, now time.Time, grace time.Duration, keep func(digest string) bool) (core.Purged, error) {
	if err := s.usable(ctx); err != nil {
		return core.Purged{}, err
	}
	p := purge{keep: keep, before: now.Add(-grace).UnixMilli(), within: grace / 2}
	if err := s.leaving(ctx, &p); err != nil {
		return p.done, fault(err, "")
	}
	began := time.Now()
	err := s.Each(ctx, func(digest string, size, stored int64) error {
		if stored >= p.before || keep(digest) {
			return ctx.Err()
		}
		digits := strings.TrimPrefix(digest, scheme)
		// It is dated by this moment, not by the purge: it may just have been put.
		if err := s.bucket.move(ctx, keyOf(digits), leavingKey(digits, now.Add(time.Since(began))), size, p.within); err != nil {
			return err
		}
		p.done.Trashed++
		return ctx.Err()
	})
	return p.done, fault(err, "")
}

// purge is a purge in progress.
type purge struct {
	keep   func(digest string) bool
	before int64         // ms: older files are moved or deleted
	within time.Duration // a file must be moved
	done   core.Purged
}

// leaving deletes files that were trashed long enough ago, and restores those that are used by now.
func (s *Store) leaving(ctx context.Context, p *purge) error {
	return s.bucket.list(ctx, leavingFolder, func(f file) error {
		m := leavingName().FindStringSubmatch(f.key[strings.LastIndexByte(f.key, '/')+1:])
		if m == nil {
			return nil
		}
		since, err := strconv.ParseInt(m[2], 10, 64)
		if err != nil {
			return err
		}
		switch {
		case p.keep(scheme + m[1]):
			return s.bringBack(ctx, f, m[1], p.within)
		case since >= p.before:
			return ctx.Err()
		}
		p.done.Files++
		p.done.Bytes += f.size
		return s.bucket.remove(ctx, f.key)
	})
}

// bringBack restores a trashed file. A file put since takes precedence: it may have replaced a damaged one.
func (s *Store) bringBack(ctx context.Context, from file, digits string, within time.Duration) error {
	there, err := s.bucket.exists(ctx, keyOf(digits))
	switch {
	case err != nil:
		return err
	case there:
		return s.bucket.remove(ctx, from.key)
	}
	return s.bucket.move(ctx, from.key, keyOf(digits), from.size, within)
}
