package server

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"drover/core"
	"drover/core/agent/wire"
)

// box is where a harness runs untrusted programs: as another user of the VM, in a folder that is empty at the start,
// with limits of its own. The harness requests a run by drover-run, over a socket that only the harness's user can
// open. One command at a time runs in it, so everything that belongs to this user belongs to that command, and can be
// ended and removed with it.
//
//	idle      the harness runs; the box's user has neither processes nor files
//	waiting   a call waits for the one before it; calls beyond MaxBoxCalls wait to be read
//	filling   the state With is put into the folder
//	running   the command, and what it has started
//	ending    all processes of the box's user are killed, those of the harness are not
//	saving    the content of the folder is kept as the state Save
//	tidying   the folder is emptied; the user's files in Scratch and System V objects are removed
//
// What may go wrong, and what becomes of it:
//
//	the caller dies, or is stopped for wire.Stall      the command is ended, as when a host is gone
//	the harness ends, by itself or by its limits       everything is killed, including the command in the box
//	processes of the box's user do not die             the harness's run ends for its processes
//	the folder cannot be emptied                       the VM is bad: no command may find what another left
//	the folder cannot be kept                          the call fails; there is no state of that name then
//
// If the VM has only one user, the box is a Landlock domain with an additional seccomp filter (see confined). Its
// processes are recognized by the number of their filters, which they cannot remove.
type box struct {
	agent   *Agent
	owner   *job        // the harness's run
	limits  core.Limits // of the harness
	cred    credential  // how commands change to the box's user
	starter *starter
	folder  *place
	held    string // what protects the harness from it; "" is nothing
	turn    chan struct{}
	over    context.CancelFunc
	served  chan error // result of listening

	kept map[string]*state // used by the call whose turn it is

	mu     sync.Mutex
	now    *job // the running one
	closed bool // nothing may be started any more
	spoilt error
	wake   chan struct{} // a process of the box has died
}

