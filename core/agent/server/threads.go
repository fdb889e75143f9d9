package server

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"drover/core"
	"drover/core/agent/wire"
)

// spareThreads is how many threads are kept ready for what the agent may do at a time during a run.
const spareThreads = 16

// spare returns how many threads have to be kept ready. The Go runtime ends a program if it cannot create one, and user
// code can use up every process that the VM may have, unless a cgroup of its own bounds those.
func (a *Agent) spare() int {
	if a.cfg.HeldBy[core.LimitPids] == wire.HeldByCgroup {
		return 0
	}
	return spareThreads
}

// starter is the thread that starts commands. It has permanently dropped what they must not have, and is in their
// namespaces.
type starter struct {
	once    sync.Once
	work    chan func()
	failed  error        // why it is not ready; only its own thread uses it
	network atomic.Int64 // the thread, once it is in a network of its own; 0 before
}

// newStarter makes a starter whose thread begins later. Work may wait while the thread is busy, one piece of it.
func newStarter() *starter { return &starter{work: make(chan func(), 1)} }

// ready makes the starter, in the namespaces of enter, and spare threads, once. A VM that waits for its assignment does
// without them.
func (s *starter) ready(enter func() error, spare int) {
	s.once.Do(func() {
		s.begin(enter)
		var locked, unlocked sync.WaitGroup
		locked.Add(spare)
		for range spare {
			unlocked.Go(func() {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				locked.Done()
				locked.Wait() // as long as all of them hold one, each has its own
			})
		}
		unlocked.Wait()
	})
}

// begin makes the starter's thread, which ends with the starter.
func (s *starter) begin(enter func() error) {
	go func() {
		runtime.LockOSThread() // permanently
		s.failed = errors.Join(giveUp(), enter())
		for f := range s.work {
			f()
		}
	}()
}

// do runs f on the starter's thread.
func (s *starter) do(f func()) {
	done := make(chan struct{})
	s.work <- func() {
		defer close(done)
		f()
	}
	<-done
}

// later runs f on the starter's thread, before what it is given from now on, and does not wait for it.
func (s *starter) later(f func()) { s.work <- f }

func (s *starter) close() {
	s.once.Do(func() {}) // it is not made any more
	close(s.work)
}
