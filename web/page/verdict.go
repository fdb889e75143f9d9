package page

import (
	"drover/core/classes/experiment"
	"drover/core/harness"
	"drover/core/harness/cases"
)

// verdicts are the words for how a whole run ended.
var verdicts = map[harness.Verdict]string{
	harness.Passed:        Sentence("passed"),
	harness.Partial:       Sentence("some points"),
	harness.Failed:        Sentence("failed"),
	harness.Crashed:       Sentence("crashed"),
	harness.TimeLimit:     Sentence("took too long"),
	harness.MemoryLimit:   Sentence("too much memory"),
	harness.ProcessLimit:  Sentence("too many processes"),
	harness.OutputLimit:   Sentence("printed too much"),
	harness.BuildError:    Sentence("could not be built"),
	harness.Rejected:      Sentence("not graded: refused"),
	harness.HarnessFault:  Sentence("a fault of the grading program"),
	harness.PlatformFault: Sentence("our fault"),
	harness.Cancelled:     Sentence("cancelled"),
	harness.Unfinished:    Sentence("not finished"),
	experiment.Ungraded:   Sentence("not graded"),
}

// Verdict says in words how a whole run ended; a word that is not known stays as it is.
func (s Speech) Verdict(v harness.Verdict) string {
	if text, known := verdicts[v]; known {
		return s.T(text)
	}
	return string(v)
}

// testVerdicts are the texts for the stock harness's words; others are shown unchanged.
var testVerdicts = map[string]string{
	cases.Accepted:     Sentence("passed"),
	cases.WrongAnswer:  Sentence("wrong answer"),
	cases.TimeLimit:    Sentence("took too long"),
	cases.MemoryLimit:  Sentence("too much memory"),
	cases.ProcessLimit: Sentence("too many processes"),
	cases.OutputLimit:  Sentence("printed too much"),
	cases.RuntimeError: Sentence("crashed"),
	cases.BuildError:   Sentence("could not be built"),
	cases.Skipped:      Sentence("skipped"),
}

// TestVerdict says in words how a test ended; a word that is not known stays as it is.
func (s Speech) TestVerdict(v string) string {
	if text, known := testVerdicts[v]; known {
		return s.T(text)
	}
	return v
}
