package page

import "drover/core"

// outcomes are the words for outcomes; pages show an icon and a colour beside them.
var outcomes = map[core.ResultOutcome]string{
	core.ResultFull:       Sentence("all points"),
	core.ResultPartial:    Sentence("some points"),
	core.ResultFailed:     Sentence("no points"),
	core.ResultBuildError: Sentence("build error"),
	core.ResultGraded:     Sentence("graded"),
	core.ResultFault:      Sentence("our fault"),
	core.ResultCancelled:  Sentence("cancelled"),
	core.ResultRunning:    Sentence("running"),
	core.ResultWaiting:    Sentence("waiting"),
	core.ResultReceived:   Sentence("received"),
}

// Outcome writes an outcome in words.
func (s Speech) Outcome(o core.ResultOutcome) string {
	text, ok := outcomes[o]
	if !ok {
		return s.T(outcomes[core.ResultReceived])
	}
	return s.T(text)
}
