package operator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/cluster/operate"
)

// A lane has a bar for each phase that took time, in its place; a short one can be seen and stays inside.
func TestLanes(t *testing.T) {
	t.Parallel()
	step := func(gen int, at, took int64, kind operate.StepKind) stepRow {
		return stepRow{Step: operate.Step{Kind: kind, At: at, For: took, Gen: gen}, Sentence: string(kind)}
	}
	got := lanes([]stepRow{
		step(1, 1000, 0, operate.StepSubmitted), step(1, 1000, 600, operate.StepQueued), step(1, 1600, 300, operate.StepRunning), step(1, 1998, 2, operate.StepFinished), step(1, 2000, 0, operate.StepRecorded),
		step(2, 90_000, 0, operate.StepQueued),
		step(3, 100_000, 50, operate.StepQueued),
	})
	require.Len(t, got, 2, "what took no time has no lane")
	require.Equal(t, int64(1000), got[0].Whole)
	require.Equal(t, []phase{
		{Sentence: "queued", For: 600, X: 0, W: 360},
		{Sentence: "running", For: 300, X: 360, W: 180},
		{Sentence: "finished", For: 2, X: laneWidth - thinnest, W: thinnest},
	}, got[0].Phases)
	require.Equal(t, 3, got[1].Gen)
	require.InDelta(t, laneWidth, got[1].Phases[0].W, 0)
	require.Empty(t, lanes(nil))
}