// openBox makes the box before a harness starts.
func (a *Agent) openBox(owner *job, limits core.Limits) (*box, error) {
	b := &box{
		agent: a, owner: owner, limits: limits, cred: a.boxCred, kept: map[string]*state{},
		turn: make(chan struct{}, 1), wake: make(chan struct{}, 1), served: make(chan error, 1), held: wire.HeldByUser,
	}
	sock, err := b.open()
	if err != nil {
		return nil, core.Wrap(err, core.CodeBadVM, a.cfg.VM, "open the box")
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.over = cancel
	go func() {
		b.served <- take(ctx, sock, &conns{most: wire.MaxBoxCalls, seats: make(chan struct{}, wire.MaxBoxCalls)}, b.serve)
		_ = sock.Close() // nothing was written
	}()
	return b, nil
}

func (b *box) open() (*os.File, error) {
	a := b.agent
	if err := a.makeBox(); err != nil {
		return nil, err
	}
	var err error
	if b.folder, err = openPlace(path.Join(a.cfg.Home, wire.Box), wire.Box, a.places[wire.Work].limit, b.cred); err != nil {
		return nil, err
	}
	b.starter = a.starter
	a.ready(b.starter)
	if a.oneUser() {
		b.held = ""
		b.starter = newStarter()
		b.starter.begin(func() error {
			err := errors.Join(a.renew(&a.tree.boxed), a.muted()) // first: a domain inherits settings, too
			if err == nil {
				b.held, err = a.confined()
			}
			return err
		})
		b.starter.do(func() { err = b.starter.failed })
	}
	var sock *os.File
	if err == nil {
		sock, err = a.listenBox()
	}
	if err != nil {
		b.folder.close()
	}
	return sock, err
}

// listenBox makes the socket for calls, which only the harness's user may open.
func (a *Agent) listenBox() (*os.File, error) {
	home, err := syscall.Open(a.cfg.Home, nameOnly|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(home)                                          //nolint:errcheck // only named
	at := "/proc/self/fd/" + strconv.Itoa(home) + "/" + wire.BoxSocket // independent of the length of the home's path
	if err := syscall.Unlink(at); err != nil && !errors.Is(err, syscall.ENOENT) {
		return nil, err
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	sock := os.NewFile(uintptr(fd), "box")
	err = syscall.Bind(fd, &syscall.SockaddrUnix{Name: at})
	if err == nil {
		err = syscall.Chmod(at, 0o600)
	}
	if err == nil {
		err = a.cred.own(func(uid, gid int) error { return syscall.Lchown(at, uid, gid) })
	}
	if err == nil {
		err = syscall.Listen(fd, wire.MaxBoxCalls)
	}
	if err != nil {
		_ = sock.Close() // the first error counts
		return nil, err
	}
	return sock, nil
}

func (b *box) heldBy() string { return b.held }

// shut prevents further starts in the box.
func (b *box) shut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}

// close ends the box, with all its processes. It returns why the VM is bad, or nil.
func (b *box) close() error {
	b.shut()
	b.over()
	err := <-b.served
	for _, s := range b.kept {
		_ = s.file.Close() // not needed any more
	}
	if b.starter != b.agent.starter {
		b.starter.close()
	}
	b.folder.close()
	_ = syscall.Unlink(path.Join(b.agent.cfg.Home, wire.BoxSocket))
	b.mu.Lock()
	defer b.mu.Unlock()
	return errors.Join(err, b.spoilt)
}

// serve answers one call.
func (b *box) serve(conn *os.File) {
	a := b.agent
	in := bufio.NewReader(conn)
	_ = conn.SetReadDeadline(time.Now().Add(a.head))
	req, err := readRequest(in)
	if err == nil && (req.method != "POST" || req.path != wire.PathBox) {
		err = core.Errorf(core.CodeNotFound, a.cfg.VM, "the box does not do %q", req.method+" "+req.path)
	}
	if err != nil {
		_, _ = conn.Write(refuse(core.Wrap(err, core.CodeInvalid, a.cfg.VM, "read a call")))
		return
	}
	if err := b.run(conn, in, req); err != nil {
		a.refuse(conn, req, err)
	}
}

// run runs one command in the box. An error means that nothing was started, and nothing was answered yet.
func (b *box) run(conn *os.File, in *bufio.Reader, req *request) error {
	_ = conn.SetReadDeadline(time.Now().Add(wire.Silence)) // the spec must arrive at once
	var spec wire.BoxSpec
	if err := wire.ReadSpec(req.body, &spec); err != nil {
		return err
	}
	if spec.Files {
		return core.Errorf(core.CodeInvalid, "", "%s is set, and the box of this harness is in its own VM", wire.EnvPeer)
	}
	_ = conn.SetReadDeadline(time.Time{})
	select {
	case b.turn <- struct{}{}:
	case <-b.owner.stopped:
		return errHarnessEnds
	}
	j := newJob(b.agent, conn)
	j.in, j.apart, j.save = b, true, spec.Save
	ends, err := b.start(j, spec)
	if err != nil {
		if j.pid > 0 { // it was started, and must not go on in this state
			err = errors.Join(err, b.killAll())
		}
		err = errors.Join(err, b.tidy())
		<-b.turn
		return err
	}
	j.supervise(conn, in, req, ends)
	return nil
}

var errHarnessEnds = core.Errorf(core.CodeConflict, "", "the harness ends; nothing starts in the box any more")

// start fills the folder and starts the command.
func (b *box) start(j *job, spec wire.BoxSpec) (*pipes, error) {
	if err := b.fill(spec); err != nil {
		return nil, err
	}
	cmd, err := b.prepare(spec)
	if err != nil {
		return nil, err
	}
	cmd.boxed, cmd.cell = true, b.cell()
	j.cell, j.limits, j.compute, j.held = cmd.cell, cmd.share, spec.CPU, b.agent.heldBy(cmd.share)
	j.stretch = stretch(spec.Spec, cmd)
	if j.cell == shared && cmd.share.Pids < b.limits.Pids {
		j.held[core.LimitPids] = wire.HeldByWatchdog
	}
	j.held[wire.LimitHarness] = b.held
	return j.begin(func(ends *pipes) (err error) {
		defer ends.closeTheirs()
		if err := b.agent.controls.bound(cmd.cell, cmd.limits, cmd.share); err != nil {
			return err
		}
		b.mu.Lock() // a concurrent end must see it
		defer b.mu.Unlock()
		if b.closed {
			return errHarnessEnds
		}
		if j.pid, err = b.agent.startBy(b.starter, b.cred, cmd, ends); err == nil {
			b.now, j.session = j, j.pid
		}
		return err
	})
}

// cell returns that of runs in the box.
func (b *box) cell() cell {
	if b.agent.controls.holds() {
		return own
	}
	return shared
}

// prepare checks a call and finds its program.
func (b *box) prepare(spec wire.BoxSpec) (*command, error) {
	home := b.agent.cfg.Home
	folder := path.Join(home, wire.Box)
	if b.agent.oneUser() {
		spec.Env = append([]string{"TMPDIR=" + folder}, spec.Env...) // the harness's files in /tmp belong to its own user
	}
	spec.Harness, spec.Called, spec.Dir, spec.Limits = false, true, folder, b.limits
	return b.agent.prepare(spec.Spec)
}

// fill puts a state into the empty folder, and drops the state that is about to be replaced.
func (b *box) fill(spec wire.BoxSpec) error {
	if spec.With != "" {
		s := b.kept[spec.With]
		if s == nil {
			return core.Errorf(core.CodeInvalid, "", "nothing is kept as %q: a run with --save %s comes first, and must go well", spec.With, spec.With)
		}
		if err := b.folder.restore(s); err != nil {
			return b.folder.refusal(err)
		}
	}
	if spec.Save != "" {
		return replace(b.kept, spec.Save)
	}
	return nil
}

// holds reports whether a process belongs to the box.
func (b *box) holds(p process) bool {
	if b.agent.oneUser() {
		return p.filters > b.agent.filters+b.agent.mutes()
	}
	return p.uid == b.cred.uid
}

// next waits for the next child of the agent to end, and reports whether it belonged to the box; the child is not
// reaped yet. A pid below 0 means that there is none.
func (b *box) next() (pid int, boxed bool) {
	const all, exited, leave = 0, 0x4, 0x01000000 // P_ALL, WEXITED, WNOWAIT
	var info [16]uint64                           // a siginfo, larger than any
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, all, 0, uintptr(unsafe.Pointer(&info)), exited|leave, 0, 0)
		switch errno {
		case 0:
		case syscall.EINTR:
			continue
		default:
			return -1, false
		}
		// si_pid is the first field after three ints, aligned like a pointer.
		at := (3*unsafe.Sizeof(int32(0)) + unsafe.Sizeof(uintptr(0)) - 1) &^ (unsafe.Sizeof(uintptr(0)) - 1)
		pid = int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), at)))
		t := b.agent.tree
		t.mu.Lock()
		p, ok := t.statusOf(pid, "status")
		t.mu.Unlock()
		return pid, ok && b.holds(p)
	}
}

