// Package server is the agent: the init of a VM, which stages files, runs one command at a time as an unprivileged
// user, and leaves no process alive behind it. It owns its whole process: it waits for every child of it.
//
// It stays small because a host has hundreds of waiting VMs, each with an agent. That is why it implements HTTP
// itself and reads /proc by system calls: see package boot.
package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"drover/core"
	"drover/core/agent/wire"
)

// Agent is one VM's agent.
type Agent struct {
	cfg     wire.Config
	tree    *tree
	usage   *usage
	cred    credential
	boxCred credential
	filters int // number of the agent's seccomp filters
	badge   oomBadge
	places  map[string]*place
	kept    map[string]*state

	starter  *starter // of the commands from now on
	fresh    *starter // of those after the next reset; nil before the first
	controls controls

	idle, head time.Duration // how long a connection may wait for a request, and for its head

	callers chan waiting // of drover-run, for the host

	mu         sync.Mutex
	assignment string
	busy       bool  // a stage or a run is in progress
	job        *job  // the run in progress
	bad        error // why the VM refuses all work
}

// Serve runs the agent: it hardens its process, serves the listening unix socket and returns when ctx ends, with
// everything else in the VM dead. It takes over the descriptor and owns every child of the process.
func Serve(ctx context.Context, listener int, cfg wire.Config) error {
	// Non-blocking before it becomes a File, so that accepting waits in the poller.
	if err := syscall.SetNonblock(listener, true); err != nil {
		return fmt.Errorf("use descriptor %d as a listening socket: %w", listener, err)
	}
	sock := os.NewFile(uintptr(listener), "listener")
	defer sock.Close() //nolint:errcheck // nothing was written
	a, err := newAgent(cfg)
	if err != nil {
		return err
	}
	defer a.close()
	if err := a.harden(); err != nil {
		return fmt.Errorf("harden the agent: %w", err)
	}
	err = a.listen(ctx, sock)
	return errors.Join(err, a.tree.killAll())
}

func newAgent(cfg wire.Config) (*Agent, error) {
	if cfg.Home == "" {
		cfg.Home = wire.Home
	}
	if err := checkConfig(cfg); err != nil {
		return nil, err
	}
	tree, err := newTree(cfg.Proc)
	if err != nil {
		return nil, err
	}
	a := &Agent{cfg: cfg, tree: tree, usage: openUsage(cfg), cred: newCredential(cfg.UID, cfg.GID), badge: openBadge(cfg), kept: map[string]*state{}, callers: make(chan waiting), starter: newStarter(), idle: wire.Idle, head: wire.Head}
	a.controls = newControls(cfg, a.usage)
	tree.network.Store(&a.starter.network)
	a.boxCred = a.cred
	if !a.oneUser() {
		a.boxCred = newCredential(cfg.BoxUID, cfg.BoxGID)
	}
	if own, ok := tree.statusOf(tree.self, "status"); ok {
		a.filters = own.filters
	}
	if a.places, err = openPlaces(cfg, a.cred); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

func checkConfig(cfg wire.Config) error {
	switch {
	case len(cfg.Secret) < 16 || len(cfg.Secret) > 256:
		return errors.New("the secret must have 16 to 256 bytes")
	case cfg.UID <= 0 || cfg.GID <= 0:
		return errors.New("user code needs a uid and a gid other than 0")
	case cfg.BoxUID != 0 && (cfg.BoxUID < 0 || cfg.BoxGID <= 0 || cfg.BoxUID == cfg.UID || cfg.BoxGID == cfg.GID):
		return errors.New("the box needs a uid and a gid of its own, or none")
	case len(cfg.BoxBPF)%8 != 0 || len(cfg.BoxBPF) > 8*4096:
		return errors.New("the box's filter is not an array of instructions")
	case !strings.HasPrefix(cfg.Home, "/"):
		return fmt.Errorf("the home %q is not absolute", cfg.Home)
	}
	return checkEnv(cfg.Env)
}

func (a *Agent) close() {
	for _, p := range a.places {
		p.close()
	}
	for _, s := range a.kept {
		_ = s.file.Close()
	}
	a.starter.close()
	if a.fresh != nil {
		a.fresh.close()
	}
	a.usage.close()
	a.badge.close()
	a.tree.close()
}

func (a *Agent) status() (wire.Status, error) {
	n, err := a.tree.count()
	if err != nil {
		return wire.Status{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.assignment == "" && a.spare() == 0 {
		go a.ready(a.starter) // the VM is made, so the next call is a claim's, which would wait for it
	}
	s := wire.Status{State: wire.Ready, Assignment: a.assignment, Processes: n}
	if a.assignment != "" {
		s.State = wire.Assigned
	}
	return s, nil
}

// assign gives the VM its one assignment.
func (a *Agent) assign(to string) error {
	if to == "" || len(to) > wire.MaxAssignment || !printable(to) {
		return core.Errorf(core.CodeInvalid, a.cfg.VM, "an assignment is 1 to %d printable ASCII characters", wire.MaxAssignment)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.assignment != "" && a.assignment != to {
		return core.Errorf(core.CodeConflict, a.cfg.VM, "VM %s is assigned to %s already; a VM serves once", a.cfg.VM, a.assignment)
	}
	if a.assignment == "" {
		runtime.GOMAXPROCS(min(runtime.NumCPU(), processors)) // a waiting VM needs only one
		go a.ready(a.starter)                                 // it takes a moment, in parallel to staging
	}
	a.assignment = to
	return nil
}

// processors is how many an agent uses that has work: a thread that waits for a command must not hold up the others.
const processors = 2

func printable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// begin reserves the agent for a stage or, with a job, a run of the assignment.
func (a *Agent) begin(assignment string, j *job) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.assignment == "" || a.assignment != assignment:
		return core.Errorf(core.CodeConflict, a.cfg.VM, "VM %s is not assigned to %q", a.cfg.VM, assignment)
	case a.bad != nil:
		return a.bad
	case a.busy:
		return core.Errorf(core.CodeConflict, a.cfg.VM, "VM %s is busy; it does one thing at a time", a.cfg.VM)
	}
	a.busy, a.job = true, j
	return nil
}

func (a *Agent) end(bad error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.busy, a.job = false, nil
	if a.bad == nil {
		a.bad = bad
	}
}

// stopJob stops the run in progress, if any.
func (a *Agent) stopJob() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.job != nil {
		a.job.stop(causeKilled)
	}
}

// kill ends the run in progress, if any, and everything else except the agent.
func (a *Agent) kill() error {
	a.mu.Lock()
	j, busy := a.job, a.busy
	a.busy = true
	a.mu.Unlock()
	switch {
	case j != nil:
		j.stop(causeKilled)
		<-j.over
		return j.failure
	case busy: // files are being staged: earlier runs left no process alive
		a.tree.strike()
		return nil
	}
	err := a.tree.killAll()
	a.end(err)
	return err
}
