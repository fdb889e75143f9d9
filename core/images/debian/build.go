// Package debian puts a root file system together from packages of Debian, or of
// a distribution made like it, with mmdebstrap or debootstrap.
package debian

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"drover/core"
	"drover/core/harness/languages"
	"drover/core/images"
	"drover/core/service/pattern"
)

// Spec says what to build.
type Spec struct {
	Suite    string   // such as bookworm
	Packages []string // beside those that every system has
	Mirror   string   // http, https or file URL; "" is Debian's own, with its security updates
	Docs     bool     // keep manuals, documents and translations

	Languages []languages.Language // their packages are installed, and hello in each must work

	// Autograder is the tar of a harness that is an autograder: setup.sh in its folder source is run in the new system, as
	// root and with the network.
	Autograder []byte

	setup string // file of Autograder while the system is built
}

// Upper bounds of a spec.
const (
	maxPackages = 500
	maxMirror   = 500
)

var (
	suitePattern   = pattern.New(`^[a-z][a-z0-9.-]{0,39}$`)
	packagePattern = pattern.New(`^[a-z0-9][a-z0-9+.-]{1,99}$`)
)

// Check returns an INVALID error that names the first invalid part.
func (s Spec) Check() error {
	switch {
	case !suitePattern().MatchString(s.Suite):
		return core.Errorf(core.CodeInvalid, s.Suite, "suite %q is none: name one such as bookworm", s.Suite)
	case len(s.Packages) > maxPackages:
		return core.Errorf(core.CodeInvalid, s.Suite, "%d packages are too many: name at most %d, the others come with them", len(s.Packages), maxPackages)
	}
	for _, p := range s.Packages {
		if !packagePattern().MatchString(p) {
			return core.Errorf(core.CodeInvalid, p, "%q is not the name of a package", p)
		}
	}
	if s.Mirror == "" {
		return nil
	}
	u, err := url.Parse(s.Mirror)
	if err != nil || len(s.Mirror) > maxMirror || strings.ContainsAny(s.Mirror, " \t\n") || !slices.Contains([]string{"http", "https", "file"}, u.Scheme) {
		return core.Errorf(core.CodeInvalid, "", "the mirror is not an http, https or file URL")
	}
	return nil
}

// Source describes an image of the spec for people. It leaves out a password in the mirror's URL.
func (s Spec) Source() string {
	text := "debian " + s.Suite
	if len(s.Packages) > 0 {
		text += " with " + strings.Join(s.Packages, " ")
	}
	if s.Autograder != nil {
		text += " for an autograder"
	}
	if len(s.Languages) > 0 {
		text += " for " + strings.Join(languages.Codes(s.Languages), " ")
	}
	if u, err := url.Parse(s.Mirror); err == nil && s.Mirror != "" {
		text += " from " + u.Redacted()
	}
	if s.Docs {
		text += ", documents kept"
	}
	return text[:min(len(text), core.MaxSource)]
}

// companions are packages without which others cannot do what people expect, and
// that those only recommend.
var companions = map[string]string{"gcc": "libc6-dev", "clang": "libc6-dev"}

