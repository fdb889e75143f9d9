package chart

import "drover/core/cluster/history"

// Size of a sparkline, in units of its picture.
const (
	sparkWidth, sparkHeight = 160, 32
	sparkEdge               = 2 // kept free at each side, so that no line is cut
)

// Spark is a small line of numbers over time, without axes; the part "spark" of pages shows it.
type Spark struct {
	Class   string
	Paths   []string // points of polylines, one for each stretch without a gap
	Highest float64
}

// SparkOf draws what a series shows from a time until another, both ms.
func SparkOf(points []history.Point, step, from, until int64, of Series) Spark {
	s := Spark{Class: of.Class}
	for i := range points {
		if v, ok := of.Value(points[i]); ok {
			s.Highest = max(s.Highest, v)
		}
	}
	most := max(1, s.Highest)
	s.Paths = paths(points, step, of.Value, func(at int64, v float64) (x, y float64) {
		part := max(0, float64(at-from)/float64(max(1, until-from)))
		return sparkEdge + dot + part*(sparkWidth-2*sparkEdge-dot), sparkHeight - sparkEdge - v/most*(sparkHeight-2*sparkEdge)
	})
	return s
}
