package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/terminal"
	"drover/core/coretest/tier"
	"drover/core/harness"
	"drover/core/requests"
)

// What always does the same is the same; what does not is found, counted, and told by the exit code.
func TestReplayFindsWhatIsAMatterOfChance(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h, up := newUpCluster(t)
	steady, _, code := h.run("run", "--no-wait", "--", "sh", "-c", "echo steady; exit 3")
	require.Zero(t, code)
	steady = strings.TrimSpace(steady)
	h.said("request", "output", "--follow", steady)
	out := h.said("request", "replay", steady)
	require.Contains(t, out, "same: failed, as request "+steady)
	require.Contains(t, out, "kernel")
	require.Contains(t, h.said("request", "list", "--assignment", "replay:"+steady), "completed")

	h.said("run", "--", "sh", "-c", "date +%s%N")
	flaky := jsonOf[[]requests.View](h, "request", "list")[0].ID
	out, errs, code := h.run("request", "replay", flaky)
	require.Equal(t, terminal.ExitDiffers, code, errs)
	require.Contains(t, out, "standard output")
	out, errs, code = h.run("request", "replay", "--times", "2", "--json", flaky)
	require.Equal(t, terminal.ExitDiffers, code, errs)
	var all struct {
		Different int
		Verdicts  map[harness.Verdict]int
		Runs      []requests.Comparison
	}
	require.NoError(t, json.Unmarshal([]byte(out), &all), out)
	require.Equal(t, []any{2, 2, map[harness.Verdict]int{harness.Passed: 2}}, []any{all.Different, len(all.Runs), all.Verdicts})
	out, _, code = h.run("request", "replay", "--times", "2", flaky)
	require.Equal(t, terminal.ExitDiffers, code)
	require.Contains(t, out, "0 of 2 runs came to the same as request "+flaky)

	h.refused(terminal.ExitUsage, "must be between 1 and 100", "request", "replay", "--times", "0", flaky)
	h.refused(terminal.ExitUsage, "do not go together", "request", "replay", "--times", "2", "--no-wait", flaky)
	h.refused(terminal.ExitUsage, "request id", "request", "replay")
	h.refused(terminal.ExitNotFound, "there is no request", "request", "replay", "01j8x3k4")
	h.refused(terminal.ExitRefused, "there is no pool other", "request", "replay", "--pool", "other", flaky)
	h.refused(terminal.ExitUsage, "is itself a replay", "request", "replay", all.Runs[0].Replay)
	up.stop()
	h.requireNothingLeft()
}
