package server

import (
	"bufio"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"drover/core"
	"drover/core/agent/wire"
)

// cause is why a run was stopped before its command ended.
type cause int

const (
	causeNone   cause = iota
	causeKilled       // requested, or the agent ends
	causeGone         // the host's connection ended
	causeTimeout
	causeOutput
	causeMemory
	causePids
)

// job is one run: a command, all that it starts, and its connection.
type job struct {
	agent   *Agent
	limits  core.Limits
	compute time.Duration // processor time that it may use; 0 is unlimited
	apart   bool          // one of several runs whose usage is reported separately
	cell    cell          // where it is
	held    map[string]string
	closes  bool   // the host wants to know when standard output is closed
	save    string // name under which the box's content is kept afterwards; "" is none
	unsaved string // why the box's content could not be kept
	lends   *box   // the box that it may use; nil is none
	calls   *calls // of a harness whose box is another VM; nil is none
	in      *box   // the box in which it runs; nil is none
	frames  *frames
	began   time.Time
	before  reading       // of the cgroups, at the start
	floor   int64         // the agent's own peak of resident bytes: a child counts them until its exec
	stocks  stocks        // of the host at the start
	over    chan struct{} // closed when the run has ended and everything is dead
	failure error         // why the VM is bad; read after over
	stretch time.Duration // by which its limit by the clock may be put off
	lost    time.Duration // by which it was
	partner time.Duration // of lost: what the run that it talks with had lost
	talks   bool          // it does talk with one
	dawn    moment        // its start, if so
	waited  time.Duration // when the clock ended it: how long it had waited for a processor

	mu      sync.Mutex
	told    chan time.Duration // what the run that it talks with has lost so far; nil before it begins
	cause   cause              // the first one
	stopped chan struct{}      // closed with the first cause

	// Written by reap, read after dead or exited.
	pid    int
	exited chan struct{} // closed when the command itself has ended
	dead   chan struct{} // closed when no child is left
	status syscall.WaitStatus
	cpu    atomic.Int64 // nanoseconds

	metered atomic.Int64 // nanoseconds counted by the meter
	boxed   atomic.Int64 // nanoseconds by the clock for which commands have run in its box
	fed     atomic.Int64 // bytes of standard input that were passed on
	most    int64        // the largest resident set of one process, bytes

	looking sync.Mutex
	saw     sight
	session int   // its own session
	calmed  []int // further sessions that were given a lower priority
}

func newJob(a *Agent, out *os.File) *job {
	return &job{
		agent: a, frames: newFrames(out), over: make(chan struct{}),
		stopped: make(chan struct{}), exited: make(chan struct{}), dead: make(chan struct{}),
	}
}

// stop ends the run. The first cause counts.
func (j *job) stop(why cause) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.cause == causeNone {
		j.cause = why
		close(j.stopped)
	}
}

// leave makes the agent free for the next call, unless the VM is bad.
func (j *job) leave() {
	if j.in == nil {
		j.agent.end(j.failure)
	} else {
		j.in.leave(j)
	}
	close(j.over)
}

// run starts a command and returns when all its processes are dead and the end is reported. An error means that
// nothing was started and nothing was answered yet.
func (a *Agent) run(conn *os.File, in *bufio.Reader, req *request) error {
	j := newJob(a, conn)
	if err := a.begin(req.owner, j); err != nil {
		return err
	}
	_ = conn.SetReadDeadline(time.Now().Add(wire.Silence)) // the spec must arrive at once
	ends, err := j.start(req)
	_ = conn.SetReadDeadline(time.Time{}) // input may arrive at any time
	if err != nil {
		j.leave()
		return err
	}
	j.supervise(conn, in, req, ends)
	return nil
}

