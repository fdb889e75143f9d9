package drill

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"drover/core"
)

// component is one process of the cluster, started again when it ends by itself, as a
// supervisor does.
type component struct {
	name string   // such as testrunner@h1
	argv []string // the whole command
	env  []string
	log  *os.File // nil: nobody listens

	mu      sync.Mutex
	cmd     *exec.Cmd     // nil while it does not run
	done    chan struct{} // closed when cmd has ended
	all     []*life       // every process that it was
	down    bool          // it is meant not to run
	exits   int           // how often it ended by itself
	crashes int           // how often by a panic
}

// life is one process that a component was.
type life struct {
	pid   int
	ended time.Time // zero while it runs; guarded by the component
}

// restartAfter is what a supervisor waits before it starts a process again.
const restartAfter = 300 * time.Millisecond

// panicked is the exit code of Go's runtime when it ends a program. Drover itself has
// it for wrong settings, which a drill does not make.
const panicked = 2

// start runs the process unless it runs already.
func (p *component) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
	return p.launch()
}

// launch needs the mutex.
func (p *component) launch() error {
	if p.cmd != nil || p.down {
		return nil
	}
	cmd := exec.Command(p.argv[0], p.argv[1:]...) //nolint:noctx // it ends when it is told to, or with us
	cmd.Env = p.env
	if p.log != nil {
		cmd.Stdout, cmd.Stderr = p.log, p.log
	}
	// Not our group, whose Ctrl-C is not meant for it; and never longer than we.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return core.Wrap(err, core.CodeUnavailable, p.name, "%s cannot be started", p.name)
	}
	done, its := make(chan struct{}), &life{pid: cmd.Process.Pid}
	p.cmd, p.done, p.all = cmd, done, append(p.all, its)
	go func() {
		_ = cmd.Wait() // how it ended, its log says
		p.ended(its, cmd.ProcessState.ExitCode())
		close(done)
	}()
	return nil
}

// ended notes that the process is dead and has it started again if nobody wanted that.
func (p *component) ended(its *life, code int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd, its.ended = nil, time.Now()
	if p.down {
		return
	}
	p.exits++
	if code == panicked {
		p.crashes++
	}
	time.AfterFunc(restartAfter, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		_ = p.launch() // it is tried again when a fault on it heals
	})
}

// newest is the last process of that number that the component was; nil: none was.
func (p *component) newest(pid int) *life {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range slices.Backward(p.all) {
		if one.pid == pid {
			return one
		}
	}
	return nil
}

// setEnv changes the environment in which it starts the next time.
func (p *component) setEnv(env []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.env = env
}

// runs is the number of the process that runs; 0: none does.
func (p *component) runs() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// send signals the process if it runs.
func (p *component) send(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(s) // it may be dead already
	}
}

// kill ends it as a power cut does, and it stays down until start.
func (p *component) kill() {
	p.mu.Lock()
	p.down = true
	done := p.done
	if p.cmd == nil {
		done = nil
	} else {
		_ = p.cmd.Process.Kill() // it may be dead already
	}
	p.mu.Unlock()
	if done != nil {
		<-done
	}
}

// stop ends it as an operator does; one that does not end in time is killed, which
// it reports as false.
func (p *component) stop(ctx context.Context) bool {
	p.mu.Lock()
	p.down = true
	done := p.done
	if p.cmd == nil {
		p.mu.Unlock()
		return true
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may be dead already
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	p.mu.Unlock()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		p.kill()
		return false
	}
}
