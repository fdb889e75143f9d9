// Command tiers runs a tier of the tests and prints what go test -json prints, and lines of its own, for gotestsum
// --ignore-non-json-output-lines:
//
//	tiers test        the tests of make test
//	tiers all         all tests
//	tiers shard       one part of those that make test leaves out
//	tiers list        those that make test leaves out, a line each
//
// The tests that make test leaves out are those that call tier.OnlyInAll (package core/coretest/tier).
// A name of a test as -test.run and a package after it, as gotestsum appends them, run that test alone.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	module  = "drover/"
	withLXC = ",lxc" // after the other build tags
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		if !errors.Is(err, errFailed) {
			fmt.Fprintln(os.Stderr, "tiers:", err)
		}
		stop()
		os.Exit(1)
	}
}

// errFailed says that go test failed. It has told why: gotestsum runs no test again after a line on standard error.
var errFailed = errors.New("go test failed")

// options are the flags of all tiers.
type options struct {
	race   bool
	of     int           // shards
	number int           // which of them, modulo of
	budget time.Duration // after which a shard takes no more tests
	test   string        // the only test to run
}

func run(ctx context.Context, args []string) error {
	const usage = "tiers test|all|shard|list"
	if len(args) == 0 {
		return errors.New(usage)
	}
	var o options
	flags := flag.NewFlagSet("tiers", flag.ContinueOnError)
	flags.BoolVar(&o.race, "race", false, "test the packages of race.go under the race detector")
	flags.IntVar(&o.of, "of", 1, "shards that there are")
	flags.IntVar(&o.number, "number", 0, "number of the shard, taken modulo -of")
	flags.DurationVar(&o.budget, "budget", time.Hour, "time after which a shard takes no more tests")
	flags.StringVar(&o.test, "test.run", "", "run this test alone, of the package after the flags")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if o.of < 1 || o.number < 0 {
		return errors.New("-of must be at least 1, and -number at least 0")
	}
	packages, err := listPackages(ctx)
	if err != nil {
		return err
	}
	r := &runner{out: os.Stdout, about: os.Stdout, race: o.race && haveCompiler(), lxc: haveLXC()}
	short := args[0] == "test"
	switch {
	case o.test != "":
		return r.runOne(ctx, short, o.test, flags.Args())
	case args[0] == "test", args[0] == "all":
		return r.runPackages(ctx, short, packages)
	case args[0] == "shard":
		units, err := cut(packages, r.race)
		if err != nil {
			return err
		}
		return r.runShard(ctx, pick(units, o.number, o.of), o.budget)
	case args[0] == "list":
		return list(r.out, packages)
	default:
		return errors.New(usage)
	}
}

// pkg is a package with tests.
type pkg struct {
	path  string // drover/core/worker
	files []string
}

// listPackages returns the packages of the module that have tests, with provider lxc's.
func listPackages(ctx context.Context) ([]pkg, error) {
	const form = `{{$dir := .Dir}}{{.ImportPath}}{{range .TestGoFiles}} {{$dir}}/{{.}}{{end}}{{range .XTestGoFiles}} {{$dir}}/{{.}}{{end}}`
	cmd := exec.CommandContext(ctx, "go", "list", "-tags="+tags()+withLXC, "-f", form, "./...")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var all []pkg
	for line := range strings.Lines(string(out)) {
		if words := strings.Fields(line); len(words) > 1 {
			all = append(all, pkg{words[0], words[1:]})
		}
	}
	return all, nil
}

// runner runs go test, several at once where there is nothing to order them.
type runner struct {
	race, lxc bool

	mu    sync.Mutex
	out   io.Writer
	about io.Writer // what go test has on standard error, such as downloads
}

