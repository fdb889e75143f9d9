package harness

import (
	"slices"
	"strings"

	"drover/core"
)

// Verdict is a result in a word or two, for tables and for tests of whole clusters.
type Verdict string

// The verdicts.
const (
	Passed        Verdict = "passed"         // every point there was; of a plain command: it exited with 0
	Partial       Verdict = "partial"        // some of the points
	Failed        Verdict = "failed"         // no points; of a plain command: it exited with something else
	Crashed       Verdict = "crashed"        // the program ended by a signal or with an error
	TimeLimit     Verdict = "time limit"     // it ran for too long
	MemoryLimit   Verdict = "memory limit"   // it took too much memory
	ProcessLimit  Verdict = "process limit"  // it started too many processes
	OutputLimit   Verdict = "output limit"   // it printed too much
	BuildError    Verdict = "build error"    // it could not be built
	Rejected      Verdict = "rejected"       // the harness would not grade it
	HarnessFault  Verdict = "harness fault"  // the grading program failed
	PlatformFault Verdict = "platform fault" // drover failed
	Cancelled     Verdict = "cancelled"      // somebody stopped it
	Unfinished    Verdict = "unfinished"     // it has no terminal result yet
)

// ofSubmission are the verdicts that a harness may give about one test: as its
// verdict, or by writing the word, or the word and a colon, at the start of its message.
var ofSubmission = []Verdict{Crashed, TimeLimit, MemoryLimit, ProcessLimit, OutputLimit, BuildError, Rejected}

// runtimeError is another word for Crashed.
const runtimeError = "runtime error"

// VerdictOf returns the verdict on a result. Blame comes first, then the limit that ended the run, then what the
// harness's tests say in their messages, then the score.
func VerdictOf(r *core.Result) Verdict {
	switch {
	case !r.State.Terminal():
		return Unfinished
	case r.State == core.RequestCancelled:
		return Cancelled
	case r.State == core.RequestDead || r.Blame == core.BlamePlatform:
		return PlatformFault
	case r.Blame == core.BlameHarness:
		return HarnessFault
	case r.Limit != "":
		return ofLimit(r.Limit)
	case r.State == core.RequestTimedOut:
		return TimeLimit
	case r.Score == nil && len(r.Tests) == 0:
		return ofCommand(r)
	}
	points := ofScore(r)
	if points == Passed {
		return Passed
	}
	if said := ofTests(r.Tests); said != "" {
		return said
	}
	return points
}

func ofLimit(limit string) Verdict {
	switch limit {
	case core.LimitTime:
		return TimeLimit
	case core.LimitMemory:
		return MemoryLimit
	case core.LimitPids:
		return ProcessLimit
	case core.LimitOutput:
		return OutputLimit
	}
	return Failed
}

func ofCommand(r *core.Result) Verdict {
	switch {
	case r.State == core.RequestFailed:
		return Rejected
	case r.Signal != "":
		return Crashed
	case r.ExitCode == 0:
		return Passed
	}
	return Failed
}

// ofScore judges by the points: the totals of the harness, or the sum of its tests. If no points can be won, only a
// negative score is bad.
func ofScore(r *core.Result) Verdict {
	var score, most float64
	for _, test := range r.Tests {
		score, most = score+test.Score, most+test.MaxScore
	}
	if r.Score != nil {
		score = *r.Score
	}
	if r.MaxScore != nil {
		most = *r.MaxScore
	}
	switch {
	case r.State == core.RequestFailed:
		return Rejected
	case most <= 0 && score >= 0, most > 0 && score >= most:
		return Passed
	case score > 0:
		return Partial
	}
	return Failed
}

// ofTests returns the first verdict that a test has or that its message begins with.
func ofTests(tests []core.Test) Verdict {
	for _, test := range tests {
		if test.Verdict == runtimeError {
			return Crashed
		}
		if slices.Contains(ofSubmission, Verdict(test.Verdict)) {
			return Verdict(test.Verdict)
		}
		for _, word := range ofSubmission {
			rest, ok := strings.CutPrefix(test.Message, string(word))
			if ok && (rest == "" || strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "\n")) {
				return word
			}
		}
	}
	return ""
}
