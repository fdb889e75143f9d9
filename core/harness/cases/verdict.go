package cases

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"drover/core"
	"drover/core/agent/wire"
)

// The verdicts on a test.
const (
	Accepted     = core.TestAccepted
	WrongAnswer  = core.TestWrongAnswer
	TimeLimit    = core.TestTimeLimit
	MemoryLimit  = core.TestMemoryLimit
	ProcessLimit = core.TestProcessLimit
	OutputLimit  = core.TestOutputLimit
	RuntimeError = core.TestRuntimeError
	BuildError   = core.TestBuildError
	Skipped      = core.TestSkipped
)

// Outcome is the result of one test, or of the build.
type Outcome struct {
	Verdict string
	Why     string  // a few words about it, which give nothing away
	Signal  bool    // why names the signal that ended it
	Note    string  // what the checker says
	Staff   string  // what it says to staff alone
	Share   float64 // of the points, from 0 to 1
	Usage   core.Usage
	LostMs  int64 // of the time by the clock: that its limit did not count,
	Partner int64 // and of that, in ms: what the interactor had lost
	Ran     bool

	Input, Want, Stdout, Stderr []byte // beginnings, to be quoted where the test is public

	By      core.DecidedBy // what decided the verdict
	Checked *core.Checked  // nil if it was in no doubt
}

// Passed reports whether all points were won.
func (o *Outcome) Passed() bool { return o.Verdict == Accepted && o.Share >= 1 }

// Ended judges the end of a run, before its output is compared: "" is as it should be. Exit is the expected exit
// code, nil for any. By says what decided it.
func Ended(e wire.Exit, exit *int, l Limits) (verdict, why string, by core.DecidedBy) {
	switch limit := e.Limit(); {
	case limit == core.LimitMemory:
		return MemoryLimit, "it took more memory than it may", core.ByMemory
	case limit == core.LimitPids:
		return ProcessLimit, "it started more processes than it may", core.ByPids
	case e.OutputExceeded || e.Truncated:
		return OutputLimit, "it printed more than it may", core.ByOutput
	case limit == core.LimitTime && e.CPUMs >= l.Time.Milliseconds():
		return TimeLimit, fmt.Sprintf("it computed for longer than %s", l.Time), core.ByTime
	case limit == core.LimitTime:
		return TimeLimit, fmt.Sprintf("it did not end within %s", l.Wall), core.ByClock
	case e.Signal != "":
		return RuntimeError, "it was ended by the signal " + e.Signal, core.BySignal
	case exit == nil || e.Code == *exit:
		return "", "", core.ByEnd
	case *exit != 0:
		return WrongAnswer, fmt.Sprintf("it ended with exit code %d, where %d is right", e.Code, *exit), core.ByExit
	}
	return RuntimeError, fmt.Sprintf("it ended with exit code %d", e.Code), core.ByExit
}

// Report is a whole grading.
type Report struct {
	Build    *Outcome // nil if all commands went well
	Outcomes []Outcome
	Graded   *float64 // the points by the grader; nil if there is none
}

// Notes is what checkers say to staff, by test.
func (r *Report) Notes(p *Plan) string {
	var b strings.Builder
	for i, t := range p.Tests() {
		if o := &r.Outcomes[i]; o.Staff != "" && b.Len() < maxNotes {
			fmt.Fprintf(&b, "%s: %s\n", t.Title(), strings.ToValidUTF8(o.Staff, "\ufffd"))
		}
	}
	return b.String()
}

// Coarse is the report with what hidden tests of the plan have used in the steps of core.Usage.Coarse.
func (r *Report) Coarse(p *Plan) *Report {
	coarse := Report{Build: r.Build, Outcomes: slices.Clone(r.Outcomes), Graded: r.Graded}
	next := 0
	for _, g := range p.Groups {
		for i := range g.Tests {
			if o := &coarse.Outcomes[next]; g.Tests[i].Hidden {
				o.Usage = o.Usage.Coarse()
			}
			next++
		}
	}
	return &coarse
}

// Bounds on what is quoted in messages.
const (
	maxQuote    = 600     // bytes of each text
	maxHint     = 1000    // bytes of the author's hint
	maxMessages = 2 << 20 // bytes of all messages in a result, as JSON
	maxNotes    = 32 << 10
)

