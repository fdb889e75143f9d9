package local

import (
	"fmt"
	"path/filepath"

	"drover/vmfactory/trace"

	"drover/vmfactory/process"

	"golang.org/x/sys/unix"

	"drover/core/guest"
)

// descriptors are those of a VM's first process while it is made.
type descriptors struct {
	plan, config              process.Pipe
	null, log, socket, anchor int
	in                        int // the lifeline, or below 0; the provider's own
}

// descriptors opens them, the agent's listening socket among them: bound in the
// VM's folder, which the VM never sees.
func (p *Provider) descriptors(id string) (d *descriptors, err error) {
	d = &descriptors{plan: process.Pipe{Read: -1, Write: -1}, config: process.Pipe{Read: -1, Write: -1}, null: -1, log: -1, socket: -1, anchor: -1, in: p.lifeline[0]}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	if d.plan, err = process.NewPipe(); err != nil {
		return d, err
	}
	if d.config, err = process.NewPipe(); err != nil {
		return d, err
	}
	if d.null, err = unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return d, fmt.Errorf("open /dev/null: %w", err)
	}
	log := filepath.Join(p.traces.Path(id), logFile)
	if d.log, err = unix.Open(log, unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND|unix.O_CLOEXEC, 0o600); err != nil {
		return d, fmt.Errorf("open its log: %w", err)
	}
	if d.socket, err = trace.Listen(p.traces.Path(id)); err != nil {
		return d, err
	}
	// It leads nowhere: a file that is only named can be neither read nor left.
	name := filepath.Join(p.traces.Path(id), guest.SocketFile)
	if d.anchor, err = unix.Open(name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err != nil {
		return d, fmt.Errorf("name the agent's socket: %w", err)
	}
	return d, nil
}

// theirs lists them in the order that the first process and the agent expect.
func (d *descriptors) theirs() []int {
	in := d.in
	if in < 0 {
		in = d.null // nobody reads it
	}
	return []int{d.plan.Read, d.null, d.log, d.socket, d.config.Read, in, d.anchor}
}

func (d *descriptors) close() {
	d.plan.Close()
	d.config.Close()
	for _, fd := range []int{d.null, d.log, d.socket, d.anchor} {
		process.CloseFD(fd)
	}
}
