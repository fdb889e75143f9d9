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

// A statement has its own pictures and the looks of its text, and nothing that acts, leads into the site or loads from elsewhere.
func TestStatementsAreInert(t *testing.T) {
	t.Parallel()
	picture := func(src string) string {
		if src == "a b.svg" {
			return "/own/a b.svg"
		}
		return ""
	}
	for _, tt := range []struct {
		text   string
		isHTML bool
		want   string
	}{
		{"![two](<a b.svg>) ![x](https://evil.example/x.png) ![y](../../users)", false, `<p><img src="/own/a%20b.svg" alt="two"> <img src="" alt="x"> <img src="" alt="y"></p>` + "\n"},
		{"a <b onclick=x>b</b> [x](javascript:alert(1)) [in](/sign-out)", false, "<p>a b x in</p>\n"},
		{`<h2 onclick="x()">A</h2><style>p{}</style><p style="position:fixed" class="c" id="main">B<sub>1</sub></p>`, true, `<h2>A</h2><p>B<sub>1</sub></p>`},
		{`<img src="a%20b.svg" onerror="x()" srcset="//evil.example/x 2x"><img src="data:image/svg+xml,x"><img src="//evil.example/x">`, true, `<img src="/own/a%20b.svg"><img src="">`},
		{`<iframe src="/users"></iframe><form action="/sign-out"><input name=a><button>go</button></form><svg><script>x()</script></svg><math><mi>x</mi></math>`, true, `gox`},
		{
			`<a href="/sign-out">x</a><a href="javascript:x()">y</a><a href="https://example.org/">z</a><base href="//evil.example"><meta http-equiv="refresh" content="0;url=//evil.example">`, true,
			`xy<a href="https://example.org/" rel="nofollow noreferrer">z</a>`,
		},
		{`<html><head><title>T</title></head><body><!-- c --><table><tr><td colspan="2" onclick=x>1</td></tr></table>`, true, `<table><tr><td colspan="2">1</td></tr></table>`},
	} {
		require.Equal(t, tt.want, string(page.Statement(tt.text, tt.isHTML, picture)))
	}
	require.Equal(t, "<pre>", string(page.Statement("<b>"+strings.Repeat("x", page.MaxStatement), true, picture))[:5])
}
