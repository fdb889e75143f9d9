package process

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Pipe carries one text to a process that is about to be started.
type Pipe struct{ Read, Write int }

// NewPipe makes a pipe that no other program inherits.
func NewPipe() (Pipe, error) {
	var fds [2]int
	err := unix.Pipe2(fds[:], unix.O_CLOEXEC)
	return Pipe{fds[0], fds[1]}, err
}

// Send writes the text and ends it.
func (p *Pipe) Send(text []byte) error {
	for len(text) > 0 {
		n, err := unix.Write(p.Write, text)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("its first process does not read: %w", err)
		}
		text = text[n:]
	}
	CloseFD(p.Write)
	p.Write = -1
	return nil
}

// Close closes the open ends.
func (p *Pipe) Close() {
	CloseFD(p.Read)
	CloseFD(p.Write)
	p.Read, p.Write = -1, -1
}
