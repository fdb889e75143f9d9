package debian_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drover/core"
	"drover/core/harness/languages"
	"drover/core/images"
	"drover/core/images/debian"
	"drover/core/service/guard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec debian.Spec
		good bool
	}{
		"suite":              {debian.Spec{Suite: "bookworm"}, true},
		"all":                {debian.Spec{Suite: "bookworm", Packages: []string{"g++", "libc6-dev"}, Mirror: "http://deb.debian.org/debian"}, true},
		"file":               {debian.Spec{Suite: "bookworm", Mirror: "file:///srv/mirror"}, true},
		"no suite":           {debian.Spec{}, false},
		"an option":          {debian.Spec{Suite: "--help"}, false},
		"a path":             {debian.Spec{Suite: "../x"}, false},
		"option as package":  {debian.Spec{Suite: "bookworm", Packages: []string{"-x"}}, false},
		"a list in a name":   {debian.Spec{Suite: "bookworm", Packages: []string{"gcc,x"}}, false},
		"no name":            {debian.Spec{Suite: "bookworm", Packages: []string{""}}, false},
		"many":               {debian.Spec{Suite: "bookworm", Packages: make([]string, 501)}, false},
		"option as mirror":   {debian.Spec{Suite: "bookworm", Mirror: "--x"}, false},
		"a line as mirror":   {debian.Spec{Suite: "bookworm", Mirror: "http://a b"}, false},
		"a hook for mirrors": {debian.Spec{Suite: "bookworm", Mirror: "ext::sh"}, false},
	} {
		err := c.spec.Check()
		if c.good {
			require.NoError(t, err, name)
			continue
		}
		require.Equal(t, core.CodeInvalid, core.CodeOf(err), name)
		err = debian.Build(t.Context(), c.spec, io.Discard, nil)
		require.Equal(t, core.CodeInvalid, core.CodeOf(err), name)
	}
}

func TestSource(t *testing.T) {
	t.Parallel()
	require.Equal(t, "debian bookworm", debian.Spec{Suite: "bookworm"}.Source())
	require.Equal(t, "debian bookworm with gcc python3 from http://ann:xxxxx@mirror/debian, documents kept",
		debian.Spec{Suite: "bookworm", Packages: []string{"gcc", "python3"}, Mirror: "http://ann:secret@mirror/debian", Docs: true}.Source())
}

// program puts a shell script under a name into a folder that is the whole path.
func program(t *testing.T, dir, name, script string) {
	t.Helper()
	require.NoError(t, guard.WriteProgram(t.Context(), filepath.Join(dir, name), []byte("#!/bin/sh\n"+script)))
}

