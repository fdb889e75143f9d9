package testrunner

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"drover/core"
	"drover/core/agent/wire"
	"drover/core/service/clock"
)

// builds keeps compiled states on disk, one file for each key; the least recently used are removed first. The folder is
// the only state. Testrunners of a host may share it: a file gets its name once it is complete, and what two make for
// one key serves both. Nothing here is needed for a result: whatever is missing or damaged is built again.
type builds struct {
	dir   string
	most  int64 // bytes of all
	clock clock.Clock
}

const (
	mostBuild = wire.MaxState  // bytes of one state
	maxBuilds = 4096           // states
	buildAge  = 24 * time.Hour // of a state: what is built may depend on when, and the host's own programs change
	buildNew  = ".new-"        // before the names of incomplete files
)

// A file begins with the digest of all that follows, and with the time when it was made.
const (
	buildTime = sha256.Size
	buildHead = buildTime + 8
)

// openBuilds makes the folder. There is none for "".
func openBuilds(dir string, most int64, c clock.Clock) (*builds, error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, dir, "the folder %s for compiled states cannot be made", dir)
	}
	return &builds{dir: dir, most: most, clock: c}, nil
}

func (b *builds) path(key string) string { return filepath.Join(b.dir, key) }

// open returns the state of a key, at its start; nil if there is none, or it is too old or damaged: then it is removed.
func (b *builds) open(key string) *os.File {
	f, err := os.Open(b.path(key))
	if err != nil {
		return nil
	}
	if !b.whole(f) {
		_ = f.Close() // only read from
		b.drop(key)
		return nil
	}
	now := b.clock.Now()
	_ = os.Chtimes(b.path(key), now, now) // otherwise it leaves earlier than it should
	return f
}

// whole reports whether a file is complete, unchanged and young enough, and leaves it at its state.
func (b *builds) whole(f *os.File) bool {
	var head [buildHead]byte
	if _, err := io.ReadFull(f, head[:]); err != nil {
		return false
	}
	made := time.UnixMilli(int64(binary.BigEndian.Uint64(head[buildTime:]))) //nolint:gosec // our own
	sum := sha256.New()
	_, _ = sum.Write(head[buildTime:]) // it never fails
	if _, err := io.Copy(sum, io.LimitReader(f, mostBuild+1)); err != nil || !bytes.Equal(sum.Sum(nil), head[:buildTime]) {
		return false
	}
	_, err := f.Seek(buildHead, io.SeekStart)
	age := b.clock.Now().Sub(made)
	return err == nil && age < buildAge && age > -buildAge
}

// put keeps what write writes, which may be mostBuild bytes.
func (b *builds) put(key string, write func(io.Writer) error) (err error) {
	name := b.path(buildNew + rand.Text())
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err == nil {
			err = os.Rename(name, b.path(key))
		}
		if err != nil {
			err = errors.Join(err, os.Remove(name))
			return
		}
		err = b.trim()
	}()
	var head [buildHead]byte
	binary.BigEndian.PutUint64(head[buildTime:], uint64(b.clock.Now().UnixMilli()))
	sum := sha256.New()
	_, _ = sum.Write(head[buildTime:]) // it never fails
	if _, err := f.Write(head[:]); err != nil {
		return err
	}
	if err := write(io.MultiWriter(f, sum)); err != nil {
		return err
	}
	_, err = f.WriteAt(sum.Sum(nil), 0)
	return err
}

func (b *builds) drop(key string) { _ = os.Remove(b.path(key)) } // another runner may have done it

// trim removes the least recently used states until the rest fits, and what runners that died have left incomplete.
func (b *builds) trim() error {
	found, err := os.ReadDir(b.dir)
	if err != nil {
		return err
	}
	var all []fs.FileInfo
	total := int64(0)
	for _, one := range found {
		info, err := one.Info()
		switch {
		case err != nil: // it is gone
		case !strings.HasPrefix(one.Name(), buildNew):
			all = append(all, info)
			total += info.Size()
		case b.clock.Now().Sub(info.ModTime()) > halfWritten:
			b.drop(one.Name())
		}
	}
	slices.SortFunc(all, func(x, y fs.FileInfo) int {
		return cmp.Or(x.ModTime().Compare(y.ModTime()), cmp.Compare(x.Name(), y.Name()))
	})
	for i, info := range all {
		if total <= b.most && len(all)-i <= maxBuilds {
			break
		}
		b.drop(info.Name())
		total -= info.Size()
	}
	return nil
}
