package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"drover/core"
	"drover/core/harness"
	"drover/core/harness/cases"
)

// printReport prints a graded submission as a person likes to read it.
func printReport(w io.Writer, r *core.Result) error {
	terminal := onTerminal(w)
	verdict := harness.VerdictOf(r)
	head := paint(terminal, verdictColour(verdict), string(verdict))
	if r.Score != nil && r.MaxScore != nil {
		head = fmt.Sprintf("%s  %s of %s points  %s", bar(terminal, *r.Score, *r.MaxScore, 30), points(r.Score), points(r.MaxScore), head)
	}
	if _, err := fmt.Fprintln(w, head); err != nil {
		return err
	}
	if r.Reason != "" {
		if _, err := fmt.Fprintln(w, clean(r.Reason)); err != nil {
			return err
		}
	}
	if len(r.Tests) > 0 {
		if err := printTests(w, terminal, r.Tests); err != nil {
			return err
		}
	}
	if r.Blame == core.BlameHarness && r.Stderr != "" {
		if _, err := fmt.Fprintf(w, "\nthe harness wrote to its standard error:\n%s\n", clean(tail(r.Stderr, 2000))); err != nil {
			return err
		}
	}
	where := ""
	if r.Host != "" { // students do not see it
		where = " on " + r.Host
	}
	_, err := fmt.Fprintf(w, "\nrequest %s: waited %s, staged in %s, ran %s%s; memory %s\n", r.ID,
		millis(r.Times.Claimed), millis(span(r.Times.Claimed, r.Times.Started)),
		millis(span(r.Times.Started, r.Times.Finished)), where, size(r.Usage.MemoryPeakBytes))
	return err
}

func printTests(w io.Writer, terminal bool, tests []core.Test) error {
	var rows []table.Row
	head := table.Row{"", "test", "points", ""}
	judged := slices.ContainsFunc(tests, func(t core.Test) bool { return t.Verdict != "" })
	if judged {
		head = append(head, "verdict", "time", "memory")
	}
	for _, t := range tests {
		row := table.Row{markTest(terminal, &t), clean(t.Name), outOf(t.Score, t.MaxScore), bar(terminal, t.Score, t.MaxScore, 10)}
		if judged {
			row = append(row, measures(&t)...)
		}
		rows = append(rows, row)
		for _, p := range t.Parts {
			rows = append(rows, table.Row{mark(terminal, p.Score, p.MaxScore), "  " + clean(p.Name), outOf(p.Score, p.MaxScore), ""})
		}
		rows = append(rows, message(t.Message)...)
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	return printTable(w, "", head, rows)
}

// markTest is a sign for a test: what it says of itself counts where it has no points.
func markTest(terminal bool, t *core.Test) string {
	if t.Verdict != "" && t.Verdict != cases.Accepted && t.Score <= 0 {
		return paint(terminal, text.FgRed, "✗")
	}
	return mark(terminal, t.Score, t.MaxScore)
}

// measures are a test's verdict and what it used, where anybody measured.
func measures(t *core.Test) table.Row {
	if t.Usage == nil {
		return table.Row{clean(t.Verdict), "", ""}
	}
	return table.Row{clean(t.Verdict), millis(max(t.Usage.CPUMs, 0)), size(t.Usage.MemoryPeakBytes)}
}

// message is the beginning of a test's message, a line a row; --json has the whole.
func message(text string) []table.Row {
	const most = 8
	var rows []table.Row
	for line := range strings.Lines(strings.TrimSpace(text)) {
		if len(rows) == most {
			return append(rows, table.Row{"", "    …", "", ""})
		}
		if line = strings.TrimRight(line, " \n"); line != "" {
			rows = append(rows, table.Row{"", "    " + clean(line), "", ""})
		}
	}
	return rows
}

func outOf(score, most float64) string {
	if most <= 0 {
		return points(&score)
	}
	return points(&score) + " / " + points(&most)
}

// mark is a sign for a test: all points, some, none. Without a maximum only a
// negative score is bad.
func mark(terminal bool, score, most float64) string {
	switch {
	case score >= most && score >= 0:
		return paint(terminal, text.FgGreen, "✓")
	case score > 0:
		return paint(terminal, text.FgYellow, "~")
	}
	return paint(terminal, text.FgRed, "✗")
}

// bar draws a share of width cells.
func bar(terminal bool, score, most float64, width int) string {
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
	return paint(terminal, colour, strings.Repeat("█", full)) + strings.Repeat("░", width-full)
}

func verdictColour(v harness.Verdict) text.Color {
	switch v {
	case harness.Passed:
		return text.FgGreen
	case harness.Partial:
		return text.FgYellow
	default:
		return text.FgRed
	}
}

// tail is the end of a text, at most n bytes.
func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	return "…" + s
}
