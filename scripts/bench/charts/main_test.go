package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../../.."

// The charts are of the tables beside them.
func TestChartsAreOfTheTables(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, page))
	require.NoError(t, err)
	all, err := draw(string(text))
	require.NoError(t, err)
	for name, svg := range all {
		kept, err := os.ReadFile(filepath.Join(root, folder, name))
		require.NoError(t, err)
		require.Equal(t, svg, string(kept), "%s is of other numbers: go run ./scripts/bench/charts", name)
		require.Contains(t, string(text), "(charts/"+name+")", "the page shows each chart")
		wellFormed(t, svg)
	}
	files, err := os.ReadDir(filepath.Join(root, folder))
	require.NoError(t, err)
	require.Len(t, files, len(all))
}

// wellFormed reads a chart as XML, as browsers do.
func wellFormed(t *testing.T, svg string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}

// A number that a table has lost is named.
func TestMissingNumbersAreNamed(t *testing.T) {
	t.Parallel()
	_, err := draw("| system | median |\n|---|---|\n| drover, 100 slots | 7 |\n")
	require.ErrorContains(t, err, `row "BullMQ, c=100", column "median"`)
	require.NotContains(t, err.Error(), `row "drover, 100 slots",`)
}

// Bars are as long as their numbers, have these as text, and drover's differ by more than colour.
func TestBars(t *testing.T) {
	t.Parallel()
	c := chart{title: "a < b", groups: []group{{bars: []bar{{name: "drover", value: 20_000, own: true}, {name: "other", value: 5_000}}}}}
	svg := c.svg()
	require.Contains(t, svg, `width="355.0"`)
	require.Contains(t, svg, `width="88.8"`)
	require.Contains(t, svg, ">20,000<")
	require.Contains(t, svg, "a &lt; b")
	require.Contains(t, svg, "prefers-color-scheme: dark")
	require.Contains(t, svg, `<text class="name own"`)
}

func TestFigures(t *testing.T) {
	t.Parallel()
	for n, text := range map[float64]string{0.1: "0.1", 9.1: "9.1", 62: "62", 155: "155", 1234: "1,234", 113490: "113,490", 1234567: "1,234,567"} {
		require.Equal(t, text, figure(n))
	}
}
