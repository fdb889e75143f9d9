package testrunner

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"drover/core"
	"drover/core/agent"
	"drover/core/agent/wire"
	"drover/core/harness/cases"
)

// prepareInteractor builds the interactor in the VM's peer, where nothing of the submission ever comes, and keeps it; or
// has it take the one that an earlier grading by the same harness has built.
func (j *job) prepareInteractor() error {
	c := j.suite.plan.Interactor
	if c == nil {
		return nil
	}
	if err := j.openPeer(j.ctx, "its interactor"); err != nil {
		return err
	}
	key := j.buildKey(buildOfInteractor)
	if reused, err := j.reuse(j.peer, buildOfInteractor, keptChecker, key); err != nil || reused {
		return err
	}
	return j.buildChecker(j.peer, c, key)
}

// pose gives the interactor what it needs for a test.
func (j *job) pose(t *cases.Test) error {
	if err := j.peer.Reset(j.ctx, keptChecker); err != nil {
		return err
	}
	if err := j.lay(j.peer, func(w *tar.Writer) error { return j.suite.addQuestion(w, t) }); err != nil {
		return j.refused(core.BlameHarness, err)
	}
	return nil
}

// converse runs a test's program and the interactor at once: what one prints is the other's standard input. Neither
// reads the end of its input before the other has ended or closed its output, so what the second does after the end of
// the first may be an answer to it. The interactor's limit by the clock begins when that of the program is up, since it
// waits for the program until then. An error is a platform fault, or an *ended.
func (j *job) converse(t *cases.Test, o *cases.Outcome, program agent.Run) (*ran, error) {
	c := j.suite.plan.Interactor
	if err := j.pose(t); err != nil {
		return nil, err
	}
	leave, err := j.enter()
	if err != nil {
		return nil, err
	}
	leave = sync.OnceFunc(leave)
	defer leave()
	patient := c.Limits
	patient.Wall += t.Limits.Wall
	mine, theirs, before := j.bounds(t.Limits), j.bounds(patient), j.r.watch.look()
	if err := j.running(max(mine.all(), theirs.all())); err != nil {
		return nil, err
	}
	judge := j.step(c.Command(t.CheckerArgs), j.w.Spec.Env)
	run, its, first, err := j.talk(t, side{program, t.Limits, mine}, side{judge, patient, theirs})
	leave() // what judges afterwards enters by itself
	if err != nil {
		return nil, err
	}
	j.account(run, t.Limits, mine)
	j.account(its, patient, theirs)
	j.repay(run, mine, before)
	o.Input = []byte(its.stdout.String()) // what the program was given
	its.stdout.Reset()
	usedUp, err := j.usedUp(t, its)
	if err != nil {
		return nil, err
	}
	if its, err = j.afterwards(its); err != nil {
		return nil, err
	}
	if err := j.decide(t, o, run, its, usedUp, first); err != nil {
		return nil, err
	}
	return run, j.checkWritten(t, o)
}

// side is one side of a conversation.
type side struct {
	run    agent.Run
	limits cases.Limits
	bounds bounds
}

// lastWords is how long an interactor may take to end after a program that ended badly: it can hardly change the verdict.
const lastWords = 3 * time.Second

var errDecided = errors.New("the verdict does not wait for the interactor any longer")

// talk runs a test's program and an interactor at once, and says whether the interactor was the first to fall silent.
func (j *job) talk(t *cases.Test, program, judge side) (run, its *ran, first bool, err error) {
	ctx, stop := context.WithCancelCause(j.ctx)
	defer stop(nil)
	heard, asked := newPipe(), newPipe() // by the program, by the interactor
	program.run.Stdin, judge.run.Stdin = heard, asked
	var silent sync.Once // the interactor has ended, or the program has ended or closed its output
	program.run.Closed, judge.run.Closed = func() {
		silent.Do(func() {})
		asked.end()
	}, heard.end
	var late sync.WaitGroup
	program.run.Late = func() { late.Go(func() { putOff(ctx, j.vm, j.peer) }) }
	judge.run.Late = func() { late.Go(func() { putOff(ctx, j.peer, j.vm) }) }
	defer late.Wait()
	var failed error
	judged := make(chan struct{})
	go func() {
		its, failed = j.execute(ctx, j.peer, judge.run, judge.limits, judge.bounds, heard.hear)
		if failed != nil && errors.Is(context.Cause(ctx), errDecided) {
			failed, its.cut = nil, true
		} else if failed != nil {
			stop(failed)
		}
		silent.Do(func() { first = true }) // before the program can notice
		heard.end()
		close(judged)
	}()
	run, err = j.execute(ctx, j.vm, program.run, program.limits, program.bounds, asked.hear)
	if err != nil {
		stop(err)
	}
	silent.Do(func() {})
	asked.end()
	if err == nil {
		if bad, _, _ := run.verdict(t.Exit, t.Limits); bad != "" {
			select {
			case <-judged:
			case <-j.r.deps.Clock.After(lastWords):
				stop(errDecided)
			}
		}
	}
	<-judged
	if err != nil || failed != nil {
		return nil, nil, false, context.Cause(ctx)
	}
	return run, its, first, nil
}

