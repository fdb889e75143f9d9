package coretest

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// RequireDocument requires that a document's parts, each between a line "<!-- name: … -->" and "<!-- end -->", are those
// that are given by name, or writes them there if update is set. Mend says how a reader has them written.
func RequireDocument(t *testing.T, file string, parts map[string]string, update bool, mend string) {
	t.Helper()
	had, err := os.ReadFile(file)
	require.NoError(t, err)
	text := string(had)
	for name, made := range parts {
		begin := "<!-- " + name + ": "
		before, rest, found := strings.Cut(text, begin)
		how, rest, ends := strings.Cut(rest, "\n")
		_, after, closed := strings.Cut(rest, "<!-- end -->")
		require.True(t, found && ends && closed, "%s has no place for the %s", file, name)
		text = before + begin + how + "\n" + made + "<!-- end -->" + after
	}
	if update {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return
	}
	require.Equal(t, text, string(had), "%s is stale: run %s", file, mend)
}
