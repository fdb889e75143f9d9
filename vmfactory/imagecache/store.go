// Package imagecache keeps root file systems of VMs on a host.
//
// Each has a folder named by its digest: "rootfs", which belongs to the host's root, a user that no VM has, and "ro",
// the same folder bound read-only and without set-uid, which VMs get. Because the flags belong to a mount of the
// host, not even the root of a container can remove them.
//
// An image is fetched once, however many callers ask, and verified while it is read. It gets its folder when it is
// complete and on the disk; what a crash leaves is removed at the next Open.
package imagecache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/images"
	"drover/core/service/clock"
	"drover/vmfactory"
)

// Config configures a Store.
type Config struct {
	Dir     string // the images' folder, the same after restarts; its file system must allow executables
	Images  core.Images
	Blobs   core.Blobs
	Limits  images.Limits // zero: rootfs.Defaults
	Refresh time.Duration // for how long the image of a name is cached; default 5 s
	Timeout time.Duration // of one fetch; default 30 minutes
	Clock   clock.Clock   // nil: the machine's
}

// Rootfs is a root file system that is ready for VMs.
type Rootfs struct {
	Name   string
	Digest string // of the image, for results
	Path   string // read-only for all users, until Sweep removes it
}

// The parts of an image's folder, and prefixes of folders that are being made or removed.
const (
	writable = "rootfs"
	readOnly = "ro"
	unpackAs = ".unpack-"
	removeAs = ".remove-"
)

// Store holds the images of one host. It is safe for concurrent use, and several processes may use one folder.
type Store struct {
	cfg Config
	dir string

	flights singleflight.Group // by digest
	ctx     context.Context    // of fetches: one caller's end must not cancel a fetch for others
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	names  map[string]known // by ref
}

// maxNames bounds the cached refs.
const maxNames = 1000

// known is the image of a ref when it was last looked up.
type known struct {
	image core.Image
	at    time.Time
}

// Open makes or opens the folder and removes what a crash left. Returns INVALID for a folder that cannot be used as
// one, UNAVAILABLE if it cannot be used now.
func Open(cfg Config) (*Store, error) {
	dir, err := filepath.Abs(cfg.Dir)
	if cfg.Dir == "" || err != nil {
		return nil, core.Errorf(core.CodeInvalid, "", "no folder for images: name one")
	}
	if cfg.Limits == (images.Limits{}) {
		cfg.Limits = images.Defaults()
	}
	if cfg.Refresh <= 0 {
		cfg.Refresh = 5 * time.Second
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 30 * time.Minute
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.Real{}
	}
	// The users of VMs, who have no rights here, must be able to pass through.
	if err := errors.Join(os.MkdirAll(dir, 0o711), os.Chmod(dir, 0o711)); err != nil { //nolint:gosec // see above
		return nil, core.Wrap(err, core.CodeUnavailable, dir, "the folder of images %s cannot be made", dir)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, dir, "the folder of images cannot be used")
	}
	s := &Store{cfg: cfg, dir: dir, names: map[string]known{}}
	s.ctx, s.cancel = context.WithCancel(context.Background()) // see the field
	if err := s.tidy(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close ends fetches, waits for them, and removes the mounts. Images stay, and VMs keep their own mounts of them.
// Later calls return UNAVAILABLE.
func (s *Store) Close() error {
	s.mu.Lock()
	was := s.closed
	s.closed = true
	s.mu.Unlock()
	if was {
		return nil
	}
	s.cancel()
	s.running.Wait()
	digests, err := s.digests()
	errs := []error{err}
	for _, digest := range digests {
		if err := unmount(s.folder(digest)); !errors.Is(err, unix.EBUSY) {
			errs = append(errs, err)
		}
	}
	return s.fault(errors.Join(errs...))
}

// Image returns the image that a ref means now, "name" or "name@sha256:…", without fetching it. While the result
// store cannot be reached, the cached answer is used. Returns NOTFOUND, INVALID, UNAVAILABLE.
func (s *Store) Image(ctx context.Context, ref string) (core.Image, error) {
	now := s.cfg.Clock.Now()
	s.mu.Lock()
	was, ok := s.names[ref]
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return core.Image{}, errClosed()
	}
	if ok && now.Sub(was.at) < s.cfg.Refresh {
		return was.image, nil
	}
	image, err := s.cfg.Images.GetImage(ctx, ref)
	if core.Is(err, core.CodeUnavailable) && ok {
		return was.image, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		delete(s.names, ref)
		return core.Image{}, err
	}
	if len(s.names) >= maxNames {
		clear(s.names)
	}
	s.names[ref] = known{image, now}
	return image, nil
}

