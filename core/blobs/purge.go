package blobs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"drover/core"
	"drover/core/service/clock"
	"drover/core/service/pattern"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
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
		if err := s.move(ctx, keyOf(digits), leavingKey(digits, now.Add(time.Since(began))), size, p.within); err != nil {
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
	return s.parts(ctx, leavingFolder, func(o *blob.ListObject) error {
		m := leavingName().FindStringSubmatch(o.Key[strings.LastIndexByte(o.Key, '/')+1:])
		if m == nil {
			return nil
		}
		since, err := strconv.ParseInt(m[2], 10, 64)
		if err != nil {
			return err
		}
		switch {
		case p.keep(scheme + m[1]):
			return s.bringBack(ctx, o, m[1], p.within)
		case since >= p.before:
			return ctx.Err()
		}
		p.done.Files++
		p.done.Bytes += o.Size
		return s.remove(ctx, o.Key)
	})
}

// bringBack restores a trashed file. A file put since takes precedence: it may have replaced a damaged one.
func (s *Store) bringBack(ctx context.Context, from *blob.ListObject, digits string, within time.Duration) error {
	there, err := s.bucket.Exists(ctx, keyOf(digits))
	switch {
	case err != nil:
		return err
	case there:
		return s.remove(ctx, from.Key)
	}
	return s.move(ctx, from.Key, keyOf(digits), from.Size, within)
}

// move gives a file another key. A missing file was moved by another purge. Without folders it copies and then
// deletes, but only within the time: after that, another purge may take the copy for old.
func (s *Store) move(ctx context.Context, from, to string, size int64, within time.Duration) error {
	if s.disk != nil {
		return s.disk.rename(from, to)
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	switch err := s.copy(ctx, from, to, size); {
	case gcerrors.Code(err) == gcerrors.NotFound:
		return nil
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return s.remove(ctx, from)
}

// copy copies a key's file: the service does, unless it is too large for that.
func (s *Store) copy(ctx context.Context, from, to string, size int64) error {
	if s.copies == 0 || size <= s.copies {
		return s.bucket.Copy(ctx, to, from, nil)
	}
	r, err := s.bucket.NewReader(ctx, from, nil)
	if err != nil {
		return err
	}
	err = s.write(ctx, to, func(w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	})
	return errors.Join(err, r.Close())
}

// remove deletes a key; a missing one is fine.
func (s *Store) remove(ctx context.Context, key string) error {
	if err := s.bucket.Delete(ctx, key); gcerrors.Code(err) != gcerrors.NotFound {
		return err
	}
	return nil
}

// parts lists a folder in parts, as a service does. It also removes leftovers of dead writers to a disk.
func (s *Store) parts(ctx context.Context, folder string, fn func(o *blob.ListObject) error) error {
	if s.disk == nil {
		return s.below(ctx, folder, fn)
	}
	now := clock.Real{}.Now()
	for part := range 256 {
		objects, err := s.list(ctx, fmt.Sprintf("%s%02x/", folder, part))
		if err != nil {
			return err
		}
		for _, o := range objects {
			do := fn
			if strings.HasSuffix(o.Key, ".tmp") && now.Sub(o.ModTime) > stranded {
				do = func(o *blob.ListObject) error { return s.remove(ctx, o.Key) }
			}
			if err := do(o); err != nil {
				return err
			}
		}
	}
	return nil
}
