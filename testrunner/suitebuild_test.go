package testrunner_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/service/clock"
	"drover/testrunner"
)

// gradings is a runner that keeps what it builds, for gradings one after the other.
type gradings struct {
	*fixture
	dir string
	n   int
}

const cachedCases = `
build: [[make]]
build_cache: true
run: [prog]
checker: {files: [check], build: [[cc]], run: [check]}
tests: [{name: a, compare: checker}]
`

func newGradings(t *testing.T, change func(*testrunner.Config, *testrunner.Deps)) *gradings {
	t.Helper()
	g := &gradings{fixture: newFixture(t), dir: filepath.Join(t.TempDir(), "builds")}
	g.script.run = answers(map[string]agent.Exit{"make": {}, "cc": {}, "prog": {}, "check": {}}, nil)
	g.cluster.AddVMs(t, 8)
	g.start(func(c *testrunner.Config, d *testrunner.Deps) {
		c.BuildsDir = g.dir
		if change != nil {
			change(c, d)
		}
	})
	return g
}

// grade grades by cases and returns what its VM was asked to do. The result must be the same as any other.
func (g *gradings) grade(cases string, change func(*core.Spec)) []string {
	g.t.Helper()
	g.n++
	spec := g.stock(map[string]string{"cases.yaml": cases, "check": "#!/bin/sh"})
	spec.ID = fmt.Sprint("r", g.n)
	if change != nil {
		change(&spec)
	}
	g.submit(spec)
	r := g.result()
	require.Equal(g.t, core.RequestCompleted, r.State, r.Reason)
	require.Len(g.t, r.Tests, 1)
	require.InDelta(g.t, 1, *r.Score, 0)
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.vms[len(g.vms)-1].did
}

func (g *gradings) states() []string {
	g.t.Helper()
	all, err := filepath.Glob(filepath.Join(g.dir, "*"))
	require.NoError(g.t, err)
	return all
}

var (
	checkerMade = []string{"reset ", "lay work check", "run cc", "keep checker", "give checker", "reset submission"}
	checkerKept = []string{"take checker: the state checker"}
	buildMade   = []string{"run make", "keep built", "give built"}
	buildKept   = []string{"take built: the state built"}
)

// did is a whole grading by cachedCases.
func did(checker, build []string) []string {
	return slices.Concat([]string{"stage work prog", "keep submission"}, checker, build,
		[]string{"reset built", "run prog", "reset checker", "lay work answer input output", "run check input output answer"})
}

// What was built is used again for the same harness, files and submitter, and for nothing else.
func TestSuite_BuildsOnce(t *testing.T) {
	t.Parallel()
	g := newGradings(t, nil)
	assert.Equal(t, did(checkerMade, buildMade), g.grade(cachedCases, nil))
	assert.Equal(t, did(checkerKept, buildKept), g.grade(cachedCases, nil))
	assert.Equal(t, did(checkerKept, buildMade), g.grade(cachedCases, func(s *core.Spec) { s.Submitter = "bob" }), "others have builds of their own")
	assert.Equal(t, did(checkerKept, buildMade), g.grade(cachedCases, func(s *core.Spec) { s.Files[0].Digest = g.blobs.put("other", "the submission").Digest }))
	assert.Equal(t, did(checkerKept, buildMade), g.grade(cachedCases, func(s *core.Spec) { s.Files[0].Mode = 0o755 }))
	assert.Equal(t, did(checkerMade, buildMade), g.grade(cachedCases, func(s *core.Spec) { s.Limits.Memory = 1 << 27 }))
	assert.Equal(t, did(checkerMade, buildMade), g.grade(cachedCases, func(s *core.Spec) {
		h := g.blobs.put("other harness", string(g.blobs.files[s.Harness.Digest]))
		s.Harness = &h
	}))
	assert.Equal(t, did(checkerKept, buildKept), g.grade(cachedCases, nil))
}

// Without the word in the file only the checker is kept.
func TestSuite_BuildsAnewUnlessToldOtherwise(t *testing.T) {
	t.Parallel()
	g := newGradings(t, nil)
	cases := strings.ReplaceAll(cachedCases, "build_cache: true\n", "")
	build := []string{"run make", "keep built"}
	assert.Equal(t, did(checkerMade, build), g.grade(cases, nil))
	assert.Equal(t, did(checkerKept, build), g.grade(cases, nil))
	assert.Len(t, g.states(), 1)
}