// start reads what to run and starts it.
func (j *job) start(req *request) (*pipes, error) {
	var spec wire.Spec
	err := wire.ReadSpec(req.body, &spec)
	if err != nil {
		return nil, err
	}
	if spec.Reset != nil {
		if err := j.agent.restore(*spec.Reset); err != nil {
			j.failure = spoilt(err)
			return nil, err
		}
	}
	cmd, err := j.agent.prepare(spec)
	if err != nil {
		return nil, err
	}
	j.closes = spec.Closes
	j.compute, j.apart = spec.CPU, spec.CPU > 0 || spec.Share != (core.Limits{})
	if j.apart && !spec.Harness && j.agent.controls.holds() { // a harness's runs are those in its box
		cmd.cell = own
	}
	j.cell, j.limits, j.held = cmd.cell, cmd.share, j.agent.heldBy(cmd.share)
	j.stretch = stretch(spec, cmd)
	j.talks = spec.Asks
	if j.cell == shared && cmd.share.Pids < cmd.limits.Pids {
		j.held[core.LimitPids] = wire.HeldByWatchdog // the kernel's limit stays for later runs
	}
	if spec.Harness {
		if err := j.lend(spec.Away, cmd); err != nil {
			return nil, err
		}
	}
	ends, err := j.begin(func(ends *pipes) (err error) {
		j.pid, err = j.agent.start(cmd, ends)
		j.session = j.pid
		return err
	})
	if err != nil {
		err = errors.Join(err, j.unlend())
	}
	return ends, err
}

// lend opens the box of a harness, or listens to its calls for one that is away.
func (j *job) lend(away bool, cmd *command) (err error) {
	if away {
		j.calls, err = j.agent.openCalls()
		j.held[wire.LimitHarness] = wire.HeldByPeer
		return err
	}
	if j.lends, err = j.agent.openBox(j, cmd.share); err == nil {
		j.held[wire.LimitHarness] = j.lends.heldBy()
	}
	return err
}

// unlend ends what lend has begun. It returns why the VM is bad, or nil.
func (j *job) unlend() error {
	switch {
	case j.lends != nil:
		return j.lends.close()
	case j.calls != nil:
		return j.calls.close()
	}
	return nil
}

// stretch returns by how much a run's limit by the clock may be put off.
func stretch(spec wire.Spec, cmd *command) time.Duration {
	return min(max(spec.Stretch, 0), wire.MaxStretch*cmd.share.Timeout)
}

// begin starts the command with pipes for its streams.
func (j *job) begin(start func(*pipes) error) (*pipes, error) {
	ends, err := openPipes()
	if err != nil {
		return nil, core.Wrap(err, core.CodeBadVM, j.agent.cfg.VM, "open pipes")
	}
	memory, _ := j.watched()
	j.began, j.before, j.floor, j.stocks = time.Now(), j.gauges().read(), ownPeak(), j.agent.tree.stocks(memory > 0)
	if j.talks {
		j.listens()
	}
	if err := start(ends); err != nil {
		ends.closeOurs()
		return nil, err
	}
	return ends, nil
}

// gauges returns the files with the run's usage.
func (j *job) gauges() *gauges {
	if j.cell == own {
		return &j.agent.usage.own
	}
	return &j.agent.usage.runs
}

// supervise carries the streams, waits for the first reason to end, and makes sure that everything is dead before it
// reports.
func (j *job) supervise(conn *os.File, in *bufio.Reader, req *request, ends *pipes) {
	var streams, guards sync.WaitGroup
	dead := make(chan struct{})
	if j.in == nil {
		go j.reap()
	}
	streams.Go(func() {
		j.pump(wire.KindStdout, ends.ours[1])
		j.closed()
	})
	streams.Go(func() { j.pump(wire.KindStderr, ends.ours[2]) })
	streams.Go(func() { j.watch(dead) })
	streams.Go(func() { j.meter(dead) })
	guards.Go(func() { j.feed(req, in, ends.ours[0], dead) })
	guards.Go(func() { j.keepAlive(dead) })

	j.await()
	if j.lends != nil {
		j.lends.shut() // nothing may be started any more
	}
	j.failure = j.killAll()
	wall := time.Since(j.began)
	close(dead)
	if j.failure != nil {
		ends.closeOurs()
	}
	streams.Wait() // output written before the end is still in the pipes
	ends.closeOurs()
	j.failure = errors.Join(j.failure, j.unlend())
	j.leave() // before the host reads the end and makes the next call
	if j.failure != nil {
		j.frames.last(wire.KindFault, wire.Refusal{Code: core.CodeOf(j.failure), Text: j.failure.Error(), Unclean: errors.As(j.failure, new(unclean))})
	} else {
		j.frames.last(wire.KindExit, j.report(wall))
	}
	// The host may still be sending input. It must be able to read the end before its sending fails, so the host
	// closes the connection.
	_ = conn.SetReadDeadline(time.Now().Add(drainTime))
	guards.Wait()
	_, _ = io.CopyN(io.Discard, in, drainBytes)
}

