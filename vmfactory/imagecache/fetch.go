package imagecache

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/images"
)

// spare is how much of a disk stays free besides an image, in bytes.
const spare = 64 << 20

// land makes sure that an image is complete and mounted.
func (s *Store) land(image core.Image) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errClosed()
	}
	s.running.Add(1)
	s.mu.Unlock()
	defer s.running.Done()
	if s.Has(image.Digest) {
		return nil // fetched since the caller looked
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.cfg.Timeout)
	defer cancel()
	if err := s.room(image); err != nil {
		return err
	}
	temp := filepath.Join(s.dir, unpackAs+rand.Text())
	if err := prepare(temp); err != nil {
		return s.fault(err)
	}
	// Held until the image has its name, so that it is not taken for a leftover.
	unlock, err := lock(temp)
	if err != nil {
		return s.fault(err)
	}
	defer unlock()
	err = s.fetch(ctx, image, filepath.Join(temp, writable))
	if err == nil {
		err = s.settle(temp, s.folder(image.Digest))
	}
	if err == nil {
		return nil
	}
	return errors.Join(s.fault(err), s.fault(os.RemoveAll(temp)))
}

// prepare makes an image's folder, whatever the umask.
func prepare(temp string) error {
	for _, dir := range []string{temp, filepath.Join(temp, writable), filepath.Join(temp, readOnly)} {
		if err := errors.Join(os.Mkdir(dir, 0o711), os.Chmod(dir, 0o711)); err != nil { //nolint:gosec // as for the folder of all
			return err
		}
	}
	return nil
}

// room returns UNAVAILABLE if the disk cannot take the image.
func (s *Store) room(image core.Image) error {
	var disk unix.Statfs_t
	if err := unix.Statfs(s.dir, &disk); err != nil {
		return s.fault(err)
	}
	free := int64(disk.Bavail) * disk.Bsize //nolint:gosec // no disk has that much
	if free < image.Bytes+spare {
		return core.Errorf(core.CodeUnavailable, image.Ref(), "image %s needs %d MiB, and the disk of %s has %d MiB free: make room there",
			image.Name, (image.Bytes+spare)>>20, s.dir, free>>20)
	}
	return nil
}

// fetch unpacks an image from the blob store into a folder.
func (s *Store) fetch(ctx context.Context, image core.Image, into string) (err error) {
	root, err := os.OpenRoot(into)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	from, err := s.cfg.Blobs.Open(ctx, image.Digest)
	if core.Is(err, core.CodeNotFound) {
		return core.Wrap(err, core.CodeNotFound, image.Ref(), "the file of image %s is not in the blob store: build or import it again", image.Name)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	return s.unpack(ctx, image, from, root)
}

// unpack unpacks exactly the files in the image's record.
func (s *Store) unpack(ctx context.Context, image core.Image, from io.Reader, root *os.Root) error {
	limits := s.cfg.Limits
	limits.Entries, limits.Bytes, limits.Packed = min(limits.Entries, image.Files), min(limits.Bytes, image.Bytes), min(limits.Packed, image.Size)
	hash := sha256.New()
	from = io.TeeReader(from, hash)
	sum, err := images.Unpack(ctx, from, root, limits)
	if err == nil {
		// The stream may have trailing bytes that the decompressor did not read.
		_, err = io.Copy(io.Discard, io.LimitReader(from, 1<<20))
	}
	switch {
	case err != nil:
		var known *core.Error
		if errors.As(err, &known) {
			return core.Wrap(err, known.Code, image.Ref(), "image %s cannot be unpacked", image.Name)
		}
		return err
	case scheme+hex.EncodeToString(hash.Sum(nil)) != image.Digest:
		return core.Errorf(core.CodeUnavailable, image.Ref(), "the file of image %s is damaged: build or import it again", image.Name)
	case sum.Entries != image.Files || sum.Bytes != image.Bytes:
		return core.Errorf(core.CodeInvalid, image.Ref(), "image %s does not hold what the result store says of it: build or import it again", image.Name)
	}
	return nil
}

// settle renames an unpacked image once it is on the disk. Another process may have been first.
func (s *Store) settle(temp, dir string) error {
	root, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	if err := unix.Syncfs(int(root.Fd())); err != nil {
		return errors.Join(err, root.Close())
	}
	err = unix.Rename(temp, dir)
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) || errors.Is(err, unix.EBUSY) {
		err = os.RemoveAll(temp)
	}
	return errors.Join(err, root.Sync(), root.Close())
}

// lock locks a folder for this process, until it is unlocked or the process ends. Returns BUSY if another process has
// it.
func lock(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = core.Wrap(err, core.CodeBusy, dir, "%s is in use", dir)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil // it was only read
}

// tidy removes what a crash left: images half unpacked or half removed.
func (s *Store) tidy() error {
	found, err := os.ReadDir(s.dir)
	if err != nil {
		return s.fault(err)
	}
	for _, d := range found {
		if !left(d) {
			continue
		}
		dir := filepath.Join(s.dir, d.Name())
		unlock, err := lock(dir)
		if core.Is(err, core.CodeBusy) || errors.Is(err, fs.ErrNotExist) {
			continue // another process is working on it
		}
		if err == nil {
			err = errors.Join(unmount(dir), os.RemoveAll(dir))
			unlock()
		}
		if err != nil {
			return s.fault(err)
		}
	}
	return nil
}
