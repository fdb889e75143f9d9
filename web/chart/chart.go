// Package chart draws numbers over time for pages: a picture, and the same numbers as a table.
package chart

import (
	"fmt"
	"math"

	"drover/core/cluster/history"
)

// Size of a chart, in units of its picture.
const (
	width, bottom = 600, 150
	left, top     = 52, 12
)

// Chart is a picture of numbers over time; the part "chart" of pages shows it.
type Chart struct {
	ID, Title, Unit string
	Length          string // of the time that it shows, in words
	First, Last     int64
	Most, Highest   float64 // the top of the picture, and of the numbers
	Lines           []Line
	Rows            []Row // the same as a table
}

// Line is one line of a chart.
type Line struct {
	Title, Class string
	Paths        []string // points of polylines, one for each stretch without a gap
}

// Row is one moment of a chart.
type Row struct {
	At     int64
	Values []*float64 // nil where the chart has nothing of it
}

// Series says what a line of a chart shows.
type Series struct {
	Title, Class string
	Value        func(p history.Point) (v float64, ok bool) // ok is false where a point has nothing of it
}

// Shown returns what a line shows, with the class of its look: good, calm, warn, bad.
func Shown(title, class string, value func(p history.Point) (v float64, ok bool)) Series {
	return Series{Title: title, Class: class, Value: value}
}

// dot is how far a line begins before its first point.
const dot = 3

// Draw returns the chart with the lines through points. Where steps are missing a line is broken: nobody measured, or
// nothing ended.
func (c Chart) Draw(points []history.Point, step int64, lines []Series) Chart {
	for i := range points {
		row := Row{At: points[i].At}
		for _, l := range lines {
			v, ok := l.Value(points[i])
			if !ok {
				row.Values = append(row.Values, nil)
				continue
			}
			v = math.Round(10*v) / 10
			c.Highest = max(c.Highest, v)
			row.Values = append(row.Values, &v)
		}
		c.Rows = append(c.Rows, row)
	}
	c.Most = max(c.Most, c.Highest)
	for _, l := range lines {
		c.Lines = append(c.Lines, Line{Title: l.Title, Class: l.Class, Paths: paths(points, step, l.Value, func(at int64, v float64) (x, y float64) {
			part := max(0, float64(at-c.First)/float64(max(1, c.Last-c.First)))
			return left + part*(width-left), bottom - v/c.Most*(bottom-top)
		})})
	}
	return c
}

// paths are the points of the polylines of a line, one for each stretch in which no step is missing.
func paths(points []history.Point, step int64, value func(history.Point) (float64, bool), place func(at int64, v float64) (x, y float64)) (all []string) {
	last := int64(0)
	for i := range points {
		v, ok := value(points[i])
		if !ok {
			continue
		}
		x, y := place(points[i].At, v)
		at := fmt.Sprintf("%.1f,%.1f", x, y)
		if n := len(all); n > 0 && points[i].At-last <= 2*step {
			all[n-1] += " " + at
		} else {
			// A stretch may have no other point, and a line of one point is not drawn.
			all = append(all, fmt.Sprintf("%.1f,%.1f %s", x-dot, y, at))
		}
		last = points[i].At
	}
	return all
}
