package examples_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/blobs/pack"
	"drover/core/coretest/tier"
	"drover/core/harness"
)

// hostile are the submissions that use up what they share with their judge, in each language of the examples.
var hostile = map[string]map[string]string{
	"silent":     {".c": "#include <unistd.h>\nint main(void) { sleep(1000); }\n", ".py": "import time\ntime.sleep(1000)\n", ".sh": "sleep 1000\n"},
	"flooding":   {".c": "#include <stdio.h>\nint main(void) { for (;;) puts(\"1\"); }\n", ".py": "import os\nwhile True: os.write(1, b'1\\n' * 5000)\n", ".sh": "yes 1\n"},
	"chattering": {".c": "#include <stdio.h>\nint main(void) { for (;;) { puts(\"1\"); fflush(stdout); getchar(); } }\n", ".py": "import sys\nwhile True: print(1, flush=True); sys.stdin.readline()\n", ".sh": "while :; do echo 1; read -r reply; done\n"},
	"asking": { // as much as it may, and then it waits
		".c":  "#include <stdio.h>\n#include <unistd.h>\nint main(void) { for (int i = 0; i < 32000; i++) puts(\"1\"); fflush(stdout); sleep(1000); }\n",
		".py": "import time\nprint('1\\n' * 32000, end='', flush=True)\ntime.sleep(1000)\n",
		".sh": "yes 1 | head -n 32000\nsleep 1000\n",
	},
	"slow": {".c": "#include <stdio.h>\n#include <unistd.h>\nint main(void) { for (;;) { putchar('1'); fflush(stdout); usleep(100000); } }\n", ".py": "import time\nwhile True: print(1, end='', flush=True); time.sleep(0.1)\n", ".sh": "while :; do printf 1; sleep 0.1; done\n"},
}

// judged is a way of judging: an example, or a harness of files.
type judged struct {
	example string // its folder; "" for files
	files   map[string]string
	peer    bool
	submit  string // the file that is submitted
}

const within = "limits: {time: 1s, wall: 2s, output: 64K}\n"

// waysOfJudging are those that the examples do not show, with limits of the judges that a submission can use up.
var waysOfJudging = map[string]judged{
	"interactor that answers all": {peer: true, files: map[string]string{
		"cases.yaml": "run: [sh, s.sh]\n" + within + "compare: interactor\ninteractor: {files: [i.sh], run: [sh, i.sh], limits: {time: 2s, wall: 2s, output: 64K}}\ntests: [{input: '5'}]\n",
		"i.sh":       "while read -r asked; do echo no, that is not the one, try something larger; done\nexit 43\n",
	}},
	"interactor of testlib": {peer: true, files: map[string]string{
		"cases.yaml": "run: [sh, s.sh]\n" + within + "compare: interactor\ninteractor: {files: [i.sh], run: [sh, i.sh], testlib: true, limits: {time: 2s, wall: 2s, output: 64K}}\n" +
			"checker: {files: [c.sh], run: [sh, c.sh], testlib: true}\ntests: [{input: '5'}]\n",
		"i.sh": "while read -r asked; do echo \"$asked\"; echo \"$asked\" >>\"$2\"; done\nexit 0\n",
		"c.sh": "exit 0\n",
	}},
	"checker that says much": {files: map[string]string{
		"cases.yaml": "run: [sh, s.sh]\nlimits: {time: 1s, wall: 2s, output: 128K}\ncompare: checker\nchecker: {files: [c.sh], run: [sh, c.sh], limits: {time: 2s, output: 64K}}\ntests: [{input: '5'}]\n",
		"c.sh":       "sed 's/.*/this line is no answer: &/' output\nexit 43\n",
	}},
	"checker with two passes": {files: map[string]string{
		"cases.yaml": "run: [sh, s.sh]\n" + within + "compare: checker\nchecker: {files: [c.sh], run: [sh, c.sh], passes: 2, limits: {time: 2s}}\ntests: [{input: '5'}]\n",
		"c.sh":       "mkdir -p feedback\ncp output feedback/nextpass.in\nexit 42\n",
	}},
	"main without limits": {files: map[string]string{
		"harness.json": `{"drover/timeout": 5}`,
		"main":         "#!/bin/sh\ndrover-run --usage u -- sh \"$DROVER_SUBMISSION/s.sh\" >\"$DROVER_WORK/out\"\nprintf '{\"score\":0,\"max_score\":1,\"tests\":[]}'\n",
	}},
	"main in a VM of its own, without limits": {peer: true, files: map[string]string{
		"harness.json": `{"drover/timeout": 5, "drover/peer": true}`,
		"main":         "#!/bin/sh\ndrover-run --usage u -- sh \"$DROVER_SUBMISSION/s.sh\" >\"$DROVER_WORK/out\"\nprintf '{\"score\":0,\"max_score\":1,\"tests\":[]}'\n",
	}},
}

// Whatever a submission does to use up the limits of what judges it, the verdict is about the submission.
func TestAJudgesLimitsAreNotTheSubmissionsToUseUp(t *testing.T) {
	t.Parallel()
	for name, way := range waysOfJudging {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			way.submit = "s.sh"
			way.judge(t)
		})
	}
}

// The same of each example.
func TestExamplesJudgeHostileSubmissions(t *testing.T) { //nolint:paralleltest // it has the machine for itself
	tier.OnlyInAll(t, tier.Long)
	for example, submit := range map[string]string{"brackets": "brackets.c", "coins": "coins.py", "guess": "guess.py", "ledger": "ledger.sh", "shuffle": "sort.sh"} {
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			judged{example: example, submit: submit}.judge(t)
		})
	}
}

func (way judged) judge(t *testing.T) {
	t.Helper()
	about := assignment{Pool: core.DefaultPool("unset")}
	var harnessOf harness.Package
	var err error
	if way.example == "" {
		about.Pool.Name, about.Pool.Peer, about.Pool.Limits.Timeout = "exercise", way.peer, time.Minute
		files := map[string]pack.File{}
		for name, text := range way.files {
			files[name] = pack.File{Content: []byte(text), Run: name == harness.MainFile}
		}
		harnessOf, err = harness.PackFiles(files)
	} else {
		load(t, way.example+"/assignment.json", &about)
		harnessOf, err = harness.Pack(filepath.Join(way.example, "harness"))
	}
	require.NoError(t, err)
	files, submitted := &blobs{files: map[string][]byte{}}, map[string][]core.File{}
	for kind, sources := range hostile {
		one := files.put(way.submit, []byte(sources[filepath.Ext(way.submit)]))
		submitted[kind] = []core.File{one}
	}
	run, provider := host(t, "")
	for kind, got := range gradings(t, run, provider, about.Pool, harnessOf, files, submitted) {
		t.Logf("%-12s %-14s %6d ms, CPU %6d ms  %s", kind, harness.VerdictOf(got), got.Usage.WallMs, got.Usage.CPUMs, got.Reason)
		for _, one := range got.Tests {
			t.Logf("             %-14s %.120q", one.Verdict, one.Message)
		}
		assert.Contains(t, []harness.Verdict{harness.TimeLimit, harness.OutputLimit, harness.Failed, harness.Crashed}, harness.VerdictOf(got), kind)
		assert.NotEqual(t, core.BlameHarness, got.Blame, kind)
		assert.Equal(t, 1, got.Attempt, kind)
	}
}