// A build that fails is not kept.
func TestSuite_KeepsNoFailedBuild(t *testing.T) {
	t.Parallel()
	g := newGradings(t, nil)
	g.script.run = answers(map[string]agent.Exit{"make": {Code: 2}, "cc": {}}, nil)
	for n := range 2 {
		spec := g.stock(map[string]string{"cases.yaml": cachedCases, "check": "#!/bin/sh"})
		spec.ID = fmt.Sprint("r", n)
		g.submit(spec)
		assert.Contains(t, g.result().Tests[0].Message, "exit code 2")
		assert.Contains(t, g.vms[n].did, "run make")
		assert.Len(t, g.states(), 1, "the checker")
	}
}

// Whatever is wrong with what was kept, it is built again, with the same result.
func TestSuite_BuildsAgainWhatIsDamaged(t *testing.T) {
	t.Parallel()
	now := clock.NewManual(time.UnixMilli(1_800_000_000_000))
	g := newGradings(t, func(_ *testrunner.Config, d *testrunner.Deps) { d.Clock = now })
	made, kept := did(checkerMade, buildMade), did(checkerKept, buildKept)
	assert.Equal(t, made, g.grade(cachedCases, nil))
	spoil := func(f func([]byte) []byte) {
		require.Len(t, g.states(), 2)
		for _, name := range g.states() {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(name, f(text), 0o600))
		}
	}
	for name, f := range map[string]func([]byte) []byte{
		"cut":     func(b []byte) []byte { return b[:len(b)-1] },
		"longer":  func(b []byte) []byte { return append(b, 'x') },
		"changed": func(b []byte) []byte { return bytes.Replace(b, []byte("state"), []byte("stale"), 1) },
		"younger": func(b []byte) []byte { b[39]++; return b },
		"empty":   func([]byte) []byte { return nil },
	} {
		spoil(f)
		assert.Equal(t, made, g.grade(cachedCases, nil), name)
		assert.Equal(t, kept, g.grade(cachedCases, nil), name)
		g.cluster.AddVMs(t, 2)
	}
	now.Advance(24*time.Hour - time.Millisecond)
	assert.Equal(t, kept, g.grade(cachedCases, nil), "a day old")
	now.Advance(time.Millisecond)
	assert.Equal(t, made, g.grade(cachedCases, nil), "older")
}

// A VM that refuses what was kept builds it.
func TestSuite_BuildsWhatVMsRefuse(t *testing.T) {
	t.Parallel()
	g := newGradings(t, nil)
	g.grade(cachedCases, nil)
	g.script.take = core.Errorf(core.CodeInvalid, "vm", "the state is no state")
	again := did(append(slices.Clone(checkerKept), checkerMade...), append(slices.Clone(buildKept), buildMade...))
	assert.Equal(t, again, g.grade(cachedCases, nil))
	g.script.give = core.Errorf(core.CodeLimit, "vm", "it is too large")
	assert.Equal(t, again, g.grade(cachedCases, nil))
	assert.Empty(t, g.states(), "neither what was refused, nor what was not given, nor a part of it")
}

// The least recently used states are removed.
func TestSuite_KeepsAsManyBuildsAsFit(t *testing.T) {
	t.Parallel()
	g := newGradings(t, func(c *testrunner.Config, _ *testrunner.Deps) { c.BuildsBytes = 57 + 2*55 })
	file := func(text string) func(*core.Spec) {
		return func(s *core.Spec) { s.Files[0].Digest = g.blobs.put(text, "the submission").Digest }
	}
	stays := did(checkerKept, buildKept)
	g.grade(cachedCases, file("a"))
	assert.Equal(t, did(checkerKept, buildMade), g.grade(cachedCases, file("b")))
	assert.Equal(t, stays, g.grade(cachedCases, file("a")), "it is used")
	g.grade(cachedCases, file("c"))
	assert.Len(t, g.states(), 3)
	assert.Equal(t, stays, g.grade(cachedCases, file("a")))
	assert.Equal(t, did(checkerKept, buildMade), g.grade(cachedCases, file("b")), "it had to go for c")
}
