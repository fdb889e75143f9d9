package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"drover/core"
	"drover/core/requests"
	"drover/core/requests/intake"
)

// The kinds of jobs.
const (
	kindTrue  = "true"  // a program that does nothing
	kindLine  = "line"  // a program that prints a line
	kindC     = "c"     // a program in C that prints a line and computes for 50 ms
	kindCases = "cases" // a grading of 20 tests by the stock harness
	kindTests = "tests" // the same of 100 tests, in turns with the programs by themselves; only if it is asked for
)

func kindNames() []string { return []string{kindTrue, kindLine, kindC, kindCases, kindTests} }

// kind is a kind of jobs.
type kind struct {
	name  string
	draft func() requests.Draft
	bare  func(context.Context) (time.Duration, error) // runs what a job runs without drover; nil: that is not measured
	why   string                                       // it cannot be run here; "" if it can
}

// program50 uses 50 ms of processor time, on any processor.
const program50 = `#include <stdio.h>
#include <time.h>

int main(void)
{
	volatile unsigned long n = 0;

	puts("begun");
	fflush(stdout);
	while (clock() < CLOCKS_PER_SEC / 20)
		for (int i = 0; i < 10000; i++)
			n++;
	return 0;
}
`

// The tests of the kinds with tests.
const (
	fewTests  = 20
	manyTests = 100
)

// kinds makes the kinds that were asked for, with their files in a folder of dir.
func (b jobsBench) kinds(ctx context.Context, dir string) ([]kind, error) {
	dir = filepath.Join(dir, "files")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, dir, "the files of the jobs cannot be written")
	}
	var all []kind
	for _, name := range kindNames() {
		if asked := slices.Contains(b.Only, name); !asked && (len(b.Only) > 0 || name == kindTests) {
			continue
		}
		k := kind{name: name}
		var err error
		switch name {
		case kindTrue:
			k.draft = func() requests.Draft { return requests.Draft{Pool: b.Pool, Command: []string{"true"}} }
		case kindLine:
			k.draft = func() requests.Draft { return requests.Draft{Pool: b.Pool, Command: []string{"echo", "begun"}} }
		case kindC:
			err = k.compile(ctx, dir, b.Pool)
		case kindCases:
			err = k.pack(b.Pool, fewTests)
		case kindTests:
			if err = k.pack(b.Pool, manyTests); err == nil {
				err = k.byThemselves(dir)
			}
		}
		if err != nil {
			return nil, err
		}
		if k.why != "" && len(b.Only) > 0 {
			return nil, core.Errorf(core.CodeUnavailable, "only", "jobs of the kind %s cannot be run: %s", k.name, k.why)
		}
		all = append(all, k)
	}
	return all, nil
}

// compile makes the program of 50 ms, once for all jobs.
func (k *kind) compile(ctx context.Context, dir, pool string) error {
	cc, err := exec.LookPath("cc")
	if err != nil {
		k.why = "there is no C compiler on this machine: apt-get install gcc libc6-dev"
		return nil //nolint:nilerr // the other kinds need none
	}
	source, program := filepath.Join(dir, "work.c"), filepath.Join(dir, "work")
	if err := os.WriteFile(source, []byte(program50), 0o600); err != nil {
		return core.Wrap(err, core.CodeUnavailable, source, "the files of the jobs cannot be written")
	}
	if out, err := exec.CommandContext(ctx, cc, "-std=c99", "-O1", "-o", program, source).CombinedOutput(); err != nil {
		k.why = fmt.Sprintf("%s does not compile a program: %s", cc, bytes.TrimSpace(out))
		return nil //nolint:nilerr // likewise
	}
	content, err := os.ReadFile(program)
	k.draft = func() requests.Draft {
		return requests.Draft{Pool: pool, Command: []string{"./work"}, Files: files(intake.Upload{Path: "work", Mode: 0o755, Content: bytes.NewReader(content)})}
	}
	return core.Wrap(err, core.CodeUnavailable, program, "the files of the jobs cannot be read")
}

// files yields uploads.
func files(all ...intake.Upload) func(func(intake.Upload, error) bool) {
	return func(yield func(intake.Upload, error) bool) {
		for _, one := range all {
			if !yield(one, nil) {
				return
			}
		}
	}
}
