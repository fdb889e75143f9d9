package source_test

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/web/source"
)

var update = flag.Bool("update", false, "write the file that is compared")

// The rules of the editor are made from those of the site.
func TestBrowsersHaveTheSameRules(t *testing.T) {
	t.Parallel()
	const file = "../page/static/grammars.json"
	want, err := source.BrowserRules()
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(file, want, 0o600))
	}
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(got), "go generate ./web/source writes it")
	require.Less(t, len(got), 30_000)
}