// JSON returns the report in the format of every harness; its outcomes are those of the plan's tests in order.
func (r *Report) JSON(p *Plan) ([]byte, error) {
	var out struct {
		Score    float64     `json:"score"`
		MaxScore float64     `json:"max_score"`
		Tests    []core.Test `json:"tests"`
	}
	if r.Build != nil {
		out.Tests = append(out.Tests, r.Build.test("build"))
	}
	left := maxMessages
	next := 0
	for _, g := range p.Groups {
		passed, share := true, 1.0
		for i := range g.Tests {
			passed, share = passed && r.Outcomes[next+i].Passed(), min(share, r.Outcomes[next+i].Share)
		}
		for i := range g.Tests {
			t, o := &g.Tests[i], &r.Outcomes[next]
			next++
			one := o.test(t.Title())
			one.Group, one.Hidden, one.MaxScore, one.Score = t.Group, t.Hidden, t.Points, o.Share*t.Points
			if g.Points != nil && !passed {
				one.Score = 0
				if g.Least {
					one.Score = share * t.Points
				}
			}
			one.Message = o.message(t, g.Points != nil && !passed && !g.Least, left > 0)
			if text, err := json.Marshal(one.Message); err == nil {
				left -= len(text)
			}
			if g.Points == nil {
				out.Score, out.MaxScore = out.Score+one.Score, out.MaxScore+one.MaxScore
			}
			out.Tests = append(out.Tests, one)
		}
		if g.Points != nil { // not the sum of shares, which may be a little off
			out.MaxScore += *g.Points
			switch {
			case passed:
				out.Score += *g.Points
			case g.Least:
				out.Score += share * *g.Points
			}
		}
	}
	if r.Graded != nil {
		out.Score, out.MaxScore = *r.Graded, p.Grader.Points
	}
	return json.Marshal(out)
}

func (o *Outcome) test(name string) core.Test {
	t := core.Test{Name: name, Verdict: o.Verdict, Message: o.first()}
	if o.Ran {
		usage := o.Usage
		t.Usage = &usage
	}
	if o.Verdict == BuildError && len(o.Stderr) > 0 {
		t.Message += "\n\n" + quote(o.Stderr, 3*maxQuote)
	}
	return t
}

// first is the first line of a message: the verdict and why.
func (o *Outcome) first() string {
	if o.Why == "" {
		return o.Verdict
	}
	return o.Verdict + ": " + o.Why
}

// message is what the submitter reads. For a hidden test that is only the verdict, the limit that ended the run, and
// the author's hint; nothing of the test's input, expected or actual output, nor of the checker's text.
func (o *Outcome) message(t *Test, lost, room bool) string {
	if o.Verdict == Accepted && !lost && o.Note == "" {
		return ""
	}
	var b strings.Builder
	// An exit code is a byte of the program's choice.
	if t.Hidden && (o.Verdict == WrongAnswer || o.Verdict == RuntimeError && !o.Signal) {
		b.WriteString(o.Verdict)
	} else {
		b.WriteString(o.first())
	}
	if o.Verdict == Accepted && lost {
		b.WriteString(": but not all tests of " + t.Group + ", which has points only as a whole")
	}
	b.WriteString("\n")
	if !room {
		return b.String()
	}
	// The hint is about the output: what a limit or a signal ended, or what was skipped, has none that was judged.
	if t.Message != "" && !o.Passed() && (o.Verdict == WrongAnswer || o.Verdict == Accepted || o.Verdict == RuntimeError && !o.Signal) {
		b.WriteString("\n" + strings.ToValidUTF8(t.Message[:min(len(t.Message), maxHint)], "") + "\n")
	}
	if t.Hidden {
		return b.String()
	}
	if o.Note != "" {
		b.WriteString("\n" + quote([]byte(o.Note), maxQuote))
	}
	if o.Verdict == Accepted || o.Verdict == Skipped || o.Verdict == BuildError {
		return b.String()
	}
	for _, part := range []struct {
		title string
		text  []byte
		show  bool
	}{
		{"Given:", o.Input, len(o.Input) > 0},
		{"Expected:", o.Want, t.Output != nil && o.Verdict == WrongAnswer},
		{"Printed:", o.Stdout, len(o.Stdout) > 0 || o.Verdict == WrongAnswer},
		{"On standard error:", o.Stderr, len(o.Stderr) > 0},
	} {
		if part.show {
			b.WriteString("\n" + part.title + "\n" + quote(part.text, maxQuote))
		}
	}
	return b.String()
}

// Decide adds to the tests of this report what decided them. Programs of a harness cannot say it of themselves.
func (r *Report) Decide(p *Plan, tests []core.Test) {
	if r.Build != nil && len(tests) > 0 {
		tests[0].Decision, tests = r.Build.decision(p.BuildLimits), tests[1:]
	}
	next := 0
	for _, g := range p.Groups {
		for i := range g.Tests {
			if next < len(tests) {
				tests[next].Decision, tests[next].Checked = r.Outcomes[next].decision(g.Tests[i].Limits), r.Outcomes[next].Checked
			}
			next++
		}
	}
}

func (o *Outcome) decision(l Limits) *core.Decision {
	d := core.Decision{By: o.By}
	if o.Ran {
		d.LostMs, d.PartnerMs = o.LostMs, o.Partner
		d.TimeMs, d.WallMs, d.Memory, d.Output, d.Pids = l.Time.Milliseconds(), l.Wall.Milliseconds(), l.Memory, l.Output, l.Pids
	}
	return &d
}
