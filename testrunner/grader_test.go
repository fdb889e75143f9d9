package testrunner_test

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/harness"
)

const withGrader = `
run: [prog]
grader: {files: [grade], build: [[make]], run: [grade], points: 50}
groups:
  - {name: a, tests: [{name: "1", points: 20}, {name: "2", points: 20}, {name: "3", points: 20}]}
  - {name: b, tests: [{name: "1", points: 10}]}
`

// A grader gets what ran, and what it prints are the points; what is no verdict with points is the harness's fault.
func TestGraders(t *testing.T) {
	t.Parallel()
	well := agent.Exit{}
	for name, test := range map[string]struct {
		made   agent.Exit
		end    agent.Exit
		prints string
		fault  string
		score  float64
	}{
		"points":          {well, well, "AC 42.5\n", "", 42.5},
		"not accepted":    {well, well, "WA 42\n", "", 0},
		"too many":        {well, well, "AC 51\n", `its points "51" are no number from 0 to 50`, 0},
		"no number":       {well, well, "AC NaN\n", `its points "NaN" are no number`, 0},
		"no verdict":      {well, well, "OK 1\n", `its verdict "OK" is not AC, WA, TLE or RTE`, 0},
		"nothing":         {well, well, "", "it does not print one verdict and the points", 0},
		"two lines":       {well, well, "AC 1\nAC 1\n", "it does not print one verdict and the points", 0},
		"fails":           {well, agent.Exit{Code: 1}, "AC 1\n", "the grader failed: it ended with exit code 1", 0},
		"takes too long":  {well, agent.Exit{Code: 137, TimedOut: true}, "AC 1\n", "the grader failed: it did not end", 0},
		"cannot be built": {agent.Exit{Code: 1}, well, "AC 1\n", "its grader could not be built", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			runs, heard := 0, ""
			w.script.run = byName(map[string]played{
				"prog": func(context.Context, int, agent.Run, func(string, []byte)) (agent.Exit, error) {
					if runs++; runs == 2 {
						return agent.Exit{Code: 139, Signal: "SIGSEGV"}, nil
					}
					return well, nil
				},
				"make": atOnce(test.made, ""),
				"grade": func(_ context.Context, _ int, run agent.Run, sink func(string, []byte)) (agent.Exit, error) {
					in, err := io.ReadAll(run.Stdin)
					heard = string(in)
					sink(agent.Stdout, []byte(test.prints))
					return test.end, err
				},
			})
			w.submit(w.stock(map[string]string{"cases.yaml": withGrader, "grade": "#!/bin/sh"}))
			w.cluster.AddVMs(t, 1)
			w.start(nil)
			r := w.result()
			if test.fault != "" {
				assert.Equal(t, core.BlameHarness, r.Blame)
				assert.Contains(t, r.Reason, test.fault)
				return
			}
			require.Equal(t, core.RequestCompleted, r.State, r.Reason)
			assert.InDelta(t, test.score, *r.Score, 1e-9)
			assert.InDelta(t, 50, *r.MaxScore, 1e-9)
			assert.Equal(t, "a/1 AC 20\na/2 RTE 0\na/3 AC 20\nb/1 AC 10\n", heard)
			assert.NotEqual(t, harness.HarnessFault, harness.VerdictOf(&r))
			did := w.vms[0].did
			assert.Equal(t, []string{"reset ", "lay work grade", "run make", "run grade"}, did[len(did)-4:], "nothing of the submission is left")
		})
	}
}