// Get makes an image ready for VMs and returns its folder. If the image is not on the host, it is fetched; Get waits
// for that until ctx ends, and the fetch continues for a later Get. Returns NOTFOUND if there is no such image or its
// file is gone, INVALID if the file is no image, LIMIT if it is too large, UNAVAILABLE, which wraps
// vmfactory.ErrFetching while it is being fetched.
func (s *Store) Get(ctx context.Context, ref string) (Rootfs, error) {
	image, err := s.Image(ctx, ref)
	if err != nil {
		return Rootfs{}, err
	}
	if r, ok, err := s.ready(image); ok || err != nil {
		return r, err
	}
	flight := s.flights.DoChan(image.Digest, func() (any, error) { return nil, s.land(image) })
	select {
	case <-ctx.Done():
		why := ctx.Err()
		if errors.Is(why, context.DeadlineExceeded) {
			why = vmfactory.ErrFetching
		}
		return Rootfs{}, core.Wrap(why, core.CodeUnavailable, ref, "downloading image %s (%d MiB)", ref, image.Size>>20)
	case landed := <-flight:
		if landed.Err != nil {
			return Rootfs{}, landed.Err
		}
	}
	r, ok, err := s.ready(image)
	if !ok && err == nil {
		err = core.Errorf(core.CodeUnavailable, ref, "image %s was removed as soon as it was fetched: ask again", ref)
	}
	return r, err
}

// ready returns an image if it is complete and mounted correctly.
func (s *Store) ready(image core.Image) (Rootfs, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return Rootfs{}, false, errClosed()
	}
	dir := s.folder(image.Digest)
	if !bound(dir) {
		switch err := os.Chmod(filepath.Join(dir, writable), 0o755); { //nolint:gosec // a root is for everybody
		case errors.Is(err, fs.ErrNotExist):
			return Rootfs{}, false, nil
		case err != nil:
			return Rootfs{}, false, s.fault(err)
		}
		if err := bind(dir); err != nil {
			return Rootfs{}, false, err
		}
	}
	if err := s.touch(image.Digest); err != nil {
		return Rootfs{}, false, err
	}
	return Rootfs{Name: image.Name, Digest: image.Digest, Path: filepath.Join(dir, readOnly)}, true, nil
}

// touch records on the disk that an image is used, for this and other processes with the folder.
func (s *Store) touch(digest string) error {
	now := s.cfg.Clock.Now()
	return s.fault(os.Chtimes(s.folder(digest), now, now))
}

// Has reports whether an image is on this host's disk already.
func (s *Store) Has(digest string) bool {
	info, err := os.Lstat(filepath.Join(s.folder(digest), writable))
	return err == nil && info.IsDir()
}

// digests lists the images that are on the disk.
func (s *Store) digests() ([]string, error) {
	found, err := os.ReadDir(s.dir)
	var all []string
	for _, d := range found {
		if digits, err := hex.DecodeString(d.Name()); err == nil && len(digits) == sha256.Size {
			all = append(all, scheme+d.Name())
		}
	}
	return all, err
}

// scheme is how digests begin.
const scheme = "sha256:"

// folder returns an image's folder.
func (s *Store) folder(digest string) string {
	return filepath.Join(s.dir, strings.TrimPrefix(digest, scheme))
}

func errClosed() error {
	return core.Errorf(core.CodeUnavailable, "", "the images of this host are closed")
}

// fault makes an error of what the disk refused.
func (s *Store) fault(err error) error {
	var said *core.Error
	switch {
	case err == nil || errors.As(err, &said):
		return err
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return core.Wrap(err, core.CodeUnavailable, s.dir, "the disk of the images' folder %s is full: free space there", s.dir)
	}
	return core.Wrap(err, core.CodeUnavailable, s.dir, "the images' folder %s cannot be used", s.dir)
}
