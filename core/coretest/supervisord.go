package coretest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// SupervisordConf copies the shipped supervisord.conf of the checkout at root, and the programs beside it, with another
// folder for logs and sockets. It returns the copy's path.
func SupervisordConf(t testing.TB, root, logs string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"supervisord.conf", "scripts/drover.conf"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		moved := strings.ReplaceAll(string(text), "/var/log/drover", logs)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(moved), 0o600))
	}
	return filepath.Join(dir, "supervisord.conf")
}
