// Package terminal has the input and output of commands: shared flags and arguments, settings, times and sizes as
// people write them, tables, JSON, questions, and exit codes. Texts of others are printed without control sequences.
package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"drover/core"
)

// PrintJSON prints one value, indented.
func PrintJSON(w io.Writer, v any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(cleanJSON(text.Bytes()))
	return err
}

// cellWidth is where the text in a cell is wrapped, narrowCell where it is at the least, even on a narrow terminal.
const (
	cellWidth  = 88
	narrowCell = 24
)

// columnWidths returns where each column is wrapped so that the table fits into a width, if possible: the widest
// column gives way. 0 is any width.
func columnWidths(header table.Row, rows []table.Row, width int) []int {
	widths := make([]int, len(header))
	total, widest := 0, 0
	for i := range header {
		for _, row := range append([]table.Row{header}, rows...) {
			if i < len(row) {
				widths[i] = max(widths[i], min(cellWidth, text.LongestLineLen(fmt.Sprint(row[i]))))
			}
		}
		total += widths[i] + 2 // a space on either side
		if widths[i] > widths[widest] {
			widest = i
		}
	}
	if width > 0 && total > width {
		widths[widest] = max(min(widths[widest], narrowCell), widths[widest]-(total-width))
	}
	return widths
}

// PrintTable prints rows under a header, or a sentence if there are none.
func PrintTable(w io.Writer, empty string, header table.Row, rows []table.Row) error {
	if len(rows) == 0 {
		_, err := io.WriteString(w, empty+"\n")
		return err
	}
	t := table.NewWriter()
	style := table.StyleLight
	style.Options = table.OptionsNoBordersAndSeparators
	style.Format.Header = text.FormatUpper
	t.SetStyle(style)
	var columns []table.ColumnConfig
	for i, most := range columnWidths(header, rows, terminalWidth(w)) {
		columns = append(columns, table.ColumnConfig{Number: i + 1, WidthMax: max(1, most), WidthMaxEnforcer: text.WrapSoft})
	}
	t.SetColumnConfigs(columns)
	if slices.ContainsFunc(header, func(cell any) bool { return cell != "" }) {
		t.AppendHeader(header)
	}
	t.AppendRows(rows)
	t.SuppressTrailingSpaces()
	_, err := io.WriteString(w, t.Render()+"\n")
	return err
}

// OnTerminal says whether w is a terminal that wants colours.
func OnTerminal(w io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && IsTerminal(w)
}

// Paint colours text for a terminal only.
func Paint(terminal bool, colour text.Color, s string) string {
	if !terminal {
		return s
	}
	return text.Escape(s, colour.EscapeSeq())
}

// Millis formats a time in ms; -1 is a time that was never reached.
func Millis(ms int64) string {
	switch {
	case ms < 0:
		return "-"
	case ms < 10_000:
		return strconv.FormatInt(ms, 10) + " ms"
	}
	return (time.Duration(ms) * time.Millisecond).Round(100 * time.Millisecond).String()
}

// Rounded is how long something took, as people read it.
func Rounded(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d > time.Minute {
		return d.Round(time.Second).String()
	}
	return d.Round(time.Millisecond).String()
}

// Span returns the time between two of a result's times; -1 if either was never reached.
func Span(from, to int64) int64 {
	if from < 0 || to < 0 {
		return -1
	}
	return to - from
}

// Since shows how long ago a moment in ms since 1970 was.
func Since(ms int64) string {
	if ms <= 0 {
		return "-"
	}
	ago := time.Since(time.UnixMilli(ms))
	if ago < time.Second {
		return "just now"
	}
	return units.HumanDuration(ago) + " ago"
}

// Size shows bytes.
func Size(n int64) string { return core.SizeText(n) }

// Points shows a score without needless digits; "-" for none.
func Points(p *float64) string {
	if p == nil {
		return "-"
	}
	return strconv.FormatFloat(*p, 'g', 6, 64)
}

// OrEmpty returns the list, not nil, so that JSON is [] instead of null.
func OrEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// FirstLine is the first line of a text.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(Clean(s), "\n")
	return text.Snip(line, 80, "…")
}

// OneIf returns 1 for true and 0 for false.
func OneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// Prefixed puts a prefix before a text, unless there is none.
func Prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// PausedWord says that something is paused.
func PausedWord(paused bool) string {
	if paused {
		return "paused"
	}
	return ""
}

// DisabledWord says that something is disabled.
func DisabledWord(disabled bool) string {
	if disabled {
		return "disabled"
	}
	return ""
}
