package student

import (
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"drover/web/page"
)

// Bounds on what is compared.
const (
	maxCompared = 32 << 10 // bytes of either side
	maxLines    = 500      // of either side
)

// column is what a test was given, what was expected or what was printed.
type column struct {
	Title string
	Class string // of its marks: del or ins
	Lines [][]piece
}

// piece is a part of a line; marked where it differs from the other side.
type piece struct {
	Text   string
	Marked bool
}

// columns returns what a test in the stock harness's format shows side by side: input, expected, printed, errors.
func columns(m message) []column {
	var all []column
	want, got := m.of(titleExpected), m.of(titlePrinted)
	both := m.has(titleExpected) && m.has(titlePrinted)
	left, right := plainLines(want), plainLines(got)
	if both && len(want) <= maxLines && len(got) <= maxLines && bytesOf(want) <= maxCompared && bytesOf(got) <= maxCompared {
		left, right = aligned(want, got)
	}
	for _, c := range []struct {
		block, title, class string
		lines               [][]piece
	}{
		{titleGiven, page.Sentence("Input"), "", plainLines(m.of(titleGiven))},
		{titleExpected, page.Sentence("Expected"), "want", left},
		{titlePrinted, page.Sentence("Yours"), "got", right},
		{titleErrors, page.Sentence("Standard error"), "", plainLines(m.of(titleErrors))},
	} {
		if m.has(c.block) {
			all = append(all, column{c.title, c.class, c.lines})
		}
	}
	return all
}

func bytesOf(lines []string) (n int) {
	for _, line := range lines {
		n += len(line) + 1
	}
	return n
}

func plainLines(lines []string) [][]piece {
	all := make([][]piece, len(lines))
	for i, line := range lines {
		all[i] = []piece{{Text: line}}
	}
	return all
}

// aligned returns two texts line by line with marks at what differs. Where one side has more lines, the other one is
// filled up, so that equal lines stand side by side.
func aligned(want, got []string) (left, right [][]piece) {
	for _, op := range difflib.NewMatcher(want, got).GetOpCodes() {
		if op.Tag == 'e' {
			left, right = append(left, plainLines(want[op.I1:op.I2])...), append(right, plainLines(got[op.J1:op.J2])...)
			continue
		}
		for k := range max(op.I2-op.I1, op.J2-op.J1) {
			i, j := op.I1+k, op.J1+k
			switch {
			case i >= op.I2:
				left, right = append(left, []piece{}), append(right, whole(got[j]))
			case j >= op.J2:
				left, right = append(left, whole(want[i])), append(right, []piece{})
			default:
				l, r := inLine(want[i], got[j])
				left, right = append(left, l), append(right, r)
			}
		}
	}
	return left, right
}

// whole marks a line that the other side does not have.
func whole(line string) []piece { return []piece{{visible(line), true}} }

// inLine marks what differs between two lines: all but their common beginning and end. Blanks are made visible where
// nothing else differs.
func inLine(want, got string) (left, right []piece) {
	if strings.Join(strings.Fields(want), " ") == strings.Join(strings.Fields(got), " ") {
		want, got = visible(want), visible(got)
	}
	a, b := []rune(want), []rune(got)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	cut := func(of []rune) (pieces []piece) {
		for _, p := range []piece{{string(of[:head]), false}, {string(of[head : len(of)-tail]), true}, {string(of[len(of)-tail:]), false}} {
			if p.Text != "" {
				pieces = append(pieces, p)
			}
		}
		return pieces
	}
	return cut(a), cut(b)
}

// visible makes blanks visible: those at the end, tabs and carriage returns.
func visible(line string) string {
	text := strings.TrimRight(line, " ")
	return strings.NewReplacer("\t", "→\t", "\r", "␍").Replace(text) + strings.Repeat("·", len(line)-len(text))
}

// blanksCount reports whether a comparison shows blanks that a reader has to be told of.
func blanksCount(all []column) bool {
	for _, c := range all {
		for _, line := range c.Lines {
			for _, p := range line {
				if p.Marked && strings.ContainsAny(p.Text, "·→␍") {
					return true
				}
			}
		}
	}
	return false
}
