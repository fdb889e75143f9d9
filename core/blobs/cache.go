package blobs

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"drover/core"
	"drover/core/service/clock"

	"golang.org/x/sync/singleflight"
)

// CacheOptions are a Cache's settings.
type CacheOptions struct {
	Dir      string        // created (mode 0700) if only its last part is missing; used by drover only
	MaxBytes int64         // of the files kept; files being fetched come on top
	Timeout  time.Duration // of one fetch; default 5 minutes
	Clock    clock.Clock   // default: the machine's
}

// CacheStats counts what a Cache did since it was opened, and the content of its folder when last read.
type CacheStats struct {
	Hits    int64 // calls served from the disk
	Misses  int64 // calls that waited for a fetch
	Fetches int64 // fetches from the store; calls for one file share one
	Damaged int64 // files on the disk whose content did not match their digest
	Evicted int64 // files removed to make room
	Files   int64 // kept
	Bytes   int64 // kept
}

// Cache keeps files of a blob store on the local disk, by digest, as many as fit; the least recently used are removed
// first. The folder is the only state: several processes may share it, and it survives a restart. A file gets its
// name once it is complete and verified; each process verifies every file once more, to detect files damaged by a
// crash. Cache is safe for concurrent use.
type Cache struct {
	from core.Blobs
	opts CacheOptions
	root *os.Root

	flights singleflight.Group // by hex digits
	ctx     context.Context    // of fetches: one caller's end must not cancel a fetch for others
	cancel  context.CancelFunc

	mu       sync.Mutex
	closed   bool
	running  sync.WaitGroup         // flights
	verified map[string]os.FileInfo // files that this process has read completely, by hex digits

	hits, misses, fetches, damaged, evicted, files, bytes atomic.Int64
}

// Prefix of files that are being fetched, and the age at which their fetcher must have died.
const (
	fetchPrefix   = ".fetch-"
	fetchStranded = time.Hour
)

// OpenCache opens the folder. Returns INVALID for invalid settings, UNAVAILABLE if the folder cannot be used.
func OpenCache(from core.Blobs, opts CacheOptions) (*Cache, error) {
	if opts.MaxBytes < 1 {
		return nil, core.Errorf(core.CodeInvalid, opts.Dir, "a file cache of %d bytes holds nothing: give it more", opts.MaxBytes)
	}
	if opts.Timeout <= 0 {
		opts.Timeout = 5 * time.Minute
	}
	if opts.Clock == nil {
		opts.Clock = clock.Real{}
	}
	if err := os.Mkdir(opts.Dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, core.Wrap(err, core.CodeUnavailable, opts.Dir, "file cache %s cannot be made: its folder must exist", opts.Dir)
	}
	root, err := os.OpenRoot(opts.Dir)
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, opts.Dir, "file cache %s cannot be opened", opts.Dir)
	}
	c := &Cache{from: from, opts: opts, root: root, verified: map[string]os.FileInfo{}}
	c.ctx, c.cancel = context.WithCancel(context.Background()) // see the field
	if err := c.trim(""); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close ends running fetches and waits for them. Open files stay readable. Later calls return UNAVAILABLE.
func (c *Cache) Close() error {
	c.mu.Lock()
	was := c.closed
	c.closed = true
	c.mu.Unlock()
	if was {
		return nil
	}
	c.cancel()
	c.running.Wait()
	return core.Wrap(c.root.Close(), core.CodeUnavailable, c.opts.Dir, "file cache %s cannot be closed", c.opts.Dir)
}

// Stats counts what the cache did.
func (c *Cache) Stats() CacheStats {
	return CacheStats{
		Hits: c.hits.Load(), Misses: c.misses.Load(), Fetches: c.fetches.Load(), Damaged: c.damaged.Load(),
		Evicted: c.evicted.Load(), Files: c.files.Load(), Bytes: c.bytes.Load(),
	}
}

// openTries is how often a fetched file may be evicted before it is opened. In a crowded, shared cache that happens
// every second time, so ten in a row do occur.
const openTries = 100

// Open returns a file, open for reading at its start; the caller closes it. It stays readable even if it is evicted.
// Returns NOTFOUND, LIMIT if the file is larger than the cache, UNAVAILABLE.
func (c *Cache) Open(ctx context.Context, digest string) (*os.File, error) {
	digits, err := hexOf(digest)
	if err != nil {
		return nil, err
	}
	waited := false
	for range openTries {
		f, err := c.ready(digits)
		if err != nil {
			return nil, err
		}
		if f != nil {
			c.count(waited)
			return f, nil
		}
		flight := c.flights.DoChan(digits, func() (any, error) { return c.land(digits) })
		select {
		case <-ctx.Done():
			return nil, fault(ctx.Err(), digest)
		case landed := <-flight:
			if landed.Err != nil {
				return nil, landed.Err
			}
			fetched, ok := landed.Val.(bool)
			waited = waited || ok && fetched
		}
	}
	return nil, core.Errorf(core.CodeUnavailable, digest, "file %s left the cache again and again before it could be read: make the cache larger than its %d bytes",
		digest, c.opts.MaxBytes)
}

