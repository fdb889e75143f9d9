package student_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/harness"
	"drover/core/school"
)

// stock makes an assignment that drover grades by a cases.yaml itself.
func (w *fixture) stock(handle string, change ...func(as *school.Assignment)) {
	w.t.Helper()
	w.assignment(handle, change...)
	dir := w.t.TempDir()
	const tests = "run: [prog]\ntests: [{name: secret, visibility: hidden}, {}, {}]\n"
	require.NoError(w.t, os.WriteFile(filepath.Join(dir, "cases.yaml"), []byte(tests), 0o600))
	p, err := harness.Pack(dir)
	require.NoError(w.t, err)
	tess, err := w.reg.Actor(w.t.Context(), "tess")
	require.NoError(w.t, err)
	_, err = w.reg.SetHarness(w.t.Context(), tess, "cs101", handle, p.Tar())
	require.NoError(w.t, err)
}

func (w *fixture) mark(c core.Claim, marks string) {
	w.t.Helper()
	require.NoError(w.t, w.cluster.Store.Append(w.t.Context(), c.Key, c.Token, []core.OutputChunk{{Stream: core.StreamTests, Data: []byte(marks)}}))
}

// While tests run, a square for each says how far they are. Another attempt begins anew, and the result takes the
// squares' place.
func TestSquaresFillWhileTestsRun(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.stock("hw1")
	at := w.submitTo("ann", "hw1")
	assert.NotContains(t, w.get("ann", at), `class="strip"`)
	c := w.claim()
	w.run(c, "secret: accepted\n")
	assert.NotContains(t, w.get("ann", at), `class="strip"`)
	w.mark(c, "F..")
	w.mark(c, "Fx.")
	for who, sees := range map[string]bool{"ann": false, "tess": true} {
		body := w.get(who, at)
		assert.Contains(t, body, "2 of 3 tests have ended")
		strip := between(t, body, `<ol class="strip"`, "</ol>")
		for _, square := range []string{
			`o-full" title="Test 1: passed (hidden)"`, `o-failed" title="Test 2: failed"`, `o-running" title="Test 3: running"`,
		} {
			assert.Contains(t, strip, square)
		}
		assert.NotContains(t, body, "secret", "its name comes with the result")
		assert.Equal(t, sees, strings.Contains(body, "data-output"))
	}
	w.finish(c, core.OutcomeRetry)
	assert.NotContains(t, w.get("ann", at), `class="strip"`)
	w.backend.Hasten(t, w.cluster.Store)
	c = w.claim()
	w.run(c)
	assert.NotContains(t, w.get("ann", at), `class="strip"`)
	w.mark(c, "...")
	assert.Contains(t, w.get("ann", at), "0 of 3 tests have ended")
	w.end(c, func(r *core.Result) {
		r.Tests = []core.Test{{Name: "secret", Hidden: true, Score: 1, MaxScore: 1}, {Name: "two", MaxScore: 1}, {Name: "three", Score: 1, MaxScore: 1}}
	})
	body := w.get("ann", at)
	assert.NotContains(t, body, "tests have ended")
	assert.Equal(t, 1, strings.Count(body, "2 of 3"), "how many passed is said once")
}
