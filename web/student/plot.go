package student

import (
	"cmp"
	"fmt"
	"strings"

	"drover/core/classes"
	"drover/core/school"
	"drover/web/page"
)

// Size of a plot, in units of its picture.
const (
	plotWidth, plotHeight          = 440, 160
	plotLeft, plotTop, plotPadding = 44, 12, 12
	plotBottom                     = plotHeight - 24
)

// plot is a picture of scores over time.
type plot struct {
	Line        string // points of a polyline
	Marks       []mark
	Ticks       []mark // of the scores
	First, Last int64
	Text        string // the same in words
}

type mark struct {
	X, Y int
	Text string
}

// drawScores draws the scores of attempts, which come newest first; nil for fewer than two.
func drawScores(r *page.Request, all []classes.SubmissionEntry) *plot {
	var scored []school.Standing
	most := 0.0
	for i := range all {
		if s := all[len(all)-1-i].Standing; s.Score != nil {
			scored = append(scored, s)
			most = max(most, *s.Score, deref(s.MaxScore))
		}
	}
	if len(scored) < 2 {
		return nil
	}
	most = cmp.Or(most, 1)
	p := &plot{First: scored[0].Submission.At, Last: scored[len(scored)-1].Submission.At}
	span := max(1, p.Last-p.First)
	var line []string
	for _, s := range scored {
		score := *s.Score
		m := mark{
			X: plotLeft + int(float64(s.Submission.At-p.First)/float64(span)*(plotWidth-plotLeft-plotPadding)),
			Y: height(score, most), Text: points(r, s),
		}
		p.Marks, line = append(p.Marks, m), append(line, fmt.Sprintf("%d,%d", m.X, m.Y))
	}
	p.Line = strings.Join(line, " ")
	for _, part := range []float64{0, 0.5, 1} {
		p.Ticks = append(p.Ticks, mark{plotLeft, height(part*most, most), r.Number(part * most)})
	}
	p.Text = r.T("%d scores, from %s to %s.", len(scored), p.Marks[0].Text, p.Marks[len(p.Marks)-1].Text)
	return p
}

// height returns the position of a score in the plot; negative scores are at its foot.
func height(score, most float64) int {
	return plotBottom - int(min(1, max(0, score/most))*(plotBottom-plotTop))
}

func points(r *page.Request, s school.Standing) string {
	if s.MaxScore == nil {
		return r.Number(*s.Score)
	}
	return r.T("%s of %s", r.Number(*s.Score), r.Number(*s.MaxScore))
}

func deref(x *float64) float64 {
	if x == nil {
		return 0
	}
	return *x
}
