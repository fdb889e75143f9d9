package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAgent shows which programs containers cannot start.
func TestAgent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		from string
		mode os.FileMode
		why  string
	}{
		"dynamic": {"/bin/sh", 0o755, "needs libraries"}, "text": {"/etc/passwd", 0o755, "is no program"}, "private": {"/bin/sh", 0o700, "chmod a+rx"},
	} {
		text, err := os.ReadFile(c.from)
		require.NoError(t, err)
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, text, 0o600))
		require.NoError(t, os.Chmod(path, c.mode))
		g := Agent{Path: path}
		_, err = g.Open()
		require.ErrorContains(t, err, c.why, name)
	}
	g := Agent{Path: filepath.Join(dir, "none")}
	_, err := g.Open()
	require.ErrorContains(t, err, "make build")
}

// TestVersion lets only the program pass that was built with us, and keeps it when
// another takes its place.
func TestVersion(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), Name)
	build := func(version string) {
		made := path + ".new"
		cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w -X main.version="+version, "-o", made, "drover/cmd/drover-agent")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.NoError(t, os.Rename(made, path))
	}
	build("v1")
	g, other := Agent{Path: path, Version: "v1"}, Agent{Path: path, Version: "v2"}
	defer g.Close()
	defer other.Close()
	fd, err := g.Open()
	require.NoError(t, err)
	_, err = other.Open()
	require.ErrorIs(t, err, ErrVersion)
	assert.ErrorContains(t, err, "make build")

	build("v2")
	again, err := g.Open()
	require.NoError(t, err)
	assert.Equal(t, fd, again, "an upgrade has begun, and we are not upgraded yet")
	_, err = other.Open()
	require.NoError(t, err)
}
