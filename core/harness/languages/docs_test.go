package languages_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/harness/languages"
)

var update = flag.Bool("update", false, "write the table into docs/languages.md")

// The table of docs/languages.md is this package's.
func TestDocsShowTheTable(t *testing.T) {
	t.Parallel()
	const file, from, to = "../../../docs/languages.md", "<!-- languages -->\n", "<!-- /languages -->"
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), from)
	require.True(t, ok)
	_, after, ok := strings.Cut(rest, to)
	require.True(t, ok)
	var b strings.Builder
	b.WriteString("\n| code | language | suffixes | packages | time | memory | Judge0 |\n|---|---|---|---|---|---|---|\n")
	for _, l := range languages.All() {
		ids := strings.Trim(strings.ReplaceAll(fmt.Sprint(l.Judge0), " ", ", "), "[]")
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %g | %g | %s |\n", l.Code, l.Name, strings.Join(l.Suffixes, " "), strings.Join(l.Packages, " "), l.Time, l.Memory, ids)
	}
	want := before + from + b.String() + "\n" + to + after
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o600))
		return
	}
	require.Equal(t, want, string(text), "run: go test ./core/harness/languages -run Docs -update")
}
