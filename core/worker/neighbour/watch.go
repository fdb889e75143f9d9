package neighbour

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/service/clock"
)

// Watch detects the deaths of the other processes of a host.
type Watch struct {
	Dir         string                                                     // of the notes
	DeclareDead func(ctx context.Context, owner string, epoch int64) error // ends the owner's epoch and settles what it held; may be called again
	Every       time.Duration                                              // between looks for new notes; default 250 ms
	Clock       clock.Clock                                                // nil: the machine's
	Notice      Notice

	space    string // this process's pid namespace
	boot     string // its host's boot
	mu       sync.Mutex
	watching map[Note]bool
	read     time.Time // when the folder changed last, as of the last reading; zero: it is to be read again
	group    sync.WaitGroup
}

// Run watches until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	if w.Every == 0 {
		w.Every = 250 * time.Millisecond
	}
	if w.Clock == nil {
		w.Clock = clock.Real{}
	}
	w.watching = make(map[Note]bool)
	defer w.group.Wait()
	var err error
	if w.space, err = ownSpace(); err == nil {
		w.boot, err = bootOf()
	}
	if err != nil {
		w.Notice("", "the processes of this host cannot be watched: their deaths will be noticed by missing heartbeats", err)
		return nil
	}
	unread := false
	for ctx.Err() == nil {
		err := w.look(ctx)
		if err != nil && !unread {
			w.Notice("", "cannot see the other processes of this host; trying again", err)
		}
		unread = err != nil
		if clock.Sleep(ctx, w.Clock, w.Every) != nil {
			return nil
		}
	}
	return nil
}

// look starts to watch the processes of new notes.
func (w *Watch) look(ctx context.Context) error {
	if w.unchanged() {
		return nil
	}
	notes, whole, err := list(w.Dir)
	if !whole {
		w.again()
	}
	if err != nil {
		return err
	}
	for _, n := range notes {
		other := n.Boot != w.boot // processes of an earlier boot are gone, and their numbers may be in use
		if !other && (n.PID == os.Getpid() || n.Space != w.space) || !w.begin(n) {
			continue
		}
		w.group.Go(func() {
			defer w.end(n)
			w.follow(ctx, n)
		})
	}
	return nil
}

// settled is how old a change of the folder must be for its time to tell it from the next one. File
// systems count in steps, up to seconds.
const settled = 5 * time.Second

// unchanged reports whether the folder was read since it changed last; else it is about to be read.
// An owner comes by a new file, so the folder changes. What is not watched any more is looked at again.
func (w *Watch) unchanged() bool {
	info, err := os.Stat(w.Dir)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && !w.read.IsZero() && info.ModTime().Equal(w.read) {
		return true
	}
	w.read = time.Time{}
	if err == nil && time.Since(info.ModTime()) > settled {
		w.read = info.ModTime()
	}
	return false
}

// again has the folder read at the next look.
func (w *Watch) again() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read = time.Time{}
}

func (w *Watch) begin(n Note) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watching[n] {
		return false
	}
	w.watching[n] = true
	return true
}

func (w *Watch) end(n Note) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.watching, n)
	w.read = time.Time{}
}

// follow waits for the death of the note's process and declares its owner dead. It also returns when ctx ends.
func (w *Watch) follow(ctx context.Context, n Note) {
	pause := newPause()
	for told := false; n.Boot == w.boot; told = true {
		err := gone(ctx, n)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return
		}
		if !told {
			w.Notice(n.Owner, "cannot watch this process, trying again: meanwhile its death is noticed by missing heartbeats", err)
		}
		if clock.Sleep(ctx, w.Clock, pause.NextBackOff()) != nil {
			return
		}
	}
	if _, err := os.Stat(n.path(w.Dir)); os.IsNotExist(err) {
		return // it deregistered, or another neighbour declared it dead
	}
	pause.Reset()
	for tried := false; ctx.Err() == nil; tried = true {
		err := w.DeclareDead(ctx, n.Owner, n.Epoch)
		switch core.CodeOf(err) {
		case "":
			w.Notice(n.Owner, "the process died: what it held was settled", nil)
			n.remove(w.Dir)
			return
		case core.CodeConflict, core.CodeFenced, core.CodeNotFound:
			n.remove(w.Dir) // it has a new epoch, or another neighbour was faster
			return
		}
		if ctx.Err() == nil && !tried {
			w.Notice(n.Owner, "the process died; what it held cannot be settled yet, trying again", err)
		}
		if clock.Sleep(ctx, w.Clock, pause.NextBackOff()) != nil {
			return
		}
	}
}

// newPause is the growing wait between tries.
func newPause() *backoff.ExponentialBackOff {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 50*time.Millisecond, 2*time.Second
	return pause
}

// gone returns nil once the note's process is dead: the process does not exist, or its number belongs to another one.
// Any other failure, such as a lack of descriptors, is an error, and so is the end of ctx.
func gone(ctx context.Context, n Note) error {
	fd, err := unix.PidfdOpen(n.PID, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return os.NewSyscallError("pidfd_open", err)
	}
	file := os.NewFile(uintptr(fd), "pidfd")
	defer func() { _ = file.Close() }()
	// Checked only now: with the pidfd open, the number cannot pass to another process unnoticed.
	started, err := startOf(n.PID)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ESRCH):
		return nil
	case err != nil:
		return core.Wrap(err, core.CodeUnavailable, n.Owner, "when process %d began cannot be read", n.PID)
	case started != n.Started:
		return nil
	}
	stop := context.AfterFunc(ctx, func() { _ = file.Close() })
	defer stop()
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var polled error
	err = conn.Read(func(fd uintptr) bool {
		var ready int
		ready, polled = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0) //nolint:gosec // a descriptor is small
		return ready > 0 || polled != nil && !errors.Is(polled, unix.EINTR)
	})
	return errors.Join(err, polled)
}
