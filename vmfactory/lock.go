package vmfactory

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"drover/core"
)

const (
	lockName     = "vmfactory.lock"
	evictedName  = "vmfactory.lock.evicted"
	evictionPoll = 20 * time.Millisecond
)

// hostLock makes sure that one vmfactory works on a host (rule 14). The kernel
// frees it when its process dies, however it dies.
type hostLock struct {
	path string
	file *flock.Flock
}

// takeLock returns BUSY if a living process has the lock.
func takeLock(dir string) (*hostLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, dir, "cannot make the run folder %s", dir)
	}
	l := &hostLock{path: filepath.Join(dir, lockName)}
	l.file = flock.New(l.path)
	ok, err := l.file.TryLock()
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, dir, "cannot lock %s", l.path)
	}
	if !ok {
		return nil, core.Errorf(core.CodeBusy, dir,
			"another vmfactory (process %s) works on this host: stop it, or evict it with --force-unregister", lockedBy(l.path))
	}
	if err := os.WriteFile(l.path, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		l.release()
		return nil, core.Wrap(err, core.CodeUnavailable, dir, "cannot write %s", l.path)
	}
	return l, nil
}

// seizeLock takes the lock's place even if a living process has it. That process
// finds out when its epoch ends, and stops; await waits for that.
func seizeLock(dir string) (*hostLock, error) {
	l, err := takeLock(dir)
	if !core.Is(err, core.CodeBusy) {
		return l, err
	}
	path := filepath.Join(dir, lockName)
	if err := os.Rename(path, filepath.Join(dir, evictedName)); err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, dir, "cannot move %s away", path)
	}
	return takeLock(dir)
}

// awaitEvicted waits until the process that lost its lock in dir has let go of
// it, at most for d. Returns false if it has not.
func awaitEvicted(ctx context.Context, dir string, d time.Duration) bool {
	path := filepath.Join(dir, evictedName)
	if _, err := os.Stat(path); err != nil {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	old := flock.New(path)
	ok, err := old.TryLockContext(ctx, evictionPoll)
	if err != nil || !ok {
		return false
	}
	// The file has served; one that stays is moved over at the next eviction.
	_ = os.Remove(path)
	_ = old.Unlock()
	return true
}

// ours reports whether the lock still stands at its place: false once another
// process seized it.
func (l *hostLock) ours() bool {
	mine, err := l.file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(l.path)
	return err == nil && os.SameFile(mine, there)
}

// release frees the lock. The file stays: removing it would race with the next taker.
func (l *hostLock) release() {
	// The kernel frees the lock with the process in any case.
	_ = l.file.Unlock()
}

// lockedBy names the process that wrote the lock file, for the message only.
func lockedBy(path string) string {
	b, err := os.ReadFile(filepath.Clean(path))
	if err != nil || len(b) == 0 || len(b) > 20 {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}
