package page_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/web/page"
)

func TestStatementsHaveFormulas(t *testing.T) {
	t.Parallel()
	const (
		n    = `<span class="formula"><math><mi>n</mi></math></span>`
		rows = `<p><span class="formula"><math display="block"><mrow><mi>n</mi><mo>−</mo><mn>1</mn></mrow></math></span></p>`
	)
	for _, tt := range []struct {
		text   string
		isHTML bool
		want   string
	}{
		{"so $n$ it is", false, "<p>so " + n + " it is</p>\n"},
		{"*$n$*, $n$-th", false, "<p><em>" + n + "</em>, " + n + "-th</p>\n"},
		{"$a_1$ and $b_2$ and $a*b*c$", false, "<p>" + `<span class="formula"><math><msub><mi>a</mi><mn>1</mn></msub></math></span> and <span class="formula"><math><msub><mi>b</mi><mn>2</mn></msub></math></span>` +
			` and <span class="formula"><math><mrow><mi>a</mi><mo>∗</mo><mi>b</mi><mo>∗</mo><mi>c</mi></mrow></math></span></p>` + "\n"},
		{"$$\nn\n- 1\n$$\n", false, rows + "\n"},
		{"text\n$$n\n-1$$\ntext", false, "<p>text</p>\n" + rows + "\n<p>text</p>\n"},
		{"so $$n$$ it", false, `<p>so <span class="formula"><math display="block"><mi>n</mi></math></span> it</p>` + "\n"},
		{"| a |\n|---|\n| $n$ |\n", false, "<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>" + n + "</td>\n</tr>\n</tbody>\n</table>\n"},
		{"- $n$\n\n> $$n - 1$$", false, "<ul>\n<li>" + n + "</li>\n</ul>\n<blockquote>\n" + rows + "\n</blockquote>\n"},
		{"`$n$` costs $5 or $10 and \\$n", false, "<p><code>$n$</code> costs $5 or $10 and $n</p>\n"},
		{"$5, or $10 with $n$; $5,$10 or $5 ($10), A$5 to B$10", false, "<p>$5, or $10 with " + n + "; $5,$10 or $5 ($10), A$5 to B$10</p>\n"},
		{"<p>$5, or $10 with $n$; $5,$10</p>", true, "<p>$5, or $10 with " + n + "; $5,$10</p>"},
		{"$\\foo<b>x</b>$ and $ n$ and $n", false, "<p><code>\\foo&lt;b&gt;x&lt;/b&gt;</code> and $ n$ and $n</p>\n"},
		{"$$n\n\nand", false, "<p>$$n</p>\n<p>and</p>\n"},
		{"```\n$n$\n$$n$$\n```", false, "<pre><code>$n$\n$$n$$\n</code></pre>\n"},
		{"![$n$](x)", false, `<p><img src="" alt=""></p>` + "\n"},
		{`[x](https://e.org "&#xFDD0;n&#xFDD1;") &#xFDD0;"&#xFDD1;`, false, `<p><a href="https://e.org" rel="nofollow noreferrer">x</a> <span class="formula"><math><mo>&#34;</mo></math></span></p>` + "\n"},
		{`<p>\(n\), $n$ and \$n$</p><pre>$n$</pre><code>\(n\)</code>`, true, `<p>` + n + `, ` + n + ` and $n$</p><pre>$n$</pre><code>\(n\)</code>`},
		{`<p>\[n - 1\]</p><p title="$n$">$a &lt; n$</p>`, true, rows + `<p><span class="formula"><math><mrow><mi>a</mi><mo>&lt;</mo><mi>n</mi></mrow></math></span></p>`},
		{`<math><mi>x</mi></math> $5 \(`, true, `x $5 \(`},
		{`\(\text{&lt;img src=x onerror=y&gt;}\)`, true, `<span class="formula"><math><mtext>&lt;img src=x onerror=y&gt;</mtext></math></span>`},
		{`<img src="a" alt="$n$ \(n\)">`, true, `<img src="" alt="$n$ \(n\)">`},
	} {
		require.Equal(t, tt.want, string(page.Statement(tt.text, tt.isHTML, func(string) string { return "" })), tt.text)
	}
}

// What a statement of many formulas and half formulas becomes stays in proportion to it.
func TestFormulasStayAsLargeAsTheirText(t *testing.T) {
	t.Parallel()
	for _, one := range []string{"$a$ ", "$", "$a", "$$\n", "$$", "$$a\n", "\\(", "$\\a", "> $$", "$(((((((($ ", "\uFDD0", "\uFDD0x\uFDD1"} {
		for _, isHTML := range []bool{false, true} {
			text := strings.Repeat(one, 60_000/len(one))
			require.Less(t, len(page.Statement(text, isHTML, func(string) string { return "" })), 40*len(text), one)
		}
	}
}
