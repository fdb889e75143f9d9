package chart_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/cluster/history"
	"drover/web/chart"
)

// A line is broken where steps are missing, and a point that is alone is drawn, too.
func TestLinesAreBroken(t *testing.T) {
	t.Parallel()
	all := []chart.Series{chart.Shown("waiting", "calm", func(p history.Point) (float64, bool) { return float64(p.At) / 10, p.At != 300 })}
	points := []history.Point{{At: 0}, {At: 100}, {At: 300}, {At: 900}}
	got := chart.Chart{First: 0, Last: 1000}.Draw(points, 100, all)
	require.Len(t, got.Lines, 1)
	paths := got.Lines[0].Paths
	require.Len(t, paths, 2)
	require.Regexp(t, `^[\d.,-]+ [\d.,]+ [\d.,]+$`, paths[0])
	require.Regexp(t, `^[\d.,-]+ [\d.,]+$`, paths[1])
	require.InDelta(t, 90, got.Highest, 0)
	require.Len(t, got.Rows, 4)
	require.Nil(t, got.Rows[2].Values[0])
}
