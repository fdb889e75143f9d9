package boxrun

import (
	"errors"
	"os"
	"sync"
	"syscall"
)

// outlet writes one stream of the command to the harness's file. Unwritten output is at most the output limit: a slow
// reader does not hold up the command, and if the command has filled the disk, the outlet waits until what it left is
// removed.
type outlet struct {
	to   *os.File
	done chan struct{}

	mu    sync.Mutex
	come  *sync.Cond
	buf   []byte
	ended bool
	err   error
}

func newOutlet(to *os.File) *outlet {
	o := &outlet{to: to, done: make(chan struct{})}
	o.come = sync.NewCond(&o.mu)
	go o.carry()
	return o
}

func (o *outlet) write(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf = append(o.buf, b...)
	o.come.Signal()
}

// close writes what is left when the command has ended.
func (o *outlet) close() error {
	o.mu.Lock()
	o.ended = true
	o.come.Signal()
	o.mu.Unlock()
	<-o.done
	return o.err
}

func (o *outlet) carry() {
	defer close(o.done)
	for {
		b, ended := o.next()
		if len(b) == 0 {
			return
		}
		for len(b) > 0 {
			n, err := o.to.Write(b)
			b = b[n:]
			if err == nil {
				continue
			}
			if full(err) && !ended {
				ended = o.end()
				continue
			}
			o.err = err
			return
		}
	}
}

// next waits for something to write; nothing is the end.
func (o *outlet) next() (b []byte, ended bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.buf) == 0 && !o.ended {
		o.come.Wait()
	}
	b, o.buf = o.buf, nil
	return b, o.ended
}

// end waits for the end of the command.
func (o *outlet) end() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.ended {
		o.come.Wait()
	}
	return true
}

func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