// What a tool does decides what becomes of the image; the tools here are scripts.
func TestBuild(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	t.Setenv("TMPDIR", t.TempDir())
	spec := debian.Spec{Suite: "bookworm", Packages: []string{"python3", "gcc"}, Mirror: "http://mirror/debian"}
	var log bytes.Buffer
	build := func(ctx context.Context) (text string, opts images.Options, err error) {
		log.Reset()
		err = debian.Build(ctx, spec, &log, func(system io.Reader, o images.Options) error {
			all, err := io.ReadAll(system)
			text, opts = string(all), o
			return err
		})
		return text, opts, err
	}

	_, _, err := build(t.Context())
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	require.ErrorContains(t, err, "mmdebstrap")
	require.NotEmpty(t, debian.Missing())

	program(t, dir, "mmdebstrap", `echo "I: working" >&2; printf '%s|' "$@"`)
	require.Empty(t, debian.Missing())
	text, opts, err := build(t.Context())
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(text, "--variant=essential|--format=tar|--include=gcc,libc6-dev,python3|--customize-hook="), text)
	require.True(t, strings.HasSuffix(text, "|--|bookworm|-|http://mirror/debian|"), text)
	require.Contains(t, text, "$DROVER_REPORT")
	require.Equal(t, "I: working\n", log.String())
	require.Contains(t, opts.Drop, "var/cache")
	require.Contains(t, opts.Drop, "usr/share/doc")
	require.Positive(t, opts.Began)
	spec.Docs = true
	_, opts, err = build(t.Context())
	require.NoError(t, err)
	require.NotContains(t, opts.Drop, "usr/share/doc")

	program(t, dir, "mmdebstrap", `printf '%s' "$3|$DROVER_REPORT"`)
	spec.Languages, err = languages.Choose([]string{"haskell", "c"})
	require.NoError(t, err)
	require.Equal(t, "debian bookworm with python3 gcc for haskell c from http://mirror/debian, documents kept", spec.Source())
	text, _, err = build(t.Context())
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(text, "--include=gcc,ghc,libc6-dev,python3|"), text)
	require.Contains(t, text, "hello haskell main.hs", "the system is refused if hello does not work")

	program(t, dir, "mmdebstrap", `printf '%s|' "$@"; /bin/cat "$DROVER_SETUP"`)
	spec.Autograder = []byte("the tar")
	require.Contains(t, spec.Source(), "for an autograder")
	text, _, err = build(t.Context())
	require.NoError(t, err)
	require.Contains(t, text, "python3-pip|--customize-hook=set -e")
	require.Contains(t, text, "exec bash setup.sh")
	require.True(t, strings.HasSuffix(text, "|the tar"), text)
	spec.Autograder = nil

	program(t, dir, "mmdebstrap", `echo half of it; echo "E: no such package" >&2; echo "E: setup failed" >&2; echo "I: removing" >&2; exit 7`)
	_, _, err = build(t.Context())
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	require.ErrorContains(t, err, "no such package", "a tool that fails must not leave half an image")
	require.NotContains(t, err.Error(), "setup failed", "what comes of the first error")

	program(t, dir, "mmdebstrap", `while :; do echo endless; done`)
	stop := errors.New("enough")
	err = debian.Build(t.Context(), spec, io.Discard, func(system io.Reader, _ images.Options) error {
		_, err := system.Read(make([]byte, 10))
		return errors.Join(err, stop)
	})
	require.ErrorIs(t, err, stop)

	program(t, dir, "mmdebstrap", `trap 'echo cleaned >&2; exit 1' TERM; echo begun; while :; do /bin/sleep 0.01; done`)
	ctx, cancel := context.WithCancel(t.Context())
	log.Reset()
	err = debian.Build(ctx, spec, &log, func(system io.Reader, _ images.Options) error {
		_, err := system.Read(make([]byte, 10))
		cancel()
		_, ended := io.Copy(io.Discard, system)
		return errors.Join(err, ended)
	})
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	require.Contains(t, log.String(), "cleaned", "a tool that is stopped may clean up")
}

func TestBuildWithDebootstrap(t *testing.T) {
	dir, temp := t.TempDir(), t.TempDir()
	t.Setenv("PATH", dir)
	t.Setenv("TMPDIR", temp)
	spec := debian.Spec{Suite: "bookworm", Packages: []string{"gcc"}}
	program(t, dir, "debootstrap", `/bin/mkdir "$4/etc" && echo "$@" >"$4/etc/passwd"`)
	require.NoError(t, os.Symlink("/bin/tar", filepath.Join(dir, "tar")))
	program(t, dir, "unshare", `for dir; do :; done; echo "$dir" >"$dir/examined"`)
	var files string
	err := debian.Build(t.Context(), spec, io.Discard, func(system io.Reader, _ images.Options) error {
		all, err := io.ReadAll(system)
		files = string(all)
		return err
	})
	if os.Geteuid() != 0 {
		require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
		require.ErrorContains(t, err, "root")
		return
	}
	require.NoError(t, err)
	require.Contains(t, files, "--variant=minbase --include=gcc,libc6-dev bookworm "+temp)
	require.Contains(t, files, "./etc/passwd")
	require.Contains(t, files, "./examined")
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left)

	program(t, dir, "debootstrap", `echo "W: late" >&2; echo "no such suite" >&2; exit 1`)
	err = debian.Build(t.Context(), spec, io.Discard, func(io.Reader, images.Options) error { return errors.New("must not be used") })
	require.ErrorContains(t, err, "no such suite")
	require.NotContains(t, strings.ToLower(err.Error()), "must not be used")
}
