package testrunner

import (
	"time"

	"drover/core"
	"drover/core/harness/cases"
)

// surely runs one test. Where the host was noisy and the verdict may be owed to that, the test runs a second time, in
// the same VM as from the beginning and while no other slot runs a test, before anyone sees a verdict. The second
// verdict counts.
func (j *job) surely(t *cases.Test, o *cases.Outcome) (*ran, error) {
	run, heard, err := j.listened(t, o)
	if err != nil || run == nil || run.unstarted != nil {
		return run, err
	}
	because := doubt(o.By, run.exit, t.Limits, heard)
	if because == "" || j.network() { // what it did to others cannot be undone for a second run
		return run, nil
	}
	used := run.usage()
	o.Checked = &core.Checked{Because: because, Others: int(heard.others)}
	if j.suite.second.spent() {
		o.Checked.Left = core.LeftSlow
		j.r.metrics.rechecks.WithLabelValues("left").Inc()
		return run, nil
	}
	began := j.r.deps.Clock.Now()
	end, err := j.hush(t)
	if err != nil {
		return nil, err
	}
	if end == nil {
		o.Checked.Left = core.LeftHost
		j.lasted(began)
		j.r.metrics.rechecks.WithLabelValues("left").Inc()
		return run, nil
	}
	o.Checked.Verdict, o.Checked.Usage = o.Verdict, &used
	second := *t
	second.Limits.Wall = longer(t.Limits.Wall, run.exit)
	next := cases.Outcome{Checked: o.Checked}
	run, heard, err = j.listened(&second, &next)
	j.suite.alone = false
	end()
	j.lasted(began)
	if err != nil {
		return nil, err
	}
	others, same := int(heard.others), "changed"
	next.Checked.Again = &others
	j.suite.second.runs++
	j.r.metrics.again.Add(float64(used.CPUMs) / 1000)
	if next.Verdict == o.Verdict {
		same = "same"
		j.suite.second.confirmed++
	}
	j.r.metrics.rechecks.WithLabelValues(same).Inc()
	*o = next
	return run, nil
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
