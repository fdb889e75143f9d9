package testrunner

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"drover/core"
	"drover/core/agent"
	"drover/core/agent/wire"
	"drover/core/blobs/nameless"
	"drover/core/harness"
	"drover/core/harness/cases"
)

// suite runs the stock harness: the tests of a cases.yaml, one after the other in one VM. Expected outputs never
// enter the VM while the submission runs; the checker is there only in the agent's custody.
type suite struct {
	file    io.Closer
	archive *cases.Archive
	plan    *cases.Plan
	fault   error // the fault of the archive or the file, which is the harness's
	until   time.Time
	usage   core.Usage
	held    map[string]string
	late    bool           // the time limit of the whole grading is over
	left    []cases.Placed // by the checker or interactor, for the next pass of the test
	marks   []core.Mark
	marked  int // tests that ended
	second  seconds
	built   time.Duration // from the start to the first test
	lent    time.Duration // by which a second run has put off until
	spare   time.Duration // by which until may be put off yet for what runs lose to others
	alone   bool          // the present test runs again, while no other slot runs one
}

const timeIsUp = "the time of the whole grading was up"

// timeIsUp says which limit ended the grading: the file's own, or that of the pool or assignment if it is shorter.
func (j *job) timeIsUp() string {
	text := timeIsUp + ": " + j.limits.Timeout.String()
	if asked := j.suite.plan.Timeout; asked > j.limits.Timeout {
		text += ", the limit of the pool or the assignment, where the tests ask for " + asked.String()
	}
	return text
}

// States of the place work that the agent keeps.
const (
	keptSubmission = "submission"
	keptBuilt      = "built"
	keptChecker    = "checker"
)

// openSuite reads the harness's tests. Faults in them are reported when the grading begins.
func (j *job) openSuite(ctx context.Context) error {
	if j.suite != nil {
		return nil
	}
	in, err := j.r.deps.Harnesses.Open(ctx, j.w.Spec.Harness.Digest)
	if err != nil {
		return &blobFault{err: err, missing: reasonNoHarness}
	}
	at, size, err := seekable(in)
	if err != nil {
		return &blobFault{err: errors.Join(err, in.Close()), missing: reasonNoHarness}
	}
	s := &suite{file: in}
	j.suite = s
	if s.archive, s.fault = cases.Index(at, size); s.fault == nil {
		s.plan, s.fault = s.archive.Plan()
	}
	if s.fault == nil {
		// Input that cannot be read is a fault that the grading reports.
		if input, err := harness.ParseInput(j.w.Spec.Input); err == nil && input.TestType != harness.TestFinal {
			s.plan = s.plan.Public()
		}
		paths := make([]string, len(j.w.Spec.Files))
		for i := range paths {
			paths[i] = j.w.Spec.Files[i].Path
		}
		s.plan = s.plan.For(paths)
	}
	return nil
}

// seekable makes a file that can be read at any position: the host's cache has it on disk, other stores stream it.
func seekable(in io.ReadCloser) (io.ReaderAt, int64, error) {
	if f, ok := in.(*os.File); ok {
		info, err := f.Stat()
		if err != nil {
			return nil, 0, err
		}
		return f, info.Size(), nil
	}
	whole, err := nameless.Read(in, harness.MaxPackBytes, "")
	if err != nil {
		return nil, 0, err
	}
	return whole, whole.Size(), nil
}