// runPackages runs packages that are tested in the same way by one go test, which orders them.
func (r *runner) runPackages(ctx context.Context, short bool, all []pkg) error {
	var plain, raced, containers job
	var units []unit // long tests of raced packages
	for _, p := range all {
		switch {
		case r.needsLXC(p.path, short):
			containers.packages = append(containers.packages, p.path)
		case r.race && isRaced(p.path):
			raced.packages = append(raced.packages, p.path)
			if short {
				continue
			}
			tests, err := markedTests(p.files)
			if err != nil {
				return err
			}
			units = append(units, longUnits(p.path, tests)...)
		default:
			plain.packages = append(plain.packages, p.path)
		}
	}
	var long []string
	for _, u := range units {
		long = append(long, u.tests...)
	}
	raced.race, raced.skip = true, anyOf(long)
	var failed error
	for _, j := range []job{plain, raced, containers} {
		if j.short = short; len(j.packages) > 0 {
			failed = errors.Join(failed, r.goTest(ctx, j))
		}
	}
	return errors.Join(failed, r.runUnits(ctx, units))
}

// runOne runs one test again.
func (r *runner) runOne(ctx context.Context, short bool, test string, packages []string) error {
	if len(packages) != 1 {
		return errors.New("name one package after -test.run")
	}
	r.about = io.Discard // gotestsum reads nothing but JSON of a test that it runs again
	return r.goTest(ctx, job{short: short, race: r.race && isRaced(packages[0]), run: test, packages: packages})
}

// needsLXC says that a package has tests that make containers of provider lxc, which is built with cgo.
func (r *runner) needsLXC(path string, short bool) bool {
	return r.lxc && !short && slices.Contains([]string{module + "vmfactory/lxc", module + "cmd/drover"}, path)
}

// job is one go test.
type job struct {
	short, race bool
	run, skip   string // regular expressions; "" for all and none
	packages    []string
}

func (r *runner) goTest(ctx context.Context, j job) error {
	cgo := "0"
	// go vet is one of the linters; a debugger's tables in some eighty test binaries are for nobody.
	args := []string{"test", "-json", "-vet=off", "-ldflags=-w", "-shuffle=on", "-timeout=30m", "-run=" + j.run, "-skip=" + j.skip}
	// Packages tested at once: many wait for servers and VMs more than they compute.
	args = append(args, fmt.Sprintf("-p=%d", runtime.NumCPU()+1), fmt.Sprintf("-short=%t", j.short))
	switch {
	case r.needsLXC(j.packages[0], j.short):
		args, cgo = append(args, "-tags="+tags()+withLXC), "1"
	case j.race:
		args, cgo = append(args, "-race"), "1"
		for _, p := range unwatched {
			args = append(args, "-gcflags="+p+"=-race=false")
		}
	}
	cmd := exec.CommandContext(ctx, "go", append(args, j.packages...)...)
	cmd.Env, cmd.Stderr = append(os.Environ(), "CGO_ENABLED="+cgo), r.about
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // go test ends its tests by it
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	copied, ended := r.copyLines(out), cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(ended, &exit) {
		ended = errFailed
	}
	return errors.Join(copied, ended)
}

// tags are the build tags of the environment, which the Makefile sets.
func tags() string {
	for word := range strings.FieldsSeq(os.Getenv("GOFLAGS")) {
		if tags, is := strings.CutPrefix(word, "-tags="); is {
			return tags
		}
	}
	return ""
}

// copyLines writes whole lines, so that those of several go test may mix.
func (r *runner) copyLines(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			r.mu.Lock()
			_, failed := r.out.Write(append(bytes.TrimSuffix(line, []byte("\n")), '\n'))
			r.mu.Unlock()
			err = errors.Join(err, failed)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// haveCompiler says whether the race detector can be used, which needs a C compiler and its headers.
func haveCompiler() bool {
	_, noGCC := exec.LookPath("gcc")
	_, noHeaders := os.Stat("/usr/include/stdlib.h")
	if noGCC != nil || noHeaders != nil {
		fmt.Fprintln(os.Stderr, "no C compiler: the race detector is off")
		return false
	}
	return true
}

func haveLXC() bool {
	_, err := os.Stat("/usr/include/lxc/lxccontainer.h")
	return err == nil
}
