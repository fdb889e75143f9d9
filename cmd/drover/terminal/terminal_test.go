package terminal

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestControlSequencesAreShownNotSent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain, ünïcödé, 日本, 👍\n\tindented": "plain, ünïcödé, 日本, 👍\n\tindented",
		"\x1b[31mred\x1b[0m":                `\x1b[31mred\x1b[0m`,
		"\x1b]0;title\a":                    `\x1b]0;title\a`,
		"\u009b2J":                          `\u009b2J`,
		"\x9b2J":                            `\x9b2J`,
		"good\rbad":                         `good\rbad`,
		"dos\r\nlines\r\n":                  "dos\r\nlines\r\n",
		"end\r":                             `end\r`,
		"a\x00\x7f\b":                       `a\x00\x7f\b`,
		"\u202egnitirw":                     `\u202egnitirw`,
		"cut \xe6\x97":                      `cut \xe6\x97`,
		`back\slash`:                        `back\slash`,
	} {
		require.Equal(t, want, Clean(text))
		var whole bytes.Buffer
		v := &Visible{To: &whole}
		_, err := v.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, v.Flush())
		require.Equal(t, want, whole.String())
	}
}

// Wherever the text is split, the terminal gets the same, and nothing that it obeys.
func TestVisibleWhereverItIsSplit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.SampledFrom([]string{"\x1b", "\r", "\n", "\xc2", "\x9b", "日", "[2J", "\xf0\x9f", "a", "\u202e"})).Draw(t, "pieces")
		text := strings.Join(pieces, "")
		var out bytes.Buffer
		v := &Visible{To: &out}
		for _, p := range pieces {
			for i := range len(p) {
				_, err := v.Write([]byte{p[i]})
				require.NoError(t, err)
				require.LessOrEqual(t, len(v.held), utf8.UTFMax)
			}
		}
		require.NoError(t, v.Flush())
		require.Equal(t, Clean(text), out.String())
		require.True(t, utf8.Valid(out.Bytes()))
		require.NotContains(t, strings.ReplaceAll(out.String(), "\r\n", ""), "\r")
		require.NotContains(t, out.String(), "\x1b")
		require.NotContains(t, out.String(), "\u009b")
	})
}

func TestVisibleTellsOfAWriterThatFails(t *testing.T) {
	t.Parallel()
	_, err := (&Visible{To: failing{}}).Write([]byte("x"))
	require.ErrorIs(t, err, os.ErrClosed)
}

type failing struct{}

// Write implements io.Writer.
func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestTablesFitTheTerminal(t *testing.T) {
	t.Parallel()
	header := table.Row{"", "about", "finding"}
	rows := []table.Row{{"ok", "limit on memory", strings.Repeat("long ", 30)}, {"", 5, "short\n" + strings.Repeat("\x1b[31mx\x1b[0m", 20)}}
	for width, want := range map[int][]int{
		0:   {2, 15, cellWidth},
		200: {2, 15, cellWidth},
		100: {2, 15, 100 - 2 - 15 - 6},
		40:  {2, 15, narrowCell},
	} {
		require.Equal(t, want, columnWidths(header, rows, width), width)
	}
	require.Equal(t, []int{1, 1}, columnWidths(table.Row{"a", "b"}, nil, 2), "what is narrow stays")
}

func TestJSONMeansTheSameAndIsSafe(t *testing.T) {
	t.Parallel()
	text := "日本 \x1b[2J \u009b2J \u202e \x7f \U000e0001 <&>"
	var out bytes.Buffer
	require.NoError(t, PrintJSON(&out, text))
	for _, bad := range []string{"\x1b", "\u009b", "\u202e", "\x7f", "\U000e0001"} {
		require.NotContains(t, out.String(), bad)
	}
	require.Contains(t, out.String(), "日本")
	require.Contains(t, out.String(), "<&>")
	var back string
	require.NoError(t, json.Unmarshal(out.Bytes(), &back))
	require.Equal(t, text, back)
}