// grade builds, tests, and judges. An error is a platform fault, or an *ended.
func (j *job) grade() (core.Result, error) {
	s := j.suite
	if s.fault != nil {
		return core.Result{}, &ended{core.BlameHarness, notYours + s.fault.Error() + "."}
	}
	if limit := s.plan.Timeout; limit > 0 && limit < j.limits.Timeout {
		j.limits.Timeout = limit
	}
	s.spare = j.limits.Timeout
	if err := j.running(j.limits.Timeout + s.spare); err != nil {
		return core.Result{}, err
	}
	j.begins()
	s.until = j.started.Add(j.limits.Timeout)
	report, err := j.tests()
	if err != nil {
		return core.Result{}, err
	}
	text, err := report.JSON(s.plan)
	if err != nil {
		return core.Result{}, core.Wrap(err, core.CodeInternal, j.w.Spec.ID, "write the report")
	}
	res := j.result()
	s.usage.WallMs = j.r.deps.Clock.Now().Sub(j.started).Milliseconds()
	res.Usage, res.HeldBy = s.usage, s.held
	j.heard(&res)
	judgeReport(&res, text, harness.ParseReport)
	res.Stderr += report.Notes(s.plan) // students see it only where they see all output
	// Students may see this report, too.
	if text, err = report.Coarse(s.plan).JSON(s.plan); err != nil {
		return core.Result{}, core.Wrap(err, core.CodeInternal, j.w.Spec.ID, "write the report")
	}
	if int64(len(text)) <= j.limits.Output {
		res.Stdout = string(text)
	}
	report.Decide(s.plan, res.Tests)
	return res, nil
}

// tests runs the build and all tests.
func (j *job) tests() (*cases.Report, error) {
	s := j.suite
	r := &cases.Report{}
	if err := j.prepareChecker(); err != nil {
		return nil, err
	}
	if err := j.prepareInteractor(); err != nil {
		return nil, err
	}
	build, err := j.compile()
	if err != nil {
		return nil, err
	}
	s.built = j.r.deps.Clock.Now().Sub(j.started)
	passed := map[string]bool{} // groups
	for i := range s.plan.Groups {
		g := &s.plan.Groups[i]
		if build != nil {
			for range g.Tests {
				r.Outcomes = append(r.Outcomes, cases.Outcome{Verdict: cases.Skipped, By: core.ByBuild, Why: "it could not be built"})
			}
			continue
		}
		all, err := j.group(g, passed)
		if err != nil {
			return nil, err
		}
		r.Outcomes = append(r.Outcomes, all...)
	}
	if build != nil {
		r.Build = build
		j.tell("build", build)
	}
	return r, j.graded(r)
}

// group runs one group's tests.
func (j *job) group(g *cases.Group, passed map[string]bool) ([]cases.Outcome, error) {
	why, by := "", core.ByNeed
	for _, need := range g.Needs {
		if !passed[need] {
			why = "it needs all tests of " + need
			break
		}
	}
	outcomes := make([]cases.Outcome, len(g.Tests))
	good := true
	for i := range g.Tests {
		t, o := &g.Tests[i], &outcomes[i]
		if why == "" && j.suite.late {
			why, by = j.timeIsUp(), core.ByWhole
		}
		if why != "" {
			*o, good = cases.Outcome{Verdict: cases.Skipped, By: by, Why: why}, false
			j.mark(t, o)
			continue
		}
		if err := j.test(t, o); err != nil {
			return nil, err
		}
		j.tell(t.Title(), o)
		j.mark(t, o)
		if !o.Passed() {
			good = false
			if g.Stop {
				why = "an earlier test of the group was not passed"
			}
		}
	}
	passed[g.Name] = good
	return outcomes, nil
}

// refused turns the VM's refusal of files into a bad end, and returns other errors unchanged.
func (j *job) refused(blame core.Blame, err error) error {
	if !core.Is(err, core.CodeInvalid) && !core.Is(err, core.CodeLimit) {
		return err
	}
	if blame == core.BlameHarness {
		return &ended{blame, notYours + err.Error() + "."}
	}
	return &ended{blame, "The submission could not be graded: " + err.Error() + "."}
}

// well is the exit code of success.
var well = new(int)

