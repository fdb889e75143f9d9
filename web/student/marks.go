package student

import (
	"drover/core"
	"drover/web/page"
)

// marks are the tests of a grading that still runs. The result takes their place.
type marks struct {
	Marks []markSquare
	Ended int
	Count int
}

// markSquare is one of them, as a square.
type markSquare struct {
	Outcome core.ResultOutcome
	Text    string
}

var markTexts = map[core.ResultOutcome]string{
	core.ResultFull:      page.Sentence("Test %d: passed"),
	core.ResultPartial:   page.Sentence("Test %d: partly"),
	core.ResultFailed:    page.Sentence("Test %d: failed"),
	core.ResultCancelled: page.Sentence("Test %d: skipped"),
	core.ResultRunning:   page.Sentence("Test %d: running"),
	core.ResultWaiting:   page.Sentence("Test %d: waiting"),
}

// readMarks reads the marks of a grading; nil if no test has ended. The first test without one is running.
func readMarks(r *page.Request, all []core.Mark) *marks {
	if len(all) == 0 {
		return nil
	}
	m := &marks{Count: len(all)}
	runs := false
	for i, is := range all {
		one := markSquare{Outcome: is.Outcome}
		if is.Outcome == core.ResultWaiting && !runs {
			one.Outcome, runs = core.ResultRunning, true
		}
		one.Text = r.T(markTexts[one.Outcome], i+1)
		if is.Hidden {
			one.Text += " " + r.T("(hidden)")
		}
		if is.Outcome != core.ResultWaiting {
			m.Ended++
		}
		m.Marks = append(m.Marks, one)
	}
	return m
}
