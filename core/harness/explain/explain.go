// Package explain says in sentences how a result came about: what decided each verdict and by how much, what the score is
// made of, and why earlier attempts ended.
package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"drover/core"
)

// Line is one sentence about a result.
type Line struct {
	Sentence string // one of Sentences, with verbs for Args
	Args     []any  // texts, whole numbers, a Word, a time.Duration, a Size, Points
	Detail   string // what a program or drover said about it, in one line; not translated
}

// Size is a number of bytes.
type Size int64

// Points are points of a score.
type Points float64

// Word is a verdict of a test: one of core's, or a harness's own.
type Word string

// String returns the line in English.
func (l Line) String() string {
	args := make([]any, len(l.Args))
	for i, arg := range l.Args {
		switch is := arg.(type) {
		case time.Duration:
			arg = seconds(is)
		case Size:
			arg = core.SizeText(int64(is))
		case Points:
			arg = strconv.FormatFloat(float64(is), 'g', 6, 64)
		}
		args[i] = arg
	}
	text := fmt.Sprintf(l.Sentence, args...)
	if l.Detail != "" {
		text += " (" + l.Detail + ")"
	}
	return text
}

// seconds writes a length of time as limits are: "1.02 s".
func seconds(d time.Duration) string {
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	return strconv.FormatFloat(d.Seconds(), 'g', 4, 64) + " s"
}

// Fault is an earlier attempt that ended without a result.
type Fault struct {
	Owner string // that had it; "" if the reader may not know
	Why   string // "" if that is not known
}

// About is what a result does not say of itself.
type About struct {
	Grading bool // it was to be graded: it is no plain command
	Hidden  bool // the reader may not know what its tests found
	Faults  []Fault
}

// mostTests bounds the tests that have a sentence of their own; a report may have a thousand.
const mostTests = 50

// Result explains a terminal result.
func Result(r *core.Result, of About) []Line {
	e := &explaining{r: r, about: of}
	e.attempts()
	judged := e.end()
	switch {
	case of.Hidden && of.Grading:
		e.say(sayHidden)
	case judged:
		e.tests()
		e.score()
	}
	e.noise()
	return e.lines
}

type explaining struct {
	r     *core.Result
	about About
	lines []Line
}

func (e *explaining) say(sentence string, args ...any) *Line {
	e.lines = append(e.lines, Line{Sentence: sentence, Args: args})
	return &e.lines[len(e.lines)-1]
}

// attempts says why earlier attempts ended.
func (e *explaining) attempts() {
	for _, f := range e.about.Faults {
		if f.Owner != "" {
			e.say(sayFaultOf, f.Owner).Detail = f.Why
		} else {
			e.say(sayFault).Detail = f.Why
		}
	}
	if e.r.Attempt > 1 {
		e.say(sayAttempt, e.r.Attempt)
	}
	if e.r.Generation > 1 {
		e.say(sayGeneration, e.r.Generation)
	}
}

// end says how the whole run ended, and returns whether tests and score are worth saying.
func (e *explaining) end() bool {
	r := e.r
	reason := core.OneLine(r.Reason, maxDetail)
	switch {
	case !r.State.Terminal():
		e.say(sayUnfinished)
	case r.State == core.RequestCancelled:
		e.say(sayCancelled).Detail = reason
	case r.State == core.RequestDead:
		e.say(sayDead).Detail = reason
	case r.Blame == core.BlamePlatform:
		e.say(sayPlatform).Detail = reason
	case r.State == core.RequestTimedOut && r.Limit == "" && r.Blame != core.BlameHarness:
		e.say(sayWaited).Detail = reason
	case r.Blame == core.BlameHarness:
		e.say(sayHarness).Detail = reason
		if r.Limit != "" {
			e.limit(r.Limit)
		}
	case r.Limit != "":
		e.limit(r.Limit)
	case !e.about.Grading:
		e.command()
	case r.State == core.RequestFailed:
		e.say(sayRefused).Detail = reason
		return true
	default:
		return true
	}
	return false
}

// command says how a plain command ended.
func (e *explaining) command() {
	r := e.r
	switch {
	case r.State == core.RequestFailed:
		e.say(sayUnstarted).Detail = core.OneLine(r.Reason, maxDetail)
	case r.Signal != "":
		e.say(saySignal, r.Signal)
	default:
		e.say(sayExit, r.ExitCode)
	}
}

