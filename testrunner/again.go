package testrunner

import (
	"context"
	"time"

	"drover/core"
	"drover/core/harness/cases"
	"drover/core/service/clock"
)

// surely runs one test, until its verdict is in no doubt: where the host was noisy and the verdict may be owed to that,
// the test runs again, in the same VM as from the beginning and while no other slot runs a test, before anyone sees a
// verdict. The last run's verdict counts.
func (j *job) surely(t *cases.Test, o *cases.Outcome) (*ran, error) {
	run, heard, err := j.listened(t, o)
	for err == nil && run != nil && run.unstarted == nil {
		because := doubt(o.By, run.exit, t.Limits, heard)
		if because == "" || j.network() { // what it did to others cannot be undone for a further run
			break
		}
		if o.Checked == nil {
			o.Checked = &core.Checked{Because: because, Others: int(heard.others)}
		}
		var next *ran
		if next, heard, err = j.repeat(t, o, run); next == nil || err != nil {
			break
		}
		run = next
	}
	if err == nil && o.Checked != nil && o.Checked.Runs > 0 {
		j.confirmed(o)
	}
	return run, err
}

// repeat runs a test in doubt again, alone; nil if it may not, and the verdict stands.
func (j *job) repeat(t *cases.Test, o *cases.Outcome, last *ran) (*ran, noise, error) {
	c := o.Checked
	if c.Runs >= mostFurther && !wasClose(last.exit, t.Limits) || c.Runs == mostClose {
		return nil, noise{}, nil
	}
	if j.suite.second.spent() {
		j.leave(c, core.LeftSlow)
		return nil, noise{}, nil
	}
	began, used := j.r.deps.Clock.Now(), last.usage()
	if err := j.pause(c.Runs); err != nil {
		return nil, noise{}, err
	}
	end, err := j.hush(t)
	if err != nil {
		return nil, noise{}, err
	}
	if end == nil {
		j.lasted(began)
		j.leave(c, core.LeftHost)
		return nil, noise{}, nil
	}
	if c.Runs == 0 {
		c.Verdict, c.Usage = o.Verdict, &used
	}
	c.Runs++
	next := cases.Outcome{Checked: c}
	run, heard, err := j.listened(t, &next)
	j.suite.alone = false
	end()
	j.lasted(began)
	if err != nil {
		return nil, noise{}, err
	}
	others := int(heard.others)
	c.Again = &others
	j.suite.second.runs++
	j.suite.second.cpu += used.CPUMs
	j.r.metrics.again.Add(float64(used.CPUMs) / 1000)
	*o = next
	return run, heard, nil
}

// pause lets time pass before a third run and later ones: a processor that is slow is so for a second or three.
func (j *job) pause(runs int) error {
	if runs == 0 {
		return nil
	}
	some := time.Duration(runs) * j.r.cfg.Pause
	if err := j.running(some); err != nil {
		return err
	}
	if clock.Sleep(j.ctx, j.r.deps.Clock, some) != nil {
		return context.Cause(j.ctx)
	}
	return nil
}

// leave notes why there was no second run; where there was one, its verdict stands.
func (j *job) leave(c *core.Checked, why core.LeftSuch) {
	if c.Runs == 0 {
		c.Left = why
		j.r.metrics.rechecks.Add(1, "left")
	}
}

// confirmed counts what further runs came to.
func (j *job) confirmed(o *cases.Outcome) {
	end := "changed"
	if o.Verdict == o.Checked.Verdict {
		end = "same"
		j.suite.second.confirmed++
	}
	j.r.metrics.rechecks.Add(1, end)
}

// listened runs a test and returns what others did to the host meanwhile.
func (j *job) listened(t *cases.Test, o *cases.Outcome) (*ran, noise, error) {
	before, used := j.r.watch.look(), j.suite.usage.CPUMs
	run, err := j.pass(t, o)
	if err != nil || run == nil || o.Verdict != cases.TimeLimit && o.Checked == nil {
		return run, noise{}, err
	}
	heard, _ := j.r.watch.fresh().around(before, time.Duration(j.suite.usage.CPUMs-used)*time.Millisecond)
	return run, heard, nil
}

// network reports whether the job's VM reaches others.
func (j *job) network() bool { return j.pool.Network != "" && j.pool.Network != core.NetworkNone }

// hush waits until a test can run again alone; the returned function ends that, nil if it cannot. The time of the whole
// grading does not pass meanwhile.
func (j *job) hush(t *cases.Test) (func(), error) {
	if err := j.running(2*t.Limits.Wall + quietWait); err != nil {
		return nil, err
	}
	end := j.r.quiet.hush(j.ctx)
	if end != nil {
		j.suite.alone = true
		j.suite.until = j.suite.until.Add(2*t.Limits.Wall + quietWait) // lasted takes back what was not needed
		j.suite.lent = 2*t.Limits.Wall + quietWait
	}
	return end, nil
}

// lasted accounts for the time of a second run since it was wanted.
func (j *job) lasted(began time.Time) {
	s, took := j.suite, j.r.deps.Clock.Now().Sub(began)
	s.until, s.lent = s.until.Add(took-s.lent), 0
	s.second.took += took
}

// enter waits until no other slot's test runs alone. The time of the whole grading does not pass meanwhile.
func (j *job) enter() (leave func(), err error) {
	if j.suite.alone {
		return func() {}, nil
	}
	took, err := j.r.quiet.enter(j.ctx, j.running)
	if err != nil {
		return nil, err
	}
	j.suite.until = j.suite.until.Add(took)
	return j.r.quiet.leave, nil
}
