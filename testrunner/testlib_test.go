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

const written = `
run: [prog]
interactor: {files: [talk], run: [talk], testlib: true}
checker: {files: [check], run: [check], testlib: true}
tests: [{name: a, input: "7", output: "8", compare: interactor}]
`

// What an interactor of testlib has accepted and written is judged by the checker, and nothing else is.
func TestWrittenByAnInteractor(t *testing.T) {
	t.Parallel()
	well := agent.Exit{}
	for name, test := range map[string]struct {
		prog, talk played
		check      agent.Exit
		says       string
		skipped    []agent.Skipped
		verdict    harness.Verdict
		score      float64
		checked    bool
		message    string
	}{
		"right":                     {atOnce(well, ""), after(well, "ok"), well, "ok fine", nil, harness.Passed, 1, true, ""},
		"wrong":                     {atOnce(well, ""), after(well, "ok"), agent.Exit{Code: 1}, "wrong answer by one", nil, harness.Failed, 0, true, "wrong answer by one"},
		"in part":                   {atOnce(well, ""), after(well, "ok"), agent.Exit{Code: 7}, "points 0.5", nil, harness.Partial, 0.5, true, ""},
		"the checker fails":         {atOnce(well, ""), after(well, "ok"), agent.Exit{Code: 3}, "FAIL no answer", nil, harness.HarnessFault, 0, true, "the checker failed at the test a"},
		"refused by the interactor": {atOnce(well, ""), after(agent.Exit{Code: 2}, "wrong output format"), well, "ok", nil, harness.Failed, 0, false, "wrong output format"},
		"crashed":                   {atOnce(agent.Exit{Code: 139, Signal: "SIGSEGV"}, ""), after(well, "ok"), well, "ok", nil, harness.Crashed, 0, false, ""},
		"too much":                  {atOnce(well, ""), after(well, "ok"), well, "ok", []agent.Skipped{{Path: "output", Why: "there is no room for it"}}, harness.HarnessFault, 0, false, "what it wrote for the checker cannot be read: output: there is no room"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.cluster.Peers = true
			judged, arguments := "", []string{}
			w.script.run = byName(map[string]played{
				"prog": test.prog, "talk": test.talk,
				"check": func(_ context.Context, _ int, run agent.Run, sink func(string, []byte)) (agent.Exit, error) {
					in, err := io.ReadAll(run.Stdin)
					judged, arguments = string(in), run.Args
					sink(agent.Stderr, []byte(test.says+"\n"))
					return test.check, err
				},
			})
			w.script.collect = func(want agent.Collection, take func(agent.Taken, io.Reader) error) ([]agent.Skipped, error) {
				require.Equal(t, []string{"output"}, want.Paths)
				if test.skipped != nil {
					return test.skipped, nil
				}
				return nil, take(agent.Taken{Path: "output"}, strings.NewReader("1 2 3"))
			}
			w.submit(w.stock(map[string]string{"cases.yaml": written, "talk": "#!/bin/sh", "check": "#!/bin/sh"}))
			w.cluster.AddVMs(t, 1)
			w.start(nil)
			r := w.result()
			assert.Equal(t, test.verdict, harness.VerdictOf(&r), r.Reason)
			all := r.Reason
			for _, one := range r.Tests {
				all += one.Message
			}
			assert.Contains(t, all, test.message)
			if test.verdict != harness.HarnessFault {
				assert.InDelta(t, test.score, *r.Score, 0)
			}
			if test.checked {
				assert.Equal(t, "1 2 3", judged)
				assert.Equal(t, []string{"check", "input", "output", "answer"}, arguments)
			} else {
				assert.Empty(t, arguments)
			}
		})
	}
}
