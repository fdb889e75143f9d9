package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"drover/core"
	"drover/core/blobs/pack"
	"drover/core/harness"
	"drover/core/harness/cases"
	"drover/core/requests"
	"drover/core/requests/intake"
)

// sumProgram is what the gradings test: it adds two numbers.
const sumProgram = "read -r a b\necho $((a + b))\n"

const sumFile = "sum.sh"

// sumTest is the input of a test of sumProgram, and the output.
func sumTest(i int) (input, output string) {
	return fmt.Sprintf("%d %d\n", i, 2*i), fmt.Sprintf("%d\n", 3*i)
}

// sumCases are so many tests of sumProgram.
func sumCases(tests int) string {
	var text strings.Builder
	text.WriteString("run: [sh, " + sumFile + "]\nlimits: {time: 1s, memory: 32M, output: 64K, pids: 8}\ntests:\n")
	for i := range tests {
		input, output := sumTest(i)
		fmt.Fprintf(&text, "  - {name: sum %d, input: %q, output: %q}\n", i+1, input, output)
	}
	return text.String()
}

// pack makes the harness.
func (k *kind) pack(pool string, tests int) error {
	p, err := harness.PackFiles(map[string]pack.File{cases.File: {Content: []byte(sumCases(tests))}})
	k.draft = func() requests.Draft {
		return requests.Draft{Pool: pool, Input: harness.NewInput(p.Config, harness.TestPublic), Files: files(
			intake.Upload{Part: intake.PartHarness, Path: harness.TarFile, Content: p.Tar()},
			intake.Upload{Path: sumFile, Content: strings.NewReader(sumProgram)},
		)}
	}
	return err
}

// byThemselves has the programs of all tests run by this process, in a folder.
func (k *kind) byThemselves(dir string) error {
	err := os.WriteFile(filepath.Join(dir, sumFile), []byte(sumProgram), 0o600)
	k.bare = func(ctx context.Context) (time.Duration, error) {
		began := time.Now()
		for i := range manyTests {
			input, output := sumTest(i)
			one := exec.CommandContext(ctx, "sh", sumFile)
			one.Dir, one.Stdin = dir, strings.NewReader(input)
			if out, err := one.Output(); err != nil || string(out) != output {
				return 0, core.Errorf(core.CodeUnavailable, sumFile, "a program of the tests prints %q by itself, not %q: %v", out, output, err)
			}
		}
		return time.Since(began), nil
	}
	return core.Wrap(err, core.CodeUnavailable, sumFile, "the files of the jobs cannot be written")
}
