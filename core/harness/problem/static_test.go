package problem_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core/harness"
)

// The tests of a static validator are the first of their groups, and have their points.
func TestStaticValidation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, open(t, "testdata/static-scored").Write(dir))
	pack, err := harness.Pack(dir)
	require.NoError(t, err)
	var titles []string
	var points []float64
	for _, one := range pack.Cases.Tests() {
		titles, points = append(titles, one.Title()), append(points, one.Points)
	}
	assert.Equal(t, []string{"secret/static validation", "secret/1/static validation", "secret/1/1", "secret/1/2", "secret/2/static validation", "secret/2/1", "secret/2/2"}, titles)
	assert.InDeltaSlice(t, []float64{10, 20, 20, 20, 10, 10, 10}, points, 1e-9)
	assert.Equal(t, []string{"static:20", "60"}, []string(pack.Cases.Tests()[1].CheckerArgs))
	assert.Equal(t, []string{"static:none", "80"}, []string(pack.Cases.Tests()[4].CheckerArgs))
}

// What a static validation cannot mean is refused.
func TestBadStaticValidation(t *testing.T) {
	t.Parallel()
	for group, want := range map[string]string{
		"max_score: 60\nscore_aggregation: sum\nstatic_validation_score: 70\n":        "line 3: static_validation_score: the group has at most 60 points",
		"max_score: 60\nscore_aggregation: min\nstatic_validation_score: 7\n":         "line 3: static_validation_score: points are for groups with score_aggregation: sum",
		"max_score: 60\nscore_aggregation: sum\nstatic_validation_score: pass-fail\n": "line 3: static_validation_score: pass-fail is for groups with this score_aggregation; here it is sum",
		"max_score: 60\nstatic_validator_args: [a]\n":                                 "line 2: static_validator_args: there is no static_validation_score beside it",
		"max_score: 60\nstatic_validation_score: many\n":                              "line 2: static_validation_score: this must be a number",
	} {
		dir := t.TempDir()
		require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/static-scored")))
		at := filepath.Join(dir, "data", "secret", "1", "test_group.yaml")
		require.NoError(t, os.Remove(at))
		require.NoError(t, os.WriteFile(at, []byte(group), 0o600))
		require.ErrorContains(t, open(t, dir).Check(), want)
	}
}
