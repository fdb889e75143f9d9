package problem_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Files in .pl are Perl, unless one of them has a line as Prolog has them.
func TestLanguageOfSharedSuffix(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, open(t, filepath.Join("testdata", "sum")).Write(dir))
	for want, files := range map[string]map[string]string{
		"perl":   {"a.pl": "print $x ? 1 : -1;\n", "b.pl": "1;\n"},
		"prolog": {"a.pl": "[b].\nmain :-\n    read_int(X), write(X).\n", "b.pl": "one(1).\n"},
	} {
		work := t.TempDir()
		for name, text := range files {
			require.NoError(t, os.WriteFile(filepath.Join(work, name), []byte(text), 0o600))
		}
		out, err := exec.CommandContext(t.Context(), "/bin/sh", filepath.Join(dir, "drover-build"), work).CombinedOutput()
		require.NoError(t, err, "%s", out)
		raw, err := os.ReadFile(filepath.Join(work, "drover-language"))
		require.NoError(t, err)
		require.Equal(t, []string{want, "a.pl"}, strings.Fields(string(raw)))
	}
}