// killAll kills everything and waits until it is dead and reaped.
func (j *job) killAll() error {
	if j.in != nil {
		return j.in.killAll()
	}
	late := time.NewTimer(killTimeout)
	defer late.Stop()
	again := time.NewTicker(killAgain)
	defer again.Stop()
	for {
		j.agent.tree.strike()
		select {
		case <-j.dead:
			return nil
		case <-again.C:
		case <-late.C:
			err := core.Wrap(errUndead, core.CodeBadVM, j.agent.cfg.VM, "end a run")
			if j.lends == nil && j.calls == nil { // otherwise a process of the harness may have survived
				err = unclean{err}
			}
			return err
		}
	}
}

var errUndead = errors.New("processes of user code did not die")

// reap reaps every child until there is none. It runs only while the agent has children, and nobody else waits in
// that time, so it gets the command's own status.
func (j *job) reap() {
	defer close(j.dead)
	ended, last := false, j.lends == nil
	for {
		next := -1
		if j.lends != nil {
			var boxed bool
			if next, boxed = j.lends.next(); boxed {
				j.account(j.lends.reap(next))
				continue
			}
		}
		var status syscall.WaitStatus
		var used syscall.Rusage
		pid, err := syscall.Wait4(next, &status, 0, &used)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			if !last { // one may have been started in the meantime
				j.lends.shut()
				last = true
				continue
			}
			return // ECHILD: none is left
		}
		j.account(used)
		if pid == j.pid && !ended { // its number may be reused later
			ended = true
			j.status = status
			close(j.exited)
		}
	}
}

// account adds the usage of a reaped process.
func (j *job) account(used syscall.Rusage) {
	j.cpu.Add(used.Utime.Nano() + used.Stime.Nano())
	j.most = max(j.most, used.Maxrss<<10)
}

// report summarizes the run, all of whose processes are dead.
func (j *job) report(wall time.Duration) wire.Exit {
	j.mu.Lock()
	why := j.cause
	j.mu.Unlock()
	e := wire.Exit{
		Code:           j.status.ExitStatus(),
		TimedOut:       why == causeTimeout,
		PidsExceeded:   why == causePids,
		OutputExceeded: why == causeOutput,
		Truncated:      j.frames.cut.Load(),
		WallMs:         wall.Milliseconds(),
		WaitedMs:       j.waited.Milliseconds(),
		LostMs:         j.lost.Milliseconds(),
		PartnerMs:      j.partner.Milliseconds(),
		BoxedMs:        time.Duration(j.boxed.Load()).Milliseconds(),
		HeldBy:         j.held,
		Unsaved:        j.unsaved,
	}
	if j.status.Signaled() {
		e.Code, e.Signal = 128+int(j.status.Signal()), signalName(j.status.Signal())
	}
	j.measure(&e, why)
	return e
}

// counting counts what is written.
type counting struct {
	io.Writer
	n *atomic.Int64
}

// Write writes.
func (c counting) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.n.Add(int64(n))
	return n, err
}

// feed carries standard input, and detects that the host is gone. A command that does not read blocks it, and thereby
// the sender; keepAlive detects that the host is gone then.
func (j *job) feed(req *request, in *bufio.Reader, stdin *os.File, dead <-chan struct{}) {
	_, err := io.Copy(counting{stdin, &j.fed}, req.body)
	_ = stdin.Close() // repeated at the end of the run
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
		return // the command reads no more; the rest stays with the sender
	}
	if err == nil {
		_, _ = in.ReadByte() // nothing may follow: this waits for the end
	}
	select {
	case <-dead:
	default:
		j.stop(causeGone)
	}
}
