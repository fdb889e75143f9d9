package classes

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"drover/core"
	"drover/core/school"
)

// Bounds on the data of a report.
const (
	reportGradings    = 500 // newest requests of the assignment
	reportRuns        = 500 // newest requests of its experiments
	reportExperiments = 10  // newest ones
	reportReruns      = 20  // requests that were rerun by hand, whose history is read
	reportTests       = 500 // by name; further ones are only counted
	reportPage        = 100 // requests that are read at once
)

// Report describes how the tests of an assignment behave.
type Report struct {
	Results     int          `json:"results"`           // on which it is based
	Submissions int          `json:"submissions"`       // to which the results belong
	Repeated    int          `json:"repeated"`          // of these, tested more than once by the same harness
	Older       bool         `json:"older,omitempty"`   // older results exist that were not read
	Omitted     int          `json:"omitted,omitempty"` // results of tests beyond the maximum of names
	Tests       []TestReport `json:"tests"`             // in order of name
}

// TestReport describes how one test behaves. Times are those that the harness measured.
type TestReport struct {
	Name     string `json:"name"`
	Group    string `json:"group,omitempty"`
	Runs     int    `json:"runs"`
	Passed   int    `json:"passed"`   // with full score
	Repeated int    `json:"repeated"` // submissions on which it ran more than once, by the same harness
	Flaky    int    `json:"flaky"`    // of these, those with different results
	Timed    int    `json:"timed"`    // runs with a time
	P50      int64  `json:"p50_ms"`   // of the timed runs; 0 for none
	P95      int64  `json:"p95_ms"`
}

// PassRate is the share of runs that passed, in percent.
func (t TestReport) PassRate() int { return 100 * t.Passed / max(1, t.Runs) }

// Report returns which tests of an assignment are flaky or slow, from the newest results of submissions, retests and
// experiments. Returns NOTFOUND, FORBIDDEN.
func (r *Service) Report(ctx context.Context, a core.Actor, class, assignment string) (Report, error) {
	as, err := r.assignment(ctx, a, class, assignment, core.ActGradeView, "")
	if err != nil {
		return Report{}, err
	}
	b := reporting{store: r.Store, reruns: reportReruns, tests: map[testName]*testTally{}, tried: map[trial]int{}}
	if _, err := b.read(ctx, as.Name(), reportGradings); err != nil {
		return Report{}, err
	}
	experiments, err := r.Store.ListExperiments(ctx, class, assignment, reportExperiments)
	if err != nil {
		return Report{}, err
	}
	left := reportRuns
	for _, e := range experiments {
		n, err := b.read(ctx, school.ExperimentAssignment(e.ID), left)
		if err != nil {
			return Report{}, err
		}
		if left -= n; left == 0 {
			break
		}
	}
	return b.report(), nil
}

// trial is a submission run by a harness: all its runs should have the same result.
type trial struct{ submission, harness string }

// reporting collects the results of tests.
type reporting struct {
	store   Store
	reruns  int // requests whose history may still be read
	results int
	older   bool
	omitted int
	tests   map[testName]*testTally
	tried   map[trial]int // results of each
}

// testName identifies a test.
type testName struct{ name, group string }

// testTally counts the results of one test.
type testTally struct {
	TestReport
	ends  map[trial]ends
	times []int64 // ms
}

// ends are the results of a test on one submission.
type ends struct {
	first  ending
	runs   int
	differ bool
}

// ending is one result of a test.
type ending struct {
	verdict string
	score   float64
}

// read reads at most so many of the newest requests for an assignment, and returns how many.
func (b *reporting) read(ctx context.Context, assignment string, most int) (int, error) {
	f := core.Filter{Assignment: assignment, Limit: reportPage}
	for n := 0; ; {
		rows, err := b.store.List(ctx, f)
		if err != nil {
			return n, err
		}
		for i := range rows {
			if n == most {
				b.older = true
				return n, nil
			}
			n++
			f.Before = rows[i].Spec.ID
			if err := b.row(ctx, &rows[i]); err != nil {
				return n, err
			}
		}
		if len(rows) < f.Limit {
			return n, nil
		}
	}
}

// row adds the results of one request: those of all generations if it was rerun.
func (b *reporting) row(ctx context.Context, row *core.Row) error {
	if row.Spec.Harness == nil || row.Spec.Submission == "" {
		return nil
	}
	of := trial{row.Spec.Submission, row.Spec.Harness.Digest}
	if row.Spec.Generation == 1 || b.reruns == 0 {
		b.result(of, row.Result)
		return nil
	}
	b.reruns--
	history, err := b.store.Attempts(ctx, row.Spec.ID)
	for i := range history {
		if history[i].Accepted {
			b.result(of, &history[i].Result)
		}
	}
	return err
}

// result adds a result that its harness completed.
func (b *reporting) result(of trial, r *core.Result) {
	if r == nil || len(r.Tests) == 0 || r.Blame == core.BlamePlatform || r.Blame == core.BlameHarness {
		return
	}
	b.results++
	b.tried[of]++
	for i := range r.Tests {
		b.test(of, &r.Tests[i])
	}
}

func (b *reporting) test(of trial, t *core.Test) {
	name := testName{t.Name, t.Group}
	tally := b.tests[name]
	if tally == nil {
		if len(b.tests) == reportTests {
			b.omitted++
			return
		}
		tally = &testTally{TestReport: TestReport{Name: t.Name, Group: t.Group}, ends: map[trial]ends{}}
		b.tests[name] = tally
	}
	tally.Runs++
	if t.Passed() {
		tally.Passed++
	}
	if t.Usage != nil {
		tally.times = append(tally.times, t.Usage.WallMs)
	}
	now := ending{t.Verdict, t.Score}
	e, again := tally.ends[of]
	if !again {
		e.first = now
	}
	e.runs++
	e.differ = e.differ || e.first != now
	tally.ends[of] = e
}

func (b *reporting) report() Report {
	repeated := map[string]bool{} // submission → it was run more than once
	rep := Report{Results: b.results, Older: b.older, Omitted: b.omitted, Tests: []TestReport{}}
	for of, n := range b.tried {
		repeated[of.submission] = repeated[of.submission] || n > 1
	}
	rep.Submissions = len(repeated)
	for _, is := range repeated {
		if is {
			rep.Repeated++
		}
	}
	for _, t := range b.tests {
		rep.Tests = append(rep.Tests, t.sum())
	}
	slices.SortFunc(rep.Tests, func(x, y TestReport) int {
		return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(x.Group, y.Group))
	})
	return rep
}

func (t *testTally) sum() TestReport {
	for _, e := range t.ends {
		if e.runs > 1 {
			t.Repeated++
		}
		if e.differ {
			t.Flaky++
		}
	}
	slices.Sort(t.times)
	t.Timed, t.P50, t.P95 = len(t.times), quantile(t.times, 50), quantile(t.times, 95)
	return t.TestReport
}

// quantile returns the smallest of sorted numbers that is not below percent of them; 0 for none.
func quantile(sorted []int64, percent int) int64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}
