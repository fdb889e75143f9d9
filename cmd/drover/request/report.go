package request

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/harness"
	"drover/core/harness/cases"
)

// PrintReport prints a graded submission for people.
func PrintReport(w io.Writer, r *core.Result) error {
	tty := terminal.OnTerminal(w)
	verdict := harness.VerdictOf(r)
	head := terminal.Paint(tty, VerdictColour(verdict), string(verdict))
	if r.Score != nil && r.MaxScore != nil {
		head = fmt.Sprintf("%s  %s of %s points  %s", Bar(tty, *r.Score, *r.MaxScore, 30), terminal.Points(r.Score), terminal.Points(r.MaxScore), head)
	}
	if _, err := fmt.Fprintln(w, head); err != nil {
		return err
	}
	if r.Reason != "" {
		if _, err := fmt.Fprintln(w, terminal.Clean(r.Reason)); err != nil {
			return err
		}
	}
	if len(r.Tests) > 0 {
		if err := printTests(w, tty, r.Tests); err != nil {
			return err
		}
	}
	if r.Blame == core.BlameHarness && r.Stderr != "" {
		if _, err := fmt.Fprintf(w, "\nthe harness wrote to its standard error:\n%s\n", terminal.Clean(Tail(r.Stderr, 2000))); err != nil {
			return err
		}
	}
	where := ""
	if r.Host != "" { // students do not see it
		where = " on " + r.Host
	}
	_, err := fmt.Fprintf(w, "\nrequest %s: waited %s, staged in %s, ran %s%s; memory %s\n", r.ID,
		terminal.Millis(r.Times.Claimed), terminal.Millis(terminal.Span(r.Times.Claimed, r.Times.Started)),
		terminal.Millis(terminal.Span(r.Times.Started, r.Times.Finished)), where, terminal.Size(r.Usage.MemoryPeakBytes))
	return err
}

func printTests(w io.Writer, tty bool, tests []core.Test) error {
	var rows []table.Row
	head := table.Row{"", "test", "points", ""}
	judged := slices.ContainsFunc(tests, func(t core.Test) bool { return t.Verdict != "" })
	if judged {
		head = append(head, "verdict", "time", "memory")
	}
	for _, t := range tests {
		row := table.Row{markTest(tty, &t), terminal.Clean(t.Name), OutOf(t.Score, t.MaxScore), Bar(tty, t.Score, t.MaxScore, 10)}
		if judged {
			row = append(row, measures(&t)...)
		}
		rows = append(rows, row)
		for _, p := range t.Parts {
			rows = append(rows, table.Row{mark(tty, p.Score, p.MaxScore), "  " + terminal.Clean(p.Name), OutOf(p.Score, p.MaxScore), ""})
		}
		rows = append(rows, message(t.Message)...)
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	return terminal.PrintTable(w, "", head, rows)
}

// markTest returns a sign for a test: by its verdict if it has no points.
func markTest(tty bool, t *core.Test) string {
	if t.Verdict != "" && t.Verdict != cases.Accepted && t.Score <= 0 {
		return terminal.Paint(tty, text.FgRed, "✗")
	}
	return mark(tty, t.Score, t.MaxScore)
}

// measures formats a test's verdict and usage, if measured.
func measures(t *core.Test) table.Row {
	if t.Usage == nil {
		return table.Row{terminal.Clean(t.Verdict), "", ""}
	}
	return table.Row{terminal.Clean(t.Verdict), terminal.Millis(max(t.Usage.CPUMs, 0)), terminal.Size(t.Usage.MemoryPeakBytes)}
}

// message returns the beginning of a test's message, one row per line; --json has all of it.
func message(text string) []table.Row {
	const most = 8
	var rows []table.Row
	for line := range strings.Lines(strings.TrimSpace(text)) {
		if len(rows) == most {
			return append(rows, table.Row{"", "    …", "", ""})
		}
		if line = strings.TrimRight(line, " \n"); line != "" {
			rows = append(rows, table.Row{"", "    " + terminal.Clean(line), "", ""})
		}
	}
	return rows
}

// OutOf formats a score and its maximum.
func OutOf(score, most float64) string {
	if most <= 0 {
		return terminal.Points(&score)
	}
	return terminal.Points(&score) + " / " + terminal.Points(&most)
}

// mark returns a sign for a score: all points, some, none. Without a maximum only a negative score is bad.
func mark(tty bool, score, most float64) string {
	switch {
	case score >= most && score >= 0:
		return terminal.Paint(tty, text.FgGreen, "✓")
	case score > 0:
		return terminal.Paint(tty, text.FgYellow, "~")
	}
	return terminal.Paint(tty, text.FgRed, "✗")
}

// Bar draws a share of width cells.
func Bar(tty bool, score, most float64, width int) string {
	if most <= 0 {
		return ""
	}
	share := min(max(score/most, 0), 1)
	full := int(share*float64(width) + 0.5)
	colour := text.FgYellow
	switch full {
	case 0:
		colour = text.FgRed
	case width:
		colour = text.FgGreen
	}
	return terminal.Paint(tty, colour, strings.Repeat("█", full)) + strings.Repeat("░", width-full)
}

// VerdictColour is the colour of a verdict on a terminal.
func VerdictColour(v harness.Verdict) text.Color {
	switch v {
	case harness.Passed:
		return text.FgGreen
	case harness.Partial:
		return text.FgYellow
	default:
		return text.FgRed
	}
}

// Tail is the end of a text, at most n bytes.
func Tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	return "…" + s
}