// limit says which limit of the whole run ended it.
func (e *explaining) limit(limit string) {
	r, l := e.r, core.Limits{}
	if r.Receipt != nil {
		l = r.Receipt.Limits
	}
	by := ""
	switch limit {
	case core.LimitTime:
		if by = sayWholeTime; l.Timeout > 0 {
			e.say(sayWholeTimeOf, ms(r.Usage.WallMs), l.Timeout, ms(r.Usage.CPUMs))
			return
		}
	case core.LimitMemory:
		if by = sayWholeMemory; l.Memory > 0 {
			e.say(sayWholeMemoryOf, Size(l.Memory), Size(r.Usage.MemoryPeakBytes))
			return
		}
	case core.LimitPids:
		if by = sayWholePids; l.Pids > 0 {
			e.say(sayWholePidsOf, l.Pids)
			return
		}
	case core.LimitOutput:
		if by = sayWholeOutput; l.Output > 0 {
			e.say(sayWholeOutputOf, Size(l.Output))
			return
		}
	default:
		e.say(sayWholeOther, limit)
		return
	}
	e.say(by)
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// score says what the score is made of.
func (e *explaining) score() {
	r := e.r
	sum, most := 0.0, 0.0
	for i := range r.Tests {
		sum, most = sum+r.Tests[i].Score, most+r.Tests[i].MaxScore
	}
	switch {
	case r.Score == nil && len(r.Tests) == 0:
		e.say(sayNoScore)
	case r.Score == nil:
		e.say(saySum, Points(sum), Points(most))
	case r.MaxScore == nil:
		e.say(sayScore, Points(*r.Score))
	case len(r.Tests) == 0:
		e.say(sayScoreOf, Points(*r.Score), Points(*r.MaxScore))
	case near(sum, *r.Score) && near(most, *r.MaxScore):
		e.say(saySum, Points(*r.Score), Points(*r.MaxScore))
	default:
		e.say(sayOtherSum, Points(*r.Score), Points(*r.MaxScore), Points(sum), Points(most))
	}
}

// near reports whether two sums of points are the same but for rounding.
func near(a, b float64) bool {
	const tiny = 1e-6
	return max(a-b, b-a) <= tiny*max(1, a, -a)
}

// noisy is the part of a run, one in so many, in which processes waited for processors before it is said.
const noisy = 10

// noise says how busy the host was, where that may have mattered.
func (e *explaining) noise() {
	if e.r.Receipt == nil || e.r.Receipt.Noise == nil {
		return
	}
	n := e.r.Receipt.Noise
	switch {
	case n.Waited == nil && n.Stolen == nil:
		e.say(sayUnmeasured)
	case n.Waited != nil && n.Ms > 0 && *n.Waited*noisy >= n.Ms:
		e.say(sayBusy, ms(*n.Waited), ms(n.Ms))
	}
	if n.Stolen != nil && *n.Stolen > 0 {
		e.say(sayStolen, ms(*n.Stolen))
	}
	if sentence, ok := owed[n.Doubt]; ok && n.Others != nil && e.outOfTime() {
		e.say(sentence, *n.Others)
	}
}

// outOfTime reports whether a limit of time was exceeded by what is not run again by itself: a command, or a test of a
// harness that runs tests itself.
func (e *explaining) outOfTime() bool {
	return e.r.Limit == core.LimitTime || !e.about.Hidden && slices.ContainsFunc(e.r.Tests, func(t core.Test) bool {
		return t.Verdict == core.TestTimeLimit && t.Decision == nil
	})
}

// maxDetail bounds what is quoted.
const maxDetail = 300

// detail returns the first line of a test's message, without the verdict at its start.
func detail(t *core.Test) string {
	line, _, _ := strings.Cut(strings.TrimSpace(t.Message), "\n")
	if t.Verdict != "" {
		line = strings.TrimPrefix(strings.TrimPrefix(line, t.Verdict), ": ")
	}
	return core.OneLine(line, maxDetail)
}

// English returns lines in English.
func English(lines []Line) []string {
	all := make([]string, len(lines))
	for i, l := range lines {
		all[i] = l.String()
	}
	return all
}
