package page_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/web/page"
)

func TestTablesStayAsLargeAsTheirText(t *testing.T) {
	t.Parallel()
	row := func(cell string, n int) string { return "|" + strings.Repeat(cell+"|", n) + "\n" }
	small := string(page.Markdown(row("a", 3) + row("-", 3) + row("b", 3)))
	require.Contains(t, small, "<td>b</td>")
	for _, end := range []string{"\n", "\r"} {
		wide := strings.ReplaceAll("> "+row("a", 2000)+"> "+row("-", 2000)+strings.Repeat("> b\n", 200), "\n", end)
		shown := string(page.Markdown(wide))
		require.NotContains(t, shown, "<td", "its rows have 2000 cells each, of which one is written down")
		require.Less(t, len(shown), 10*len(wide))
	}
}
