package source_test

import (
	"html"
	"regexp"
	"strings"
	"testing"
	"testing/quick"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/web/source"
)

// samples has something of each language, and what of it gets which class.
var samples = []struct{ name, text, want string }{
	{"rle.c", "#include <stdio.h>\n/* a\n b */ int main(void) { return 0x1f; } // end", `<span class="hp">#include</span> <span class="hs">&lt;stdio.h&gt;</span>|<span class="hc"> b */</span> <span class="ht">int</span> <span class="hf">main</span>(|<span class="hn">0x1f</span>|<span class="hc">// end</span>`},
	{"a.cpp", "template <class T> T x = nullptr;", `<span class="hk">template</span>|<span class="ht">nullptr</span>`},
	{"a.py", "@cached\ndef f(x):\n  \"\"\"a\n  b\"\"\"\n  return f'\\n' # c", `<span class="hp">@cached</span>|<span class="hk">def</span> <span class="hf">f</span>(x|<span class="hs">  b&#34;&#34;&#34;</span>|<span class="hc"># c</span>`},
	{"A.java", "@Override public String f() { return 'x'; }", `<span class="hp">@Override</span>|<span class="ht">String</span>|<span class="hs">&#39;x&#39;</span>`},
	{"a.go", "func f() string { return `a\n\"b` }", `<span class="hk">func</span>|<span class="ht">string</span>|<span class="hs">&#34;b` + "`</span>"},
	{"a.rs", "/* a /* b */ c */ fn f<'a>(x: &'a str) { println!(\"x\") }", `<span class="hc">/* a /* b */ c */</span> <span class="hk">fn</span>|<span class="hp">&#39;a</span>|<span class="hf">println!</span>`},
	{"a.ts", "const x: number = `a${1}`;", `<span class="hk">const</span>|<span class="ht">number</span>|a${1}`},
	{"a.hs", "{- a {- b -} -} main :: IO () -- x", `<span class="ht">IO</span>|<span class="hc">-- x</span>`},
	{"a.sh", "for x in $ALL; do echo \"$x#\"; done # y", `<span class="hk">for</span>|<span class="hp">$ALL</span>|<span class="hc"># y</span>`},
	{"a.sql", "SELECT 'it''s' FROM t -- all", `<span class="hk">SELECT</span>|<span class="hk">FROM</span> t|<span class="hc">-- all</span>`},
	{"Makefile", "all: rle.o\n\t$(CC) -o $@", `<span class="hf">all</span>:|<span class="hp">$(CC)</span>|<span class="hp">$@</span>`},
	{"a.yaml", "limits:\n  - time: 5 # s", `<span class="ht">limits</span>:|<span class="ht">time</span>: <span class="hn">5</span>|<span class="hc"># s</span>`},
	{"a.json", `{"a": [1, "b", true]}`, `<span class="ht">&#34;a&#34;</span>|<span class="hs">&#34;b&#34;</span>, <span class="ht">true</span>`},
	{"a.html", `<p class="x">a &amp; b</p><!-- c -->`, `<span class="ht">&lt;p</span>|<span class="hp">class</span>=|<span class="hs">&amp;amp;</span>|<span class="hc">&lt;!-- c --&gt;</span>`},
	{"a.css", "@media x { .a { color: #fff; } }", `<span class="hk">@media</span>|<span class="ht">.a</span>|<span class="hp">color</span>:`},
	{"a.md", "# Title\n\nsome `code` and **more**\n- one", `<span class="hk"># Title</span>|<span class="hs">` + "`code`" + `</span>|<span class="hk">**more**</span>|<span class="hp">-</span> one`},
	{"a.R", "f <- function(x) TRUE # y", `<span class="hk">function</span>|<span class="ht">TRUE</span>|<span class="hc"># y</span>`},
	{"notes", "if x < 1", "if x &lt; 1"},
}

