package testrunner

import (
	"context"
	"path/filepath"

	"drover/core"
	"drover/core/agent"
)

// away is whether the harness runs in the VM's peer, where nothing of the submission runs: what it gives to drover-run
// runs in the VM. The two meet in the streams of that alone, which the testrunner carries.
func (j *job) away() bool { return j.w.Spec.Harness != nil && !j.input.Stock && j.input.Config.Peer }

// home is the VM in which the request's command runs.
func (j *job) home() VM {
	if j.away() {
		return j.peer
	}
	return j.vm
}

// openPeer assigns the VM's peer to the request, for what needs a VM of its own.
func (j *job) openPeer(ctx context.Context, what string) error {
	peer := core.PeerOf(j.w.VM)
	if peer == "" {
		if !j.pool.Peer {
			return &ended{core.BlameHarness, notYours + what + " needs a VM of its own, and those of pool " + j.pool.Name + " have no peer."}
		}
		return core.Errorf(core.CodeBadVM, j.w.VM, "VM %s was made before its pool got peers", j.w.VM)
	}
	if j.peer == nil {
		vm, err := j.r.deps.Dial(filepath.Join(j.r.cfg.RunDir, peer))
		if err != nil {
			return err
		}
		j.peer = vm
	}
	return j.peer.Assign(ctx, j.w.Key+"@"+j.w.Token)
}

// perform runs the request's command, and meanwhile what a harness that is away calls drover-run for.
func (j *job) perform(ctx context.Context, run agent.Run, sink func(stream string, data []byte)) (agent.Exit, error) {
	if !run.Away {
		return j.vm.Run(ctx, run, sink)
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	open, end := context.WithCancel(ctx)
	defer end()
	var used core.Usage
	answered := make(chan error, 1)
	go func() {
		err := j.answerAll(open, &used)
		if err != nil {
			fail(err)
		}
		answered <- err
	}()
	exit, err := j.peer.Run(ctx, run, sink)
	end()
	if fault := <-answered; fault != nil {
		return agent.Exit{}, fault
	}
	exit.CPUMs, exit.BoxedMs = exit.CPUMs+used.CPUMs, used.WallMs
	exit.MemoryPeakBytes = max(exit.MemoryPeakBytes, used.MemoryPeakBytes)
	return exit, err
}

// answerAll answers one call after the other until ctx ends.
func (j *job) answerAll(ctx context.Context, used *core.Usage) error {
	for {
		call, err := j.peer.NextCall(ctx)
		if err == nil {
			err = j.answer(call, used)
			call.Close()
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the harness has ended, and so has all that it called for
		}
		if err != nil {
			return err
		}
	}
}

// answer runs what a call asks for in the VM and tells the caller. An error is a platform fault.
func (j *job) answer(call *agent.Call, used *core.Usage) error {
	j.untrusted = true
	began := j.r.deps.Clock.Now()
	exit, err := j.vm.Answer(call, j.limits)
	used.WallMs += j.r.deps.Clock.Now().Sub(began).Milliseconds() // also of a call that the harness's end cuts off
	used.CPUMs += exit.CPUMs
	used.MemoryPeakBytes = max(used.MemoryPeakBytes, exit.MemoryPeakBytes)
	return err
}
