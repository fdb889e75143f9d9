package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/core/coretest/tier"
	"drover/core/harness"
	"drover/core/images"
	"drover/core/images/imagetest"
	"drover/core/requests"
	"drover/vmfactory/lxc"
)

// gradingPools are a pool of each provider, alike in all else.
var gradingPools = []string{"here", "contained"}

// gradingCluster is a cluster with a pool of provider local and one of provider lxc,
// whose VMs are made of Debian packages.
func gradingCluster(t *testing.T) (*testCluster, core.Image) {
	t.Helper()
	if os.Geteuid() != 0 {
		coretest.Missing(t, "root", nil)
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		coretest.Missing(t, "gcc, which VMs of provider local use", err)
	}
	h := newTestCluster(t)
	image := imagetest.Debian(t, images.Store{Images: h.cluster.Store, Blobs: h.cluster.Blobs}, "languages", imagetest.Languages...)
	h.withContainers()
	up := h.up()
	t.Cleanup(up.stop)
	for _, args := range [][]string{
		{"here", "--provider", "local"},
		{"contained", "--provider", lxc.Name, "--image", image.Name},
	} {
		_, stderr, code := h.run(append([]string{"pool", "set", "--memory", "512M", "--disk", "256M", "--timeout", "2m", "--warm", "1", "--max", "2"}, args...)...)
		require.Zero(t, code, stderr)
	}
	return h, image
}

// grade has a submission graded and returns its result, which has the fields of
// every harness's, also as it was printed.
func (h *testCluster) grade(pool, harness, submission string) (core.Result, string) {
	h.t.Helper()
	stdout, stderr, code := h.run("submit", "--json", "--pool", pool, "--harness", harness, "--submission", submission)
	require.Zero(h.t, code, "%s%s", stdout, stderr)
	var v requests.View
	read := json.NewDecoder(strings.NewReader(stdout))
	read.DisallowUnknownFields()
	require.NoError(h.t, read.Decode(&v))
	return v.Result, stdout
}

// comparable is a result without what must differ between two gradings.
func comparable(r core.Result) core.Result {
	r.ID, r.Pool, r.VM, r.Token, r.Image = "", "", "", "", ""
	r.Times, r.Usage, r.HeldBy = core.Times{}, core.Usage{}, nil
	if r.Receipt != nil {
		receipt := *r.Receipt
		receipt.Noise, receipt.BuildMs, receipt.AgainMs = nil, 0, 0
		r.Receipt = &receipt
	}
	r.Stdout = "" // the same in the harness's form
	for i := range r.Tests {
		r.Tests[i].Usage, r.Tests[i].Checked = nil, nil
	}
	return r
}

// What each test of testdata/every-case ends with.
var everyCase = map[string]string{
	"adds": "accepted", "takes arguments": "accepted", "reads a file": "accepted", "is given a header": "accepted",
	"leaves a process": "accepted", "finds nothing": "accepted", "has room": "accepted", "should complain": "accepted",
	"computes too long": "time limit", "sleeps too long": "time limit", "takes too much": "memory limit", "forks too much": "process limit",
	"prints too much": "output limit", "crashes": "runtime error", "any order will do": "accepted", "not these": "wrong answer",
	"secret/spills": "wrong answer", "secret/crashes": "runtime error", "large/many": "accepted", "large/none": "accepted",
}

// TestGradingInContainers grades in containers of Debian packages: what is compiled, and what is interpreted.
func TestGradingInContainers(t *testing.T) {
	t.Parallel() // the image takes minutes to build
	tier.OnlyInAll(t, tier.LXC)
	h, image := gradingCluster(t)
	t.Run("cases", func(t *testing.T) { gradeCases(t, h, image) })
	t.Run("python", func(t *testing.T) { gradePython(t, h) })
}

// gradeCases grades a whole cases.yaml, which a VM of provider local does alike.
func gradeCases(t *testing.T, h *testCluster, image core.Image) {
	t.Helper()
	const folder = "testdata/every-case/"
	for _, submission := range []string{"complete", "broken"} {
		first, _ := h.grade(gradingPools[0], folder+"harness", folder+submission)
		second, printed := h.grade(gradingPools[1], folder+"harness", folder+submission)
		assert.Equal(t, image.Digest, second.Image)
		assert.NotEqual(t, image.Digest, first.Image)
		if submission == "broken" {
			assert.Equal(t, comparable(first), comparable(second))
			assert.Equal(t, harness.BuildError, harness.VerdictOf(&second))
			assert.Contains(t, printed, "expected", "what the compiler says")
			assert.Zero(t, *second.Score)
			continue
		}
		got := map[string]string{}
		for _, one := range second.Tests {
			got[one.Name] = one.Verdict
			assert.Equal(t, one.Group != "", one.Hidden, one.Name)
			assert.NotNil(t, one.Usage, one.Name)
		}
		assert.Equal(t, comparable(first), comparable(second))
		assert.Equal(t, everyCase, got)
		assert.InDelta(t, 12, *second.Score, 0) // nine tests of one point, and a group of three
		assert.InDelta(t, 24, *second.MaxScore, 0)
		assert.Contains(t, printed, "3 should not be there", "the checker's words, of a public test")
		assert.Contains(t, printed, "Look at the empty line.")
		for _, secret := range []string{"SPILLED", "SECRET-INPUT", "SECRET-ANSWER", "SIGSEGV\n"} {
			assert.NotContains(t, printed, secret)
		}
	}
}

func gradePython(t *testing.T, h *testCluster) {
	t.Helper()
	dir := t.TempDir()
	folder, file := filepath.Join(dir, "harness"), filepath.Join(dir, "sum.py")
	require.NoError(t, os.Mkdir(folder, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "cases.yaml"), []byte("run: [python3, sum.py]\ntests:\n  - {input: \"-4 9\\n\", output: 5}\n"), 0o600))
	require.NoError(t, os.WriteFile(file, []byte("print(sum(map(int, input().split())))\n"), 0o600))
	r, printed := h.grade(gradingPools[1], folder, file)
	assert.Equal(t, harness.Passed, harness.VerdictOf(&r), printed)
}
