package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// The tiers of tests, as package tier has them.
const (
	tierTest = "test" // make test
	tierAll  = "all"  // what is left to make test-all
)

// notice is the first test that notices a bug. The zero value is none.
type notice struct{ tier, pkg, test string }

// hunt looks for tests that notice bugs.
type hunt struct {
	root, tier string     // the tree, and the last tier that may notice them
	tests      [][]string // packages with tests, each before all that its tests are made of
}

const tags, module, suffix = "-tags=urfave_cli_no_docs,", "drover/", ".test"

func (h *hunt) list(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "list", tags, "-test", "-f", `{{.ImportPath}} {{join .Deps " "}}`, "./...")
	cmd.Dir, cmd.Stderr = h.root, os.Stderr
	text, err := cmd.Output()
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); strings.HasSuffix(words[0], suffix) {
			h.tests = append(h.tests, words)
		}
	}
	return err
}

// testers returns the packages whose tests a package is compiled into: its own, and then those that are made of least.
func (h *hunt) testers(of string) (all []string) {
	with := slices.DeleteFunc(slices.Clone(h.tests), func(words []string) bool { return !slices.Contains(words, of) })
	far := func(words []string) int {
		if words[0] == of+suffix {
			return 0
		}
		return len(words)
	}
	slices.SortFunc(with, func(a, b []string) int { return cmp.Compare(far(a), far(b)) })
	for _, words := range with {
		all = append(all, strings.TrimSuffix(words[0], suffix))
	}
	return all
}

// packageOf returns the package that a file is compiled into: what it embeds may be below it.
func packageOf(root, file string) string {
	dir := filepath.Dir(file)
	for dir != "." {
		if code, _ := filepath.Glob(filepath.Join(root, dir, "*.go")); len(code) > 0 { // the pattern is good
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// leavesSome reports whether a package has tests that make test leaves out.
func (h *hunt) leavesSome(pkg string) bool {
	files, _ := filepath.Glob(filepath.Join(h.root, strings.TrimPrefix(pkg, module), "*_test.go")) // the pattern is good
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err != nil || strings.Contains(string(text), "tier.OnlyInAll(") || strings.Contains(string(text), "testing.Short()")
	})
}

// notice seeds a bug and runs the tests that may notice it, the nearest first.
func (h *hunt) notice(ctx context.Context, b *bug) error {
	text, err := b.seeded(h.root)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "m") // short: there are sockets below it
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a test that was ended may have left mounts there
	seeded, overlay := filepath.Join(dir, "seeded.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(h.root, b.file): seeded}})
	open := os.Chmod(dir, 0o711) //nolint:gosec // users of VMs go through it
	if err := errors.Join(err, open, os.WriteFile(seeded, []byte(text), 0o600), os.WriteFile(overlay, list, 0o600)); err != nil {
		return err
	}
	near := h.testers(module + packageOf(h.root, b.file))
	for _, tier := range []string{tierTest, tierAll} {
		for _, pkg := range near {
			if tier == tierAll && (h.tier == tierTest || !h.leavesSome(pkg)) {
				continue
			}
			r := run{root: h.root, dir: dir, overlay: overlay, tier: tier, pkg: pkg}
			if b.by, err = r.sure(ctx); err != nil || b.by.pkg != "" {
				return err
			}
		}
	}
	return nil
}

// run is a call of go test for a package.
type run struct {
	root, dir, overlay, tier, pkg string

	only string   // the test; "" for all
	skip []string // tests that do not count
}

// sure returns the test that notices a bug: it fails twice, and not without the bug.
func (r *run) sure(ctx context.Context) (notice, error) {
	for {
		n, err := r.first(ctx)
		if err != nil || n.pkg == "" {
			return n, err
		}
		once := *r
		once.only = n.test
		twice, err := once.first(ctx)
		once.overlay = ""
		without, failed := once.first(ctx)
		if err = errors.Join(err, failed); err != nil || twice.pkg != "" && without.pkg == "" {
			return n, err
		}
		fmt.Fprintln(os.Stderr, "fails without the bug, or not each time:", n)
		if r.skip = append(r.skip, n.test); n.test == "" {
			return notice{}, nil
		}
	}
}

// first runs the tests until one fails. One that hangs fails, too.
func (r *run) first(ctx context.Context) (n notice, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	args := []string{"test", tags, "-json", "-vet=off", "-ldflags=-w", "-failfast", "-timeout=20m", "-short=" + fmt.Sprint(r.tier == tierTest)}
	if r.only != "" {
		args = append(args, "-count=1", "-run=^"+r.only+"$")
	}
	if len(r.skip) > 0 {
		args = append(args, "-skip=^("+strings.Join(r.skip, "|")+")$")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, r.pkg)...)
	cmd.Dir, cmd.Env = r.root, append(os.Environ(), "CGO_ENABLED=0", "TMPDIR="+r.dir)
	if r.overlay != "" { // programs that tests build have the bug, too
		cmd.Env = append(cmd.Env, "GOFLAGS=-overlay="+r.overlay)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	said := ""
	for d := json.NewDecoder(out); err == nil; {
		var e struct{ Action, Package, Test, Output, FailedBuild string }
		err = d.Decode(&e)
		switch {
		case e.Action == "build-output":
			said += e.Output
		case e.FailedBuild != "":
			err = fmt.Errorf("%s does not compile: %s", e.FailedBuild, said)
		case e.Action == "fail" && n.pkg == "":
			test, _, _ := strings.Cut(e.Test, "/")
			n = notice{r.tier, e.Package, test}
			stop()
		}
	}
	if ended := cmd.Wait(); n.pkg == "" && (ended != nil || !errors.Is(err, io.EOF)) {
		return n, errors.Join(err, ended)
	}
	return n, nil
}