// putOff puts off the time of a run in a VM by what the run in the other one, with which it talks, has lost to others on the
// host. A run that has ended loses no more, and neither does one in a VM that does not answer.
func putOff(ctx context.Context, vm, other VM) {
	lost, err := other.Lost(ctx)
	if err != nil {
		lost = 0
	}
	_ = vm.PutOff(ctx, lost) // an error is the run's end
}

// checkWritten has the checker judge what an interactor of testlib has accepted and written for it.
func (j *job) checkWritten(t *cases.Test, o *cases.Outcome) error {
	c := j.suite.plan.Interactor
	if !c.Testlib || j.suite.plan.Checker == nil || o.Verdict != cases.Accepted {
		return nil
	}
	var written []byte
	want := agent.Collection{Paths: []string{cases.CheckOutput}, Files: 1, Bytes: cases.MaxFeedback}
	skipped, err := j.peer.Collect(j.ctx, wire.Work, want, func(_ agent.Taken, in io.Reader) (err error) {
		written, err = io.ReadAll(in)
		return err
	})
	if err != nil {
		return err
	}
	for _, s := range skipped {
		return j.checkerFailed(c, t, "what it wrote for the checker cannot be read: "+s.Path+": "+s.Why)
	}
	*o = cases.Outcome{Input: o.Input, Checked: o.Checked, By: core.ByChecker}
	return j.check(t, o, string(written))
}

// usedUp returns the outcome of a conversation that brought the interactor to one of its own limits; nil if none did, or if
// the interactor gets there on its own, too: then it has failed.
func (j *job) usedUp(t *cases.Test, its *ran) (*cases.Outcome, error) {
	c := j.suite.plan.Interactor
	verdict, why := its.limitReached(c.Limits)
	if verdict == "" || j.suite.late {
		return nil, nil //nolint:nilnil // as said above
	}
	if err := j.pose(t); err != nil {
		return nil, err
	}
	alone, err := j.one(j.peer, j.step(c.Command(t.CheckerArgs), j.w.Spec.Env), c.Limits)
	if err != nil {
		return nil, err
	}
	if again, _ := alone.limitReached(c.Limits); again != "" {
		return nil, nil //nolint:nilnil // as said above
	}
	o := &cases.Outcome{}
	o.UseUp(c, verdict, why)
	return o, nil
}

// afterwards runs the command that judges how the interactor has ended, if there is one and the interactor has ended by
// itself.
func (j *job) afterwards(its *ran) (*ran, error) {
	c := j.suite.plan.Interactor
	if c.After == nil || j.suite.late || its.cut {
		return its, nil
	}
	if _, why, _ := its.verdict(nil, c.Limits); why != "" {
		return its, nil
	}
	return j.one(j.peer, j.step(c.AfterCommand(its.exit.Code), j.w.Spec.Env), c.Limits)
}

// decide judges a conversation. First: the interactor ended before the program had ended or closed its output, so that
// the end of the program may be its answer to that. What an interactor refuses is refused even if the program has printed
// up to its limit before the interactor came to that: who is faster depends on the host. UsedUp is the outcome if the
// program brought the interactor to a limit.
func (j *job) decide(t *cases.Test, o *cases.Outcome, run, its *ran, usedUp *cases.Outcome, first bool) error {
	var said cases.Outcome
	why := ""
	if usedUp != nil {
		said = *usedUp
	} else if _, why, _ = its.verdict(nil, j.suite.plan.Interactor.Limits); why == "" {
		why = j.suite.plan.Interactor.Judge(t, &said, its.exit.Code, its.stdout.String(), its.stderr.String())
	}
	o.Verdict, o.Why, o.By = run.verdict(t.Exit, t.Limits)
	refused := why == "" && !said.Passed()
	decided := first && why != "" || refused && (first || o.Verdict == cases.OutputLimit && usedUp == nil) // whatever the program did then
	if decided || o.Verdict == "" {
		o.By = core.ByInteract
	}
	switch {
	case j.suite.late:
		o.Verdict, o.Why, o.By = cases.TimeLimit, j.timeIsUp(), core.ByWhole
	case o.Verdict != "" && !decided:
		// The program's own end counts, whatever the interactor made of it.
	case why != "":
		return j.checkerFailed(j.suite.plan.Interactor, t, why)
	default:
		o.Verdict, o.Why, o.Note, o.Staff, o.Share = said.Verdict, said.Why, said.Note, said.Staff, said.Share
	}
	return nil
}

// pipe is what one of two programs has said and the other has not yet read. It holds as much as the first may print, so
// that one that does not read cannot hold up the other beyond its own limits.
type pipe struct {
	mu    sync.Mutex
	more  sync.Cond
	text  []byte
	ended bool
}

func newPipe() *pipe {
	p := &pipe{}
	p.more.L = &p.mu
	return p
}

// hear takes what a run prints.
func (p *pipe) hear(stream string, data []byte) {
	if stream != agent.Stdout {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = append(p.text, data...)
	p.more.Signal()
}

// end says that there will be no more.
func (p *pipe) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.more.Signal()
}

// Read waits for the next words.
func (p *pipe) Read(into []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.text) == 0 && !p.ended {
		p.more.Wait()
	}
	if len(p.text) == 0 {
		return 0, io.EOF
	}
	n := copy(into, p.text)
	if p.text = p.text[n:]; len(p.text) == 0 {
		p.text = nil // its room is given back
	}
	return n, nil
}