// reap reaps a process of the box that has ended, and returns its usage.
func (b *box) reap(pid int) syscall.Rusage {
	b.mu.Lock()
	defer b.mu.Unlock()
	var status syscall.WaitStatus
	var used syscall.Rusage
	for {
		if _, err := syscall.Wait4(pid, &status, 0, &used); !errors.Is(err, syscall.EINTR) {
			break // nobody else waits, so there is no other error
		}
	}
	if j := b.now; j != nil {
		j.account(used)
		if pid == j.pid {
			j.status, j.pid = status, 0 // its number may be reused later
			close(j.exited)
		}
	}
	select {
	case b.wake <- struct{}{}:
	default:
	}
	return used
}

// killAll kills all processes of the box and waits until they are dead and reaped.
func (b *box) killAll() error {
	late := time.NewTimer(killTimeout)
	defer late.Stop()
	again := time.NewTicker(killAgain)
	defer again.Stop()
	for {
		b.strike()
		left, err := b.count()
		if err == nil && left == 0 {
			return nil
		}
		select {
		case <-b.wake:
		case <-again.C:
		case <-late.C:
			b.owner.stop(causePids) // that kills everything
			return core.Wrap(errUndead, core.CodeLimit, b.agent.cfg.VM, "end a run in the box")
		}
	}
}

// count counts the processes of the box, between two that are reaped.
func (b *box) count() (n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	err = b.agent.tree.scan(func(p process) {
		if b.holds(p) {
			n++
		}
	})
	return n, err
}

// strike sends SIGKILL to the whole box. One call reaches all processes of a user, also those that are about to fork;
// with only one user they are looked up.
func (b *box) strike() {
	if b.agent.tree.init && !b.agent.oneUser() {
		b.as(func() { _ = syscall.Kill(-1, syscall.SIGKILL) }) // ESRCH: there is none
		return
	}
	var found []int
	_ = b.agent.tree.scan(func(p process) { // failures are retried
		if b.holds(p) && !p.zombie {
			found = append(found, p.pid)
		}
	})
	for _, pid := range found {
		_ = syscall.Kill(pid, syscall.SIGKILL) // ESRCH: it ended by itself
	}
}

// as calls f with the box's user as the effective user of an existing thread. Its real user stays the agent's, so
// that the box can do nothing to it.
func (b *box) as(f func()) {
	const same = ^uintptr(0)
	become := func(uid int) syscall.Errno {
		_, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, same, uintptr(uid), same)
		return errno
	}
	b.agent.starter.do(func() {
		own := syscall.Geteuid()
		if become(b.cred.uid) != 0 {
			return
		}
		f()
		for become(own) != 0 { // cannot fail for good: it is the thread's real user
		}
	})
}

// leave keeps the content of the folder if that is wanted, empties it, and lets the next call proceed.
func (b *box) leave(j *job) {
	if j.failure == nil && j.save != "" {
		s, err := b.agent.pack(b.folder, b.kept)
		if err != nil {
			j.unsaved = err.Error()
		} else {
			b.kept[j.save] = s
		}
	}
	b.mu.Lock()
	b.now = nil
	b.mu.Unlock()
	b.owner.boxed.Add(int64(time.Since(j.began)))
	b.judge(j)
	if j.failure == nil {
		j.failure = b.tidy()
	}
	<-b.turn
}

// judge also ends the harness's run if the command has exceeded the VM's limits: that decides the whole grading, in
// whichever order they are seen.
func (b *box) judge(j *job) {
	j.mu.Lock()
	why := j.cause
	j.mu.Unlock()
	if why == causeMemory && j.limits.Memory == b.limits.Memory || why == causePids && j.limits.Pids == b.limits.Pids {
		b.owner.stop(why)
	}
}
