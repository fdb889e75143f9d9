package vmfactory

import (
	"context"
	"os"
	"time"

	"drover/core"
	"drover/core/service"
	"drover/core/service/clock"
)

// The lock that allows one vmfactory per host (rule 14), and its name after another one seized it.
const (
	lockName     = "vmfactory"
	evictedName  = "vmfactory-evicted"
	evictionPoll = 20 * time.Millisecond
)

// takeLock returns BUSY if a living process has the lock.
func takeLock(dir string) (*service.Lock, error) {
	l, err := service.TakeLock(dir, lockName)
	if core.Is(err, core.CodeBusy) {
		err = core.Wrap(err, core.CodeBusy, dir, "another vmfactory works on this host: stop it, or evict it with --force-unregister")
	}
	return l, err
}

// seizeLock replaces the lock even if a living process has it. That process notices when its epoch ends, and stops;
// awaitEvicted waits for that.
func seizeLock(dir string) (*service.Lock, error) {
	l, err := takeLock(dir)
	if !core.Is(err, core.CodeBusy) {
		return l, err
	}
	path := service.LockPath(dir, lockName)
	if err := os.Rename(path, service.LockPath(dir, evictedName)); err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, dir, "cannot move %s away", path)
	}
	return takeLock(dir)
}

// awaitEvicted waits until the process that lost its lock in dir has released it, for at most d. Returns false if it
// has not.
func awaitEvicted(ctx context.Context, dir string, d time.Duration) bool {
	path := service.LockPath(dir, evictedName)
	if _, err := os.Stat(path); err != nil {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for {
		old, err := service.TakeLock(dir, evictedName)
		switch {
		case err == nil:
			// The file is not needed any more; a file that stays is overwritten at the next eviction.
			_ = os.Remove(path)
			old.Release()
			return true
		case !core.Is(err, core.CodeBusy) || clock.Sleep(ctx, clock.Real{}, evictionPoll) != nil:
			return false
		}
	}
}
