package attack

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/agent/wire"
	"drover/vmfactory/providertest"
	"drover/vmfactory/providertest/probe"
)

// collected takes all of the folder "out" that a script leaves behind.
func collected(t *testing.T, v providertest.VM, script string) (files map[string]string, skipped []agent.Skipped) {
	t.Helper()
	o := v.Do(t, core.Limits{}, nil, "/bin/sh", "-c", "mkdir -p out && cd out && "+script)
	require.Zero(t, o.Code, "%s", o.Stderr)
	files = map[string]string{}
	skipped, err := v.Collect(t.Context(), wire.Work, agent.Collection{Paths: []string{"out"}}, func(f agent.Taken, r io.Reader) error {
		text, err := io.ReadAll(r)
		files[f.Path] = string(text)
		return err
	})
	require.NoError(t, err)
	return files, skipped
}

// linkedResults re-enacts how others' sandboxes were left: by a link where the
// host's root writes a file or changes its owner, and by one where it reads.
func linkedResults(t *testing.T, s *scene) []string {
	t.Helper()
	v := s.Armed(t, providertest.Pool())
	target := filepath.Join(t.TempDir(), "target")
	require.NoError(t, os.WriteFile(target, []byte("the host's"), 0o600))
	before, err := os.Stat(target)
	require.NoError(t, err)
	var leaks []string
	files, _ := collected(t, v, `for f in /etc/shadow /etc/passwd /proc/1/environ /proc/self/root `+target+` / ..; do ln -s "$f" "l$(echo "$f" | tr / _)"; done; echo own > own`)
	for name := range files {
		if name != "out/own" {
			leaks = append(leaks, "collected through the link "+name)
		}
	}
	// The places for files become links to where a root of the host, or of the VM, could write.
	o := v.Do(t, core.Limits{}, nil, "/bin/sh", "-c", fmt.Sprintf(
		`cd %s && { mv submission was && ln -s /etc submission; mv harness gone && ln -s %s harness; } 2>/dev/null; ln -s /etc/passwd submission/x 2>/dev/null; ls -ln /etc/passwd`,
		agent.HomeDir, filepath.Dir(target)))
	owner := o.Stdout
	for _, place := range []string{wire.Submission, wire.Harness} {
		var archive bytes.Buffer
		w := tar.NewWriter(&archive)
		for _, name := range []string{"x", "target", "passwd"} {
			require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o777, Size: 4}))
			_, err := w.Write([]byte("evil"))
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		_ = v.Stage(t.Context(), place, &archive) // refused, or put where the place was before: both are well
	}
	o = v.Do(t, core.Limits{}, nil, "/bin/sh", "-c", "ls -ln /etc/passwd")
	if o.Stdout != owner {
		leaks = append(leaks, "a file of the VM's system has changed: "+o.Stdout)
	}
	after, err := os.Stat(target)
	require.NoError(t, err)
	text, err := os.ReadFile(target)
	require.NoError(t, err)
	if string(text) != "the host's" || !os.SameFile(before, after) || after.Mode() != before.Mode() {
		leaks = append(leaks, "a file of the host has changed")
	}
	v.Alive(t)
	s.end(t, v)
	return leaks
}

// oddResults leaves all that a program can make where results are.
func oddResults(t *testing.T, s *scene) []string {
	t.Helper()
	v := s.Armed(t, providertest.Pool())
	o := v.Probe(t, "litter", probe.Target{Folders: []string{agent.WorkDir + "/out"}, Most: 30 << 20})
	require.Equal(t, probe.Held, o.Stdout, "%+v", o)
	files, skipped := collected(t, v, "true")
	var leaks []string
	for name := range files {
		if name != "out/own" {
			leaks = append(leaks, "collected "+name)
		}
	}
	why := map[string]string{}
	for _, one := range skipped {
		why[one.Path] = one.Why
	}
	assert.Equal(t, wire.SkipKind, why["out/pipe"])
	assert.Equal(t, wire.SkipKind, why["out/socket"])
	assert.Contains(t, files, "out/own")
	assert.Equal(t, wire.SkipRoom, why["out/hole"], "it has more bytes than a collection, although it takes no room")
	v.Alive(t)
	s.end(t, v)
	return leaks
}

// names hands out and takes in files with hostile names.
func names(t *testing.T, s *scene) []string {
	t.Helper()
	v := s.Armed(t, providertest.Pool())
	var leaks []string
	for _, name := range []string{"x\n", "\x1b]0;x\a", "x\xff", "..", "a/../b", "/x", strings.Repeat("n", 256), "a//b", "\u009b2J"} {
		var archive bytes.Buffer
		w := tar.NewWriter(&archive)
		require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Format: tar.FormatGNU}))
		require.NoError(t, w.Close())
		if err := v.Stage(t.Context(), wire.Submission, &archive); err == nil {
			leaks = append(leaks, fmt.Sprintf("took a file called %q", name))
		}
	}
	files, skipped := collected(t, v, `touch "$(printf 'a\nb')" "$(printf 'x\033[2J')" "$(printf 'bad\377')" -- -rf '*' && mkdir deep && cd deep &&
		i=0; while [ $i -lt 200 ] && mkdir d 2>/dev/null && cd d; do i=$((i+1)); done; true`)
	for name := range files {
		if wire.CheckName(name) != nil {
			leaks = append(leaks, fmt.Sprintf("collected a file called %q", name))
		}
	}
	for _, one := range skipped {
		if strings.ContainsFunc(one.Path+one.Why, func(r rune) bool { return r < ' ' || r > '~' }) {
			leaks = append(leaks, fmt.Sprintf("named a file %q", one.Path))
		}
	}
	assert.Contains(t, files, "out/-rf")
	v.Alive(t)
	s.end(t, v)
	return leaks
}