// test runs one test, in as many passes as it asks for, and judges it.
func (j *job) test(t *cases.Test, o *cases.Outcome) error {
	now := *t
	j.suite.left = nil
	var used core.Usage
	var lost, partner int64
	for pass := 1; ; pass++ {
		run, err := j.surely(&now, o)
		if err != nil || run == nil {
			return err
		}
		o.Ran, o.Usage = run.unstarted == nil, most(used, run.usage())
		o.Signal, o.LostMs = run.exit.Signal != "", max(lost, run.exit.LostMs)
		o.Partner = max(partner, run.exit.PartnerMs)
		again, err := j.again(&now, o, pass)
		if err != nil {
			return err
		}
		if !again {
			return j.quote(&now, o, run)
		}
		used, lost, partner = o.Usage, o.LostMs, o.Partner
		*o = cases.Outcome{Checked: o.Checked}
	}
}

// pass runs a test's program in a VM without traces of former runs, and judges what it did; nil if it could not run.
func (j *job) pass(t *cases.Test, o *cases.Outcome) (*ran, error) {
	s := j.suite
	input, _, err := t.Input.Open(s.archive)
	if err != nil {
		return nil, err
	}
	c := j.step(t.Run, append(append([]string{}, j.w.Spec.Env...), t.Env...))
	c.Stdin = input
	if j.untrusted && len(t.Files) == 0 {
		c.Reset = new(keptBuilt) // one call less; whatever of it fails, the submission has caused it
	} else if err := j.vm.Reset(j.ctx, keptBuilt); err != nil {
		return nil, err
	}
	j.untrusted = true
	if len(t.Files) > 0 {
		err := j.lay(j.vm, func(w *tar.Writer) error {
			for _, f := range t.Files {
				if err := s.add(w, f.At, f.Content); err != nil {
					return err
				}
			}
			return nil
		})
		if core.Is(err, core.CodeLimit) {
			o.Verdict, o.By, o.Why = cases.RuntimeError, core.ByRoom, "there is no room for the test's files beside what was built"
			return nil, nil
		}
		if err != nil {
			return nil, j.refused(core.BlameHarness, err)
		}
	}
	return j.verdict(t, o, c)
}

// quote takes the beginnings of what the submitter may see of a test that was not passed.
func (j *job) quote(t *cases.Test, o *cases.Outcome, run *ran) error {
	if t.Hidden || o.Passed() {
		return nil
	}
	const most = 2 << 10 // longer than the quoted part
	head := func(b string) []byte { return []byte(b[:min(len(b), most)]) }
	o.Stdout, o.Stderr = head(run.stdout.String()), head(run.stderr.String())
	var err error
	if o.Input == nil {
		o.Input, err = t.Input.Read(j.suite.archive, most)
	}
	o.Input = o.Input[:min(len(o.Input), most)]
	if err == nil && t.Output != nil {
		o.Want, err = t.Output.Read(j.suite.archive, most)
	}
	return err
}

// verdict runs a test's program, alone or with the interactor, and judges it.
func (j *job) verdict(t *cases.Test, o *cases.Outcome, c agent.Run) (*ran, error) {
	if t.Compare.By == cases.Interact {
		return j.converse(t, o, c)
	}
	run, err := j.one(j.vm, c, t.Limits)
	if err != nil {
		return nil, err
	}
	o.Verdict, o.Why, o.By = run.verdict(t.Exit, t.Limits)
	if j.suite.late {
		o.Verdict, o.Why, o.By = cases.TimeLimit, j.timeIsUp(), core.ByWhole
	}
	if o.Verdict == "" {
		return run, j.compare(t, o, run)
	}
	return run, nil
}

// compare judges the output of a run that ended as it should.
func (j *job) compare(t *cases.Test, o *cases.Outcome, run *ran) error {
	o.Verdict, o.Share = cases.Accepted, 1
	if t.Compare.By == cases.Check {
		o.By = core.ByChecker
		return j.check(t, o, run.stdout.String())
	}
	if t.Output == nil {
		return nil
	}
	o.By = core.DecidedBy(t.Compare.By)
	want, err := t.Output.Read(j.suite.archive, cases.MaxExpected)
	if err != nil {
		return err
	}
	ok, where, err := t.Compare.Right([]byte(run.stdout.String()), want)
	if err != nil {
		return &ended{core.BlameHarness, notYours + "what the test " + t.Title() + " expects is no pattern: " + err.Error() + "."}
	}
	if !ok {
		o.Verdict, o.Why, o.Share = cases.WrongAnswer, where, 0
	}
	return nil
}

