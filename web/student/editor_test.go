package student_test

import (
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core/coretest/tier"
	"drover/web/browsertest"
	"drover/web/source"
)

// typed has something of each kind of rule.
var typed = []struct{ name, text string }{
	{"rle.c", "#include <stdio.h>\n/* a\n b */ int main(void) { char c = '\\n'; return 0x1f; } // end\n"},
	{"a.PY", "@cached\ndef f(x):\n  \"\"\"a\n  b\"\"\"\n  return f'\\n' # c"},
	{"src/a.rs", "/* a /* b */ c */ fn f<'a>(x: &'a str) { println!(\"x\") } Vec"},
	{"a.hs", "{- a {- b -} -} main :: IO () -- x"},
	{"a.sh", "for x in $ALL; do echo \"$x#\" 'y'; done # y"},
	{"a.sql", "SELECT 'it''s' FROM t -- all"},
	{"Makefile", "all: rle.o\n\t$(CC) -o $@"},
	{"a.yaml", "limits:\n  - time: 5 # s"},
	{"a.html", "<p class=\"x\">a &amp; b</p><!-- <b>c</b> -->"},
	{"a.css", "@media x { .a { color: #fff; } }"},
	{"a.md", "# Title\n\nsome `code` and **more**\n- one"},
	{"a.ts", "const x: number = `a${1}` + \"un\nclosed"},
}

var tags = regexp.MustCompile(`<span class="(\w+)">|</span>|[^<]+`)

// coloursOf has the colour of each character that is seen.
func coloursOf(lines []source.Line) string {
	var b strings.Builder
	for i := range lines {
		class := "--"
		for _, m := range tags.FindAllStringSubmatch(string(lines[i].HTML), -1) {
			switch {
			case m[1] != "":
				class = m[1]
			case m[0] == "</span>":
				class = "--"
			default:
				for _, r := range html.UnescapeString(m[0]) {
					if !unicode.IsSpace(r) {
						b.WriteString(class)
					}
				}
			}
		}
	}
	return b.String()
}

// What is typed has the colours that the site's page of the file has, and the text area stays one for axe.
func TestTypedCodeHasTheColoursOfPages(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	tab := browsertest.Start(t).Tab(t)
	tab.Goto(w.serve("ann") + "/classes/cs101/assignments/hw1")
	assert.Zero(t, tab.Number(`performance.getEntriesByType("resource").filter(({ name }) => /editor|grammars/.test(name)).length`))
	tab.Press("Type")
	tab.Await("Its text")
	const painted = `[...document.querySelectorAll(".layers.coloured code > span, .layers.coloured code")].length`
	const got = `[...document.querySelector(".paint code").childNodes].map((node) => (node.className || "--").repeat([...node.textContent.replace(/\s/g, "")].length)).join("")`
	for _, one := range typed {
		tab.Fill("#f-name-0", one.name)
		tab.Fill("#f-text-0", one.text)
		require.Eventually(t, func() bool { return tab.Number(painted) > 0 }, 5*time.Minute, 10*time.Millisecond, one.name)
		want, err := json.Marshal(coloursOf(source.Lines(one.name, one.text)))
		require.NoError(t, err)
		assert.InDelta(t, 1, tab.Number(fmt.Sprintf("Number(%s === %s)", got, want)), 0, "%s\n%s", one.name, want)
	}
	tab.Fill("#f-name-0", "rle.c")
	tab.Fill("#f-text-0", strings.Repeat(typed[0].text, 10))
	for _, dark := range []bool{false, true} {
		tab.Screen(1280, 900, dark)
		assert.Empty(t, tab.Axe())
		if dir := os.Getenv("DROVER_LOOK"); dir != "" {
			tab.Screenshot(filepath.Join(dir, fmt.Sprintf("editor-%t.png", dark)))
		}
	}
	tab.Press("One more file")
	tab.Fill("#f-name-1", "a.go")
	tab.Fill("#f-text-1", "func f()")
	assert.InDelta(t, 2, tab.Number(`document.querySelectorAll(".layers.coloured").length`), 0)
	tab.Fill("#f-name-1", "notes")
	assert.InDelta(t, 1, tab.Number(`document.querySelectorAll(".layers.coloured").length`), 0)
	tab.Width(360)
	assert.Zero(t, tab.Overflow())
	tab.Press("Submit")
	tab.Await("What was submitted")
}
