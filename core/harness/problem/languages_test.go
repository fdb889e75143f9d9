package problem_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/service/guard"
)

// Files in .pl are Perl, unless one of them has a line as Prolog has them.
func TestLanguageOfSharedSuffix(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, open(t, filepath.Join("testdata", "sum")).Write(dir))
	// Not every machine has Prolog; its compiler is one that writes what it was given.
	bin := t.TempDir()
	require.NoError(t, guard.WriteProgram(t.Context(), filepath.Join(bin, "swipl"), []byte("#!/bin/sh\necho \"$@\" > program\n")))
	for want, files := range map[string]map[string]string{
		"perl":   {"a.pl": "print $x ? 1 : -1;\n", "b.pl": "1;\n"},
		"prolog": {"a.pl": "[b].\nmain :-\n    read_int(X), write(X).\n", "b.pl": "one(1).\n"},
	} {
		work := t.TempDir()
		for name, text := range files {
			require.NoError(t, os.WriteFile(filepath.Join(work, name), []byte(text), 0o600))
		}
		build := exec.CommandContext(t.Context(), "/bin/sh", filepath.Join(dir, "drover-build"), work)
		build.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s", out)
		if want == "prolog" {
			given, err := os.ReadFile(filepath.Join(work, "program"))
			require.NoError(t, err)
			require.Contains(t, string(given), "-c ./a.pl ./b.pl", "all files are one program")
		}
		raw, err := os.ReadFile(filepath.Join(work, "drover-language"))
		require.NoError(t, err)
		require.Equal(t, []string{want, "a.pl"}, strings.Fields(string(raw)))
	}
}
