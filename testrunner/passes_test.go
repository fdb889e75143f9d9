package testrunner_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core/agent"
	"drover/core/harness"
)

const passed = `
run: [prog]
checker: {files: [check], run: [check], passes: 3}
tests: [{name: a, input: "1", output: "8", compare: checker}]
`

// A program runs again as long as its checker accepts and writes a further input; what the checker left otherwise stays.
func TestPasses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		passes  int // that the checker asks for
		skipped []agent.Skipped
		last    int // exit code of the checker's last run
		verdict harness.Verdict
		inputs  []string
		says    string
	}{
		"one":             {1, nil, 42, harness.Passed, []string{"1"}, ""},
		"three":           {3, nil, 42, harness.Passed, []string{"1", "1+", "1++"}, ""},
		"wrong at last":   {2, nil, 43, harness.Failed, []string{"1", "1+"}, ""},
		"too many":        {4, nil, 42, harness.HarnessFault, []string{"1", "1+", "1++"}, "the checker failed at the test a: it asks for another pass after 3"},
		"no room for it":  {1, []agent.Skipped{{Path: "feedback/nextpass.in", Why: "there is no room for it"}}, 42, harness.HarnessFault, []string{"1"}, "cannot be kept: feedback/nextpass.in"},
		"no feedback":     {1, []agent.Skipped{{Path: "feedback", Why: "it is not there"}}, 42, harness.Passed, []string{"1"}, ""},
		"fails in a pass": {2, nil, 3, harness.HarnessFault, []string{"1", "1+"}, "exit code 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			var inputs []string
			w.script.run = byName(map[string]played{
				"prog": func(_ context.Context, _ int, run agent.Run, _ func(string, []byte)) (agent.Exit, error) {
					in, err := io.ReadAll(run.Stdin)
					inputs = append(inputs, string(in))
					return agent.Exit{}, err
				},
				"check": func(context.Context, int, agent.Run, func(string, []byte)) (agent.Exit, error) {
					if len(inputs) >= test.passes {
						return agent.Exit{Code: test.last}, nil
					}
					return agent.Exit{Code: 42}, nil
				},
			})
			w.script.collect = func(_ agent.Collection, take func(agent.Taken, io.Reader) error) ([]agent.Skipped, error) {
				if err := take(agent.Taken{Path: "feedback/notes"}, strings.NewReader("n")); err != nil || len(inputs) >= test.passes {
					return test.skipped, err
				}
				return nil, take(agent.Taken{Path: "feedback/nextpass.in"}, strings.NewReader(inputs[len(inputs)-1]+"+"))
			}
			w.submit(w.stock(map[string]string{"cases.yaml": passed, "check": "#!/bin/sh"}))
			w.cluster.AddVMs(t, 1)
			w.start(nil)
			r := w.result()
			assert.Equal(t, test.verdict, harness.VerdictOf(&r), r.Reason)
			assert.Equal(t, test.inputs, inputs)
			assert.Contains(t, r.Reason, test.says)
			w.mu.Lock()
			defer w.mu.Unlock()
			laid := 0
			for _, did := range w.vms[0].did {
				if did == "lay work answer feedback/notes input output" {
					laid++
				}
			}
			require.Equal(t, len(test.inputs)-1, laid, w.vms[0].did)
		})
	}
}
