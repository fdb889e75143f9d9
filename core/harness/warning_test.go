package harness_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/blobs/pack"
	"drover/core/harness"
)

func TestWarnings(t *testing.T) {
	t.Parallel()
	const tests = "run: ./a.out\ntests:\n- {name: one, visibility: hidden, output: x}\n"
	for says, text := range map[string]string{
		"":                             tests,
		"the pool allows 10s":          "timeout: 60s\n" + tests,
		"may take 12s":                 strings.Replace(tests, "}", ", limits: {time: 12s}}", 1),
		"VMs of the pool have 64 MiB":  strings.Replace(tests, "}", ", limits: {memory: 2G}}", 1),
		"no test has points":           strings.Replace(tests, "}", ", points: 0}", 1),
		"no test is hidden":            strings.Replace(tests, "visibility: hidden, ", "", 1),
		"without names: test 2; a":     tests + "- {visibility: hidden, output: y}\n",
		"VMs of the pool have no peer": "interactor: {run: [talk]}\ncompare: interactor\n" + tests,
	} {
		p, err := harness.PackFiles(map[string]pack.File{"cases.yaml": {Content: []byte(text)}})
		require.NoError(t, err)
		var all []string
		for _, w := range p.Warnings(core.Limits{Timeout: 10 * time.Second, Memory: 64 << 20}, false) {
			require.Contains(t, harness.WarningSentences(), w.Sentence)
			all = append(all, w.String())
		}
		if says == "" {
			require.Empty(t, all)
			continue
		}
		require.Len(t, all, 1, says)
		require.Contains(t, all[0], says)
	}
}
