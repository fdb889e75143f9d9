package source_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/web/source"
)

// shown writes a comparison as one would by hand.
func shown(c source.Comparison) string {
	var b strings.Builder
	for _, h := range c.Hunks {
		b.WriteString("@\n")
		for _, r := range h.Rows {
			fmt.Fprintf(&b, "%s %d %d %s\n", r.Sign, r.Old, r.New, r.HTML)
		}
	}
	return b.String()
}

func TestCompareByLineAndWord(t *testing.T) {
	t.Parallel()
	var before []string
	for i := range 20 {
		before = append(before, fmt.Sprintf("line%d = old", i+1))
	}
	after := append([]string{"first"}, before...)
	after[11] = "line11 = <new>"
	c := source.Compare("notes.txt", strings.Join(before, "\n"), strings.Join(after, "\n")+"\n")
	require.Equal(t, `@
+ 0 1 first
  1 2 line1 = old
  2 3 line2 = old
  3 4 line3 = old
@
  8 9 line8 = old
  9 10 line9 = old
  10 11 line10 = old
- 11 0 line11 = <del>old</del>
+ 0 12 line11 = <ins>&lt;new&gt;</ins>
  12 13 line12 = old
  13 14 line13 = old
  14 15 line14 = old
`, shown(c))
	require.Equal(t, 2, c.Added)
	require.Equal(t, 1, c.Removed)
	require.Empty(t, source.Compare("a", "x\ny", "x\r\ny\n").Hunks, "the ends of lines do not count")
	require.Equal(t, "@\n+ 0 1 <span class=\"hk\">return</span>\n", shown(source.Compare("a.py", "", "return")))
	require.Equal(t, "@\n- 1 0 a\n+ 0 1 &lt;b&gt;\n", shown(source.Compare("a", "a", "<b>")))
}

// Texts in which nothing or everything is alike end soon, and are cut.
func TestCompareIsBounded(t *testing.T) {
	t.Parallel()
	var a, b strings.Builder
	for i := range 8000 {
		fmt.Fprintf(&a, "a%d\n", i)
		fmt.Fprintf(&b, "b%d\n", i%7)
	}
	c := source.Compare("x", a.String(), b.String())
	require.True(t, c.Cut)
	require.Equal(t, 8000, c.Added)
	n := 0
	for _, h := range c.Hunks {
		n += len(h.Rows)
	}
	require.Equal(t, source.MaxDiffering, n)
	require.True(t, source.Compare("x", strings.Repeat("x", source.MaxCompared+1), "").Cut)
}
