package student

import (
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// Bounds on what is compared.
const (
	maxCompared = 32 << 10 // bytes of either side
	maxLines    = 500      // of either side
)

// change is a line of a difference: Sign is "-" for an expected line that is missing, "+" for an unexpected one, " "
// for a line on both sides.
type change struct{ Sign, Text string }

// difference compares a test's expected and actual output, if its message shows both in the stock harness's format: a
// line "Expected:" and one "Printed:", each with a fenced block below. Returns nil if the message does not, or if
// they are equal or too long.
func difference(message string) []change {
	want, isThere := fenced(message, "Expected:")
	got, isToo := fenced(message, "Printed:")
	if !isThere || !isToo || len(want) > maxLines || len(got) > maxLines {
		return nil
	}
	var all []change
	same := true
	for _, op := range difflib.NewMatcher(want, got).GetOpCodes() {
		if op.Tag == 'e' {
			all = appendLines(all, " ", want[op.I1:op.I2])
			continue
		}
		same = false
		all = appendLines(all, "-", want[op.I1:op.I2])
		all = appendLines(all, "+", got[op.J1:op.J2])
	}
	if same {
		return nil
	}
	return all
}

func appendLines(all []change, sign string, lines []string) []change {
	for _, line := range lines {
		if sign != " " {
			line = visible(line)
		}
		all = append(all, change{sign, line})
	}
	return all
}

// visible makes invisible characters visible: blanks at the end, tabs and carriage returns.
func visible(line string) string {
	text := strings.TrimRight(line, " ")
	return strings.NewReplacer("\t", "→\t", "\r", "␍").Replace(text) + strings.Repeat("·", len(line)-len(text))
}

// fenced returns the lines of the fenced block below a line.
func fenced(message, title string) ([]string, bool) {
	_, rest, ok := strings.Cut("\n"+message, "\n"+title+"\n")
	if !ok {
		return nil, false
	}
	fence, rest, ok := strings.Cut(strings.TrimLeft(rest, "\n"), "\n")
	if !ok || len(fence) < 3 || strings.Trim(fence, "`") != "" {
		return nil, false
	}
	block, _, ok := strings.Cut("\n"+rest, "\n"+fence)
	if !ok || len(block) > maxCompared {
		return nil, false
	}
	if block == "" {
		return nil, true
	}
	return strings.Split(block[1:], "\n"), true
}