// check runs the checker, in a VM where only what it judges is left. One that reaches a limit of its own has failed if it
// does so with no output at all, too; otherwise what the submission printed was more than it could judge.
func (j *job) check(t *cases.Test, o *cases.Outcome, output string) error {
	s := j.suite
	if err := j.vm.Reset(j.ctx, keptChecker); err != nil {
		return err
	}
	j.untrusted = false
	if err := j.lay(j.vm, func(w *tar.Writer) error {
		if err := s.addQuestion(w, t); err != nil {
			return err
		}
		return s.add(w, cases.CheckOutput, cases.Content{Text: output})
	}); err != nil {
		return j.refused(core.BlameHarness, err)
	}
	c := s.plan.Checker
	command := j.step(c.Command(t.CheckerArgs), j.w.Spec.Env)
	command.Stdin = strings.NewReader(output)
	done, err := j.one(j.vm, command, c.Limits)
	if err != nil {
		return err
	}
	verdict, why, _ := done.verdict(nil, c.Limits)
	if limit, _ := done.limitReached(c.Limits); limit != "" && output != "" && !s.late {
		if err := j.check(t, &cases.Outcome{}, ""); err != nil {
			return err
		}
		o.UseUp(c, limit, why)
		if !s.late {
			return nil
		}
	}
	if s.late {
		o.Verdict, o.Why, o.Share, o.By = cases.TimeLimit, j.timeIsUp(), 0, core.ByWhole
		return nil
	}
	if verdict == "" {
		why = c.Judge(t, o, done.exit.Code, done.stdout.String(), done.stderr.String())
	}
	if why != "" {
		return j.checkerFailed(c, t, why)
	}
	return nil
}

// checkerFailed is the end of a grading whose checker or interactor does not judge.
func (j *job) checkerFailed(c *cases.Checker, t *cases.Test, why string) error {
	return &ended{core.BlameHarness, notYours + "the " + c.Word + " failed at the test " + t.Title() + ": " + why + "."}
}

// lay copies the harness's files over those in work.
func (j *job) lay(vm VM, write func(*tar.Writer) error) error {
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		archive := tar.NewWriter(w)
		err := write(archive)
		if err == nil {
			err = archive.Close()
		}
		w.CloseWithError(err)
		written <- err
	}()
	err := vm.Lay(j.ctx, wire.Work, r)
	r.CloseWithError(errHeardEnough)
	if fault := <-written; fault != nil && !errors.Is(fault, errHeardEnough) {
		return fault
	}
	return err
}

// addQuestion writes what a checker or an interactor judges a test by: its input, and its answer, empty if it has none.
func (s *suite) addQuestion(w *tar.Writer, t *cases.Test) error {
	if err := s.add(w, cases.CheckInput, t.Input); err != nil {
		return err
	}
	answer := cases.Content{}
	if t.Output != nil {
		answer = *t.Output
	}
	if err := s.add(w, cases.CheckAnswer, answer); err != nil {
		return err
	}
	for _, f := range s.left {
		if err := s.add(w, f.At, f.Content); err != nil {
			return err
		}
	}
	return nil
}

// add writes one file of the harness into an archive.
func (s *suite) add(w *tar.Writer, at string, c cases.Content) error {
	in, size, err := c.Open(s.archive)
	if err != nil {
		return err
	}
	mode := int64(0o644)
	if c.Path != "" && s.archive.Executable(c.Path) {
		mode = 0o755
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: at, Mode: mode, Size: size}); err != nil {
		return err
	}
	_, err = io.Copy(w, in)
	return err
}
