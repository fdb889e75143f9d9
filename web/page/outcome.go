package page

import (
	"fmt"

	"drover/core"
)

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

// piece is a part of a bar that is 100 wide.
type piece struct {
	Outcome  core.ResultOutcome
	X, Width string
}

// pieces returns counts as parts of a bar.
func pieces(counts []core.OutcomeCount) []piece {
	sum, before := 0, 0
	for _, c := range counts {
		sum += c.Count
	}
	all := make([]piece, len(counts))
	share := func(n int) string { return fmt.Sprintf("%.2f", 100*float64(n)/float64(sum)) }
	for i, c := range counts {
		all[i] = piece{c.Outcome, share(before), share(c.Count)}
		before += c.Count
	}
	return all
}