func TestEachLanguageHasItsColours(t *testing.T) {
	t.Parallel()
	for _, s := range samples {
		got := joined(source.Lines(s.name, s.text))
		for part := range strings.SplitSeq(s.want, "|") {
			assert.Contains(t, got, part, s.name)
		}
	}
}

func joined(lines []source.Line) string {
	all := make([]string, len(lines))
	for i, l := range lines {
		all[i] = string(l.HTML)
	}
	return strings.Join(all, "\n")
}

var tag = regexp.MustCompile(`</?span[^>]*>`)

// Colours change no text: without their tags, the lines are the file.
func TestLinesAreTheText(t *testing.T) {
	t.Parallel()
	same := func(name, text string) {
		t.Helper()
		got := html.UnescapeString(tag.ReplaceAllString(joined(source.Lines(name, text)), ""))
		assert.Equal(t, strings.TrimSuffix(text, "\n"), got, name)
	}
	for _, s := range samples {
		for _, other := range samples {
			same(s.name, other.text)
			same(s.name, other.text+"\n\n")
			same(s.name, other.text[:len(other.text)/2])
		}
	}
	alphabet := []rune("\"'`/*#{}-<>@$\\\n ax1é.=(&")
	require.NoError(t, quick.Check(func(draw []byte) bool {
		var b strings.Builder
		for _, d := range draw {
			b.WriteRune(alphabet[int(d)%len(alphabet)])
		}
		for _, s := range samples {
			got := html.UnescapeString(tag.ReplaceAllString(joined(source.Lines(s.name, b.String())), ""))
			if got != strings.TrimSuffix(b.String(), "\n") {
				t.Logf("%s: %q became %q", s.name, b.String(), got)
				return false
			}
		}
		return true
	}, nil))
}

func TestNothingOfAFileIsMarkup(t *testing.T) {
	t.Parallel()
	for _, s := range samples {
		got := joined(source.Lines(s.name, "<script>alert(1)</script>\n\"</span><img src=x>"))
		assert.NotContains(t, got, "<script", s.name)
		assert.NotContains(t, got, "<img", s.name)
	}
}

// A reader sees what a compiler reads: characters that turn a text around are shown by number.
func TestHiddenCharactersAreShown(t *testing.T) {
	t.Parallel()
	got := joined(source.Lines("a.py", "x = 'a\u202e\u2066b' \x1b[31m"))
	assert.Contains(t, got, `a<span class="hx">U+202E</span><span class="hx">U+2066</span>b`)
	assert.Contains(t, got, `<span class="hx">U+001B</span>`)
}

func TestLongLinesAndFilesAreBounded(t *testing.T) {
	t.Parallel()
	line := source.Lines("a.py", strings.Repeat("é+", 10_000)+"\nx = 1")
	require.Len(t, line, 2)
	require.Less(t, len(line[0].HTML), 2*source.MaxLine)
	require.InDelta(t, 30_000-source.MaxLine, line[0].Hidden, 2)
	require.Zero(t, line[1].Hidden)
	long := source.Lines("a.py", strings.Repeat("return 1\n", 40_000))
	require.Len(t, long, 40_000)
	require.Contains(t, string(long[100].HTML), "hk")
	require.NotContains(t, string(long[30_000].HTML), "hk")
	require.Nil(t, source.Lines("a.py", ""))
}

// Each is where a rule that looks ahead would need time by the square of the length.
func TestTextsMadeToBeSlowAreNot(t *testing.T) {
	t.Parallel()
	for _, s := range samples {
		for _, unit := range []string{"/*", `"`, `"\`, "'", "`", "<!--", "{-", "[", "(", "$(", "a:", "-", "a ", "**", "#[", " ", "'''", "\\"} {
			got := source.Lines(s.name, strings.Repeat(unit, 8<<10/len(unit)))
			assert.NotEmpty(t, got, s.name)
		}
	}
}

func BenchmarkLines(b *testing.B) {
	text := strings.Repeat("static int add(int a, int b) { /* sums */ return a + b; } // \"x\"\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		source.Lines("a.c", text)
	}
}
