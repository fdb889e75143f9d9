package attack

import (
	"fmt"
	"strings"
)

// What begins and ends the table in a document.
const (
	Begin = "<!-- attack table: written by `go test ./vmfactory/providertest/attack -update`; do not edit -->"
	End   = "<!-- end of attack table -->"
)

// The words of the table's cells.
const (
	held    = "held"
	byWatch = "watchdog"
	notHeld = "not held"
	inPart  = "in part"
)

// Table writes the table of attacks and providers, with its footnotes, as Markdown.
func Table() string {
	var b strings.Builder
	var notes []string
	b.WriteString("| # | attack | a good sandbox |")
	for _, c := range Columns() {
		fmt.Fprintf(&b, " %s |", c.Title)
	}
	b.WriteString("\n|---|---|---|" + strings.Repeat("---|", len(Columns())) + "\n")
	for _, p := range Probes() {
		fmt.Fprintf(&b, "| %d | %s | %s |", p.Number, p.Name, p.Good)
		for _, c := range Columns() {
			fmt.Fprintf(&b, " %s |", c.cell(p.Number, &notes))
		}
		b.WriteByte('\n')
	}
	for i, note := range notes {
		fmt.Fprintf(&b, "\n%d. %s", i+1, note)
	}
	b.WriteString("\n\n" + cgroupsNote + "\n")
	return b.String()
}

// cell is what a provider does about one attack, with the number of its footnote.
func (c Column) cell(number int, notes *[]string) string {
	e, excepted := c.except[number]
	if !excepted {
		return held
	}
	word := notHeld
	switch {
	case e.weak:
		word = byWatch
	case e.partly:
		word = inPart
	}
	for i, note := range *notes {
		if note == e.why {
			return fmt.Sprintf("%s (%d)", word, i+1)
		}
	}
	*notes = append(*notes, e.why)
	return fmt.Sprintf("%s (%d)", word, len(*notes))
}