func (c *Cache) count(waited bool) {
	if waited {
		c.misses.Add(1)
	} else {
		c.hits.Add(1)
	}
}

// ready opens a file that this process has verified, and records its use. It returns nil if there is none.
func (c *Cache) ready(digits string) (*os.File, error) {
	c.mu.Lock()
	closed, known := c.closed, c.verified[digits]
	c.mu.Unlock()
	if closed {
		return nil, core.Errorf(core.CodeUnavailable, c.opts.Dir, "the file cache is closed")
	}
	if known == nil {
		return nil, nil
	}
	f, info, err := c.open(digits)
	if err != nil || f == nil {
		return nil, err
	}
	if !os.SameFile(info, known) || info.Size() != known.Size() {
		return nil, c.closing(f)
	}
	now := c.opts.Clock.Now()
	if err := c.root.Chtimes(digits, now, now); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(c.fault(err), c.closing(f))
	}
	return f, nil
}

// open opens a file of the folder; nil if it does not exist.
func (c *Cache) open(digits string) (*os.File, os.FileInfo, error) {
	f, err := c.root.Open(digits)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, c.fault(err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, nil, errors.Join(c.fault(err), c.closing(f))
	}
	return f, info, nil
}

// land makes sure that a file is in the folder and verified, fetching it if necessary. It reports whether it did.
func (c *Cache) land(digits string) (fetched bool, err error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return false, core.Errorf(core.CodeUnavailable, c.opts.Dir, "the file cache is closed")
	}
	c.running.Add(1)
	c.mu.Unlock()
	defer c.running.Done()

	whole, err := c.examine(digits)
	if err != nil || whole {
		return false, err
	}
	c.fetches.Add(1)
	if err := c.fetch(digits); err != nil {
		return false, err
	}
	return true, c.trim(digits)
}

// examine verifies a file that this process has not verified yet and removes it if its content does not match its
// name.
func (c *Cache) examine(digits string) (whole bool, err error) {
	f, info, err := c.open(digits)
	if err != nil || f == nil {
		return false, err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, watched{c.ctx, f})
	if err := errors.Join(err, c.closing(f)); err != nil {
		return false, c.fault(err)
	}
	if hex.EncodeToString(sum.Sum(nil)) == digits {
		c.note(digits, info)
		return true, nil
	}
	c.damaged.Add(1)
	if err := c.root.Remove(digits); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, c.fault(err)
	}
	return false, nil
}

func (c *Cache) note(digits string, info os.FileInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.verified[digits] = info
}

// fetch brings a file from the store into the folder, atomically.
func (c *Cache) fetch(digits string) (err error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.opts.Timeout)
	defer cancel()
	from, err := c.from.Open(ctx, scheme+digits)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	name := fetchPrefix + rand.Text()
	f, err := c.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return c.fault(err)
	}
	info, err := c.fill(ctx, f, from, digits)
	err = errors.Join(err, c.closing(f))
	if err == nil {
		now := c.opts.Clock.Now()
		err = c.fault(errors.Join(c.root.Chtimes(name, now, now), c.root.Rename(name, digits)))
	}
	if err != nil {
		return errors.Join(err, c.fault(c.root.Remove(name)))
	}
	c.note(digits, info)
	return nil
}

// fill writes the content and verifies it. It is not fsynced: the next process detects a file damaged by a power cut.
func (c *Cache) fill(ctx context.Context, f *os.File, from io.Reader, digits string) (os.FileInfo, error) {
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(watched{ctx, from}, c.opts.MaxBytes+1))
	switch {
	case err != nil:
		return nil, c.fault(err)
	case n > c.opts.MaxBytes:
		return nil, core.Errorf(core.CodeLimit, scheme+digits, "file %s%s is larger than the whole file cache of %d bytes: make the cache larger",
			scheme, digits, c.opts.MaxBytes)
	case hex.EncodeToString(sum.Sum(nil)) != digits:
		return nil, damaged(digits)
	}
	info, err := f.Stat()
	return info, c.fault(err)
}

func (c *Cache) closing(f *os.File) error { return c.fault(f.Close()) }

func (c *Cache) fault(err error) error {
	var known *core.Error
	if errors.As(err, &known) {
		return err
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return core.Wrap(err, core.CodeUnavailable, c.opts.Dir, "the disk of file cache %s is full: free space there", c.opts.Dir)
	}
	return core.Wrap(err, core.CodeUnavailable, c.opts.Dir, "file cache %s cannot be used", c.opts.Dir)
}
