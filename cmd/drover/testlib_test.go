package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest/tier"
)

// gradeFiles writes a harness folder and has it grade a submission in VMs of the pool judges.
func (h *testCluster) gradeFiles(files map[string]string, submission string) core.Result {
	h.t.Helper()
	dir, sent := h.t.TempDir(), h.t.TempDir()
	for name, text := range files {
		require.NoError(h.t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(h.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	require.NoError(h.t, os.WriteFile(filepath.Join(sent, "prog.sh"), []byte(submission), 0o600))
	result, _ := h.grade("judges", dir, sent)
	return result
}

// judges starts a cluster with a pool that has time and room for compilers.
func judges(t *testing.T) *testCluster {
	t.Helper()
	h := newTestCluster(t)
	up := h.up()
	t.Cleanup(up.stop)
	_, stderr, code := h.run("pool", "set", "--memory", "512M", "--disk", "256M", "--timeout", "5m", "--max", "2", "--peer", "judges")
	require.Zero(t, code, stderr)
	return h
}

// ends are the verdicts of the tests, with their points.
func ends(r core.Result) map[string]string {
	all := map[string]string{}
	for _, one := range r.Tests {
		all[one.Name] = fmt.Sprintf("%s %g", one.Verdict, one.Score)
	}
	return all
}

// Programs that keep to testlib's convention (arguments, exit codes, the last line of standard error) judge in VMs: the
// interactor writes a file, which the checker judges.
func TestTestlibConvention(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := judges(t)
	found := h.gradeFiles(map[string]string{
		"cases.yaml": `
run: sh prog.sh
interactor: {files: [talk.sh], run: [sh, talk.sh], testlib: true}
checker: {files: [check.sh], run: [sh, check.sh], testlib: true}
tests:
  - {name: echo, input: "1 2", output: "1 2", compare: interactor}
  - {name: echo badly, input: "1 3", output: "1 2", compare: interactor}
  - {name: half, input: "half 4", output: "points 4 half of it", points: 8, compare: checker}
  - {name: quarter, input: x, output: "partially correct (50) a quarter", points: 8, compare: checker}
  - {name: format, input: x, output: "wrong output format", compare: checker}
`,
		"talk.sh":  "cat \"$1\"; echo\nread -r heard\necho \"$heard\" >\"$2\"\necho 'ok it talked' >&2\n",
		"check.sh": "echo debugging\nread -r right <\"$3\"\necho debugging >&2\ncase $right in\npoints*) echo \"$right\" >&2; exit 7 ;;\npart*) echo \"$right\" >&2; exit 50 ;;\n*format) echo \"$right\" >&2; exit 2 ;;\nesac\ncmp \"$2\" \"$3\" >/dev/null 2>&1 || [ \"$(cat \"$2\")\" = \"$right\" ] || { echo 'wrong answer they differ' >&2; exit 1; }\necho ok >&2\n",
	}, "read -r line; echo \"$line\"\n")
	require.Equal(t, map[string]string{
		"echo": "accepted 1", "echo badly": "wrong answer 0", "half": "wrong answer 4", "quarter": "wrong answer 2", "format": "wrong answer 0",
	}, ends(found), found.Reason)
	messages := map[string]string{}
	for _, one := range found.Tests {
		messages[one.Name] = one.Message
	}
	assert.Contains(t, messages["echo badly"], "wrong answer they differ")
	assert.Contains(t, messages["half"], "a share of 0.5")
}

// The checkers, the interactor and a validator that come with testlib, built with its header, are what they are: a folder
// with testlib is named by DROVER_TESTLIB, since drover contains none.
func TestTestlibItself(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("DROVER_TESTLIB")
	if folder == "" {
		t.Skip("DROVER_TESTLIB names no folder with testlib: https://github.com/MikeMirzayanov/testlib")
	}
	read := func(name string) string {
		raw, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
		require.NoError(t, err)
		return string(raw)
	}
	h := judges(t)
	header := read("testlib.h")
	// What each accepts and refuses: printed, right.
	type pair [2]string
	numbers, words, bits := [2]pair{{"1 2\n3", "1 2 3"}, {"1 2 4", "1 2 3"}}, [2]pair{{"a  b\nc", "a b c"}, {"a b", "a b c"}}, [2]pair{{"YES", "yes"}, {"no", "yes"}}
	real := [2]pair{{"1.00000000001", "1"}, {"1.1", "1"}}
	one := [2]pair{{"7", "7"}, {"8", "7"}}
	all := map[string][2]pair{
		"acmp": real, "dcmp": real, "rcmp": real, "rcmp4": real, "rcmp6": real, "rcmp9": real, "rncmp": real,
		"icmp": one, "hcmp": one, "ncmp": numbers, "uncmp": {{"3 2 1", "1 2 3"}, {"3 2 2", "1 2 3"}}, "wcmp": words,
		"fcmp": {{"a b\n", "a b\n"}, {"a  b\n", "a b\n"}}, "lcmp": {{"a  b\n", "a b\n"}, {"a\nb\n", "a b\n"}},
		"yesno": bits, "nyesno": {{"yes NO", "YES no"}, {"yes yes", "YES no"}},
		"caseicmp": {{"Case 1: 5\n", "Case 1: 5\n"}, {"Case 1: 6\n", "Case 1: 5\n"}},
		"casencmp": {{"Case 1: 5 6\n", "Case 1: 5 6\n"}, {"Case 1: 5\n", "Case 1: 5 6\n"}},
		"casewcmp": {{"Case 1: a b\n", "Case 1: a b\n"}, {"Case 1: a\n", "Case 1: a b\n"}},
	}
	shipped, err := filepath.Glob(filepath.Join(folder, "checkers", "*.cpp"))
	require.NoError(t, err)
	for _, at := range shipped {
		name := strings.TrimSuffix(filepath.Base(at), ".cpp")
		if name == "pointscmp" || name == "pointsinfo" {
			continue // below
		}
		require.Contains(t, slices.Collect(maps.Keys(all)), name)
		found := h.gradeFiles(map[string]string{
			"cases.yaml": fmt.Sprintf("run: cat\ncompare: checker\nchecker: {files: [check.cpp, testlib.h], build: g++ -o check check.cpp, run: [./check], testlib: true}\ntests:\n- {name: right, input: %q, output: %q}\n- {name: wrong, input: %q, output: %q}\n",
				all[name][0][0], all[name][0][1], all[name][1][0], all[name][1][1]),
			"check.cpp": read("checkers/" + name + ".cpp"), "testlib.h": header,
		}, "")
		assert.Equal(t, map[string]string{"right": "accepted 1", "wrong": "wrong answer 0"}, ends(found), "%s %s", name, found.Reason)
	}
	const scored = `#include "testlib.h"
int main(int argc, char *argv[]) {
    registerTestlibCmd(argc, argv);
    switch (ouf.readInt()) {
    case 1: quitp(2.5, "of eight");
    case 2: quitp(8);
    case 3: quitf(_pc(50), "a quarter");
    case 4: quitf(_pc(0), "nothing");
    case 5: quitf(_fail, "the author's fault");
    }
    quitf(_ok, "all");
}
`
	found := h.gradeFiles(map[string]string{"cases.yaml": `
run: cat
compare: checker
checker: {files: [check.cpp, testlib.h], build: g++ -o check check.cpp, run: [./check], testlib: true}
tests:
- {name: some, input: 1, points: 8}
- {name: most, input: 2, points: 8}
- {name: quarter, input: 3, points: 8}
- {name: nothing, input: 4, points: 8}
- {name: all, input: 6, points: 8}
- {name: dirt, input: 6 6, points: 8}
- {name: text, input: six, points: 8}
`, "check.cpp": scored, "testlib.h": header}, "")
	assert.Equal(t, map[string]string{
		"some": "wrong answer 2.5", "most": "accepted 8", "quarter": "wrong answer 2", "nothing": "wrong answer 0", "all": "accepted 8",
		"dirt": "wrong answer 0", "text": "wrong answer 0",
	}, ends(found), found.Reason)

	for submission, want := range map[string]string{
		"while read -r a b; do echo $((a + b)); done":                  "accepted 1",
		"while read -r a b; do echo $((a - b)); done":                  "wrong answer 0", // the checker
		"read -r a b; echo $((a + b)); exit 0":                         "wrong answer 0", // the interactor
		"while read -r a b; do echo $((a + b)); done; kill -SEGV $$\n": "runtime error 0",
	} {
		found = h.gradeFiles(map[string]string{"cases.yaml": `
run: sh prog.sh
compare: interactor
interactor: {files: [interactor.cpp, testlib.h], build: g++ -o interactor interactor.cpp, run: [./interactor], testlib: true}
checker: {files: [check.cpp, testlib.h], build: g++ -o check check.cpp, run: [./check], testlib: true}
tests: [{name: sums, input: "2 1 2 30 40", output: "3 70"}]
`, "interactor.cpp": read("interactors/interactor-a-plus-b.cpp"), "check.cpp": read("checkers/ncmp.cpp"), "testlib.h": header}, submission)
		assert.Equal(t, map[string]string{"sums": want}, ends(found), "%s: %s", submission, found.Reason)
	}
}