// include lists the packages to install, sorted, each once.
func (s Spec) include() []string {
	all := slices.Concat(s.Packages, languages.Packages(s.Languages))
	if s.Autograder != nil {
		all = append(all, "apt", "bash", "ca-certificates", "python3", "python3-pip")
	}
	for _, p := range slices.Clone(all) {
		if with, ok := companions[p]; ok {
			all = append(all, with)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// What is left out of what is built: the first always, the second unless
// documents are kept.
var (
	caches = []string{
		"var/cache", "var/log", "var/backups", "var/lib/apt/lists", "etc/passwd-", "etc/group-", "etc/subuid-", "etc/subgid-", "etc/.pwd.lock",
		"var/lib/dpkg/status-old", "var/lib/dpkg/available-old", "var/lib/dpkg/diversions-old", "var/lib/dpkg/statoverride-old", "var/lib/dpkg/lock",
		"var/lib/dpkg/lock-frontend",
	}
	documents = []string{"usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/lintian", "usr/share/locale"}
)

// Build builds the system and passes it to use as a tar, with the options for reading it. The tool's output goes to
// log. Returns INVALID, UNAVAILABLE if there is no tool or it fails, and the errors of use.
func Build(ctx context.Context, spec Spec, log io.Writer, use func(system io.Reader, opts images.Options) error) error {
	if err := spec.Check(); err != nil {
		return err
	}
	make, err := tool()
	if err != nil {
		return err
	}
	opts := images.Options{Began: time.Now().Unix(), Drop: slices.Clone(caches)}
	if !spec.Docs {
		opts.Drop = append(opts.Drop, documents...)
	}
	if spec.Autograder != nil {
		remove, err := spec.writeSetup()
		if err != nil {
			return err
		}
		defer remove()
	}
	return make(ctx, spec, log, func(system io.Reader) error { return use(system, opts) })
}

// maker builds a system with one of the tools.
type maker func(ctx context.Context, spec Spec, log io.Writer, use func(system io.Reader) error) error

// tool finds the tool to build with. Returns UNAVAILABLE if there is none.
func tool() (maker, error) {
	if at, err := exec.LookPath("mmdebstrap"); err == nil {
		return mmdebstrap(at), nil
	}
	at, err := exec.LookPath("debootstrap")
	switch {
	case err != nil:
		return nil, core.Errorf(core.CodeUnavailable, "", "building images needs the program mmdebstrap, or debootstrap: install the package of that name; or import an image that was made elsewhere")
	case os.Geteuid() != 0:
		return nil, core.Errorf(core.CodeUnavailable, "", "debootstrap builds as root only: be root, or install mmdebstrap, which builds in a user namespace")
	}
	return debootstrap(at), nil
}

// Missing returns what this machine lacks for building; "" if nothing.
func Missing() string {
	if _, err := tool(); err != nil {
		return err.Error()
	}
	return ""
}

// mmdebstrap writes a tar by itself, as root or in a user namespace.
func mmdebstrap(at string) maker {
	return func(ctx context.Context, spec Spec, log io.Writer, use func(io.Reader) error) error {
		args := []string{"--variant=essential", "--format=tar"}
		if all := spec.include(); len(all) > 0 {
			args = append(args, "--include="+strings.Join(all, ","))
		}
		if spec.setup != "" {
			args = append(args, "--customize-hook="+setup)
		}
		args = append(args, "--customize-hook="+report, "--", spec.Suite, "-")
		if spec.Mirror != "" {
			args = append(args, spec.Mirror)
		}
		return spec.stream(ctx, log, use, at, args...)
	}
}

// debootstrap fills a folder, of which tar makes a tar.
func debootstrap(at string) maker {
	return func(ctx context.Context, spec Spec, log io.Writer, use func(io.Reader) error) (err error) {
		dir, err := os.MkdirTemp("", "drover-build-")
		if err != nil {
			return core.Wrap(err, core.CodeUnavailable, "", "there is no room to build in: name another folder in TMPDIR")
		}
		defer func() {
			err = errors.Join(err, core.Wrap(os.RemoveAll(dir), core.CodeUnavailable, dir, "%s, where the image was built, cannot be removed", dir))
		}()
		args := []string{"--variant=minbase"}
		if all := spec.include(); len(all) > 0 {
			args = append(args, "--include="+strings.Join(all, ","))
		}
		args = append(args, spec.Suite, dir)
		if spec.Mirror != "" {
			args = append(args, spec.Mirror)
		}
		toLog := func(said io.Reader) error {
			_, err := io.Copy(log, said)
			return err
		}
		if err := spec.stream(ctx, log, toLog, at, args...); err != nil {
			return err
		}
		steps := []string{setup, report}
		if spec.setup == "" {
			steps = steps[1:]
		}
		for _, step := range steps {
			in := "--mount-proc=" + dir + "/proc"
			if err := spec.stream(ctx, log, toLog, "unshare", "--mount", "--pid", "--fork", in, "sh", "-c", step, "sh", dir); err != nil {
				return err
			}
		}
		return spec.stream(ctx, log, use, "tar", "--create", "--one-file-system", "--directory="+dir, ".")
	}
}

// stopTimeout is how long a tool may clean up when it is stopped.
const stopTimeout = 30 * time.Second

// report finds in a new system, whose folder is its argument, which languages are there. The script for that is in a
// variable, because the folder of a file may be closed for the user that builds.
const report = `mkdir -p "$1/usr/share/drover" && chroot "$1" /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin /bin/sh -c "$DROVER_REPORT" >"$1/` + languages.File + `"`

// stream runs a program and hands on what it prints.
func (s Spec) stream(ctx context.Context, log io.Writer, use func(io.Reader) error, program string, args ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(environment(), "DROVER_REPORT="+languages.Report(s.Languages), "DROVER_SETUP="+s.setup)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	if os.Geteuid() == 0 {
		// Its mounts end with it.
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	}
	end := &tail{}
	cmd.Stderr = io.MultiWriter(log, end)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return core.Wrap(err, core.CodeUnavailable, program, "%s cannot be started", program)
	}
	failed := func() error {
		switch err := cmd.Wait(); {
		case ctx.Err() != nil:
			return core.Wrap(ctx.Err(), core.CodeUnavailable, program, "%s was stopped", program)
		case err != nil:
			return core.Errorf(core.CodeUnavailable, program, "%s failed (%v): %s", program, err, end.reason())
		}
		return nil
	}
	from := &whole{from: out, failed: failed}
	if err := use(from); err != nil {
		cancel()
		if !from.ended {
			_, _ = io.Copy(io.Discard, out) // so that it does not wait for us
			_ = cmd.Wait()                  // it was stopped
		}
		return err
	}
	_, err = io.Copy(io.Discard, from)
	return err
}

// whole is what a program prints; it ends well only if the program does.
type whole struct {
	from   io.Reader
	failed func() error
	ended  bool
	err    error
}

// Read reads on.
func (w *whole) Read(p []byte) (int, error) {
	if w.ended {
		return 0, w.err
	}
	n, err := w.from.Read(p)
	if err == nil {
		return n, nil
	}
	w.ended, w.err = true, err
	if failed := w.failed(); failed != nil {
		w.err = failed
	}
	return n, w.err
}

// environment is the tools': the programs that they need are where an ordinary
// user's path does not lead.
func environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(line string) bool { return strings.HasPrefix(line, "SOURCE_DATE_EPOCH=") })
	return append(env, "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", fmt.Sprintf("PATH=%s:/usr/sbin:/sbin:/usr/bin:/bin", os.Getenv("PATH")))
}

// tail keeps the end of what a program says.
type tail struct{ kept []byte }

// Write keeps the last bytes.
func (t *tail) Write(p []byte) (int, error) {
	const most = 8 << 10
	t.kept = append(t.kept, p...)
	t.kept = bytes.Clone(t.kept[max(0, len(t.kept)-most):])
	return len(p), nil
}

// reason returns the first line that the tool calls an error, since later ones follow from it; or its last line.
func (t *tail) reason() string {
	all := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(t.kept), "?")), "\n")
	for _, line := range all {
		if text, is := strings.CutPrefix(line, "E: "); is {
			return text
		}
	}
	return all[len(all)-1]
}
