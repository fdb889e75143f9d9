package program

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGuest shows which programs containers cannot start.
func TestGuest(t *testing.T) {
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
		g := Guest{Path: path}
		_, err = g.Open()
		require.ErrorContains(t, err, c.why, name)
	}
	g := Guest{Path: filepath.Join(dir, "none")}
	_, err := g.Open()
	require.ErrorContains(t, err, "make build")
}
