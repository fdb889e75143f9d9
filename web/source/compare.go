package source

import (
	"html/template"
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// Bounds on a comparison.
const (
	context      = 3         // equal lines around what differs
	maxWords     = 400       // of a line that is compared by word
	MaxCompared  = 256 << 10 // bytes of either text
	MaxDiffering = 2000      // rows of a comparison
)

// Comparison is how a text became another one.
type Comparison struct {
	Hunks          []Hunk
	Added, Removed int  // lines
	Cut            bool // there are more rows than are shown
}

// Hunk is a part of a comparison: lines that differ, and some around them.
type Hunk struct{ Rows []Row }

// Row is a line of one text or of both.
type Row struct {
	Sign     string // "-" of the old text, "+" of the new one, " " of both
	Old, New int    // numbers of the line; 0 where it is not there
	HTML     template.HTML
}

// Compare compares two texts by line, and lines that replace others by word.
func Compare(name, before, after string) Comparison {
	c := comparison{old: Lines(name, before), new: Lines(name, after), before: split(before), after: split(after)}
	if len(before) > MaxCompared || len(after) > MaxCompared {
		return Comparison{Cut: true}
	}
	end := 0 // of the old lines that are in a hunk already
	diffs := lcs.DiffLines(c.before, c.after)
	for i, d := range diffs {
		from := max(end, d.Start-context)
		if i == 0 || from > end {
			c.is.Hunks = append(c.is.Hunks, Hunk{})
		}
		shift := d.ReplStart - d.Start
		c.equal(from, d.Start, shift)
		c.replaced(d)
		until := min(len(c.before), d.End+context)
		if i+1 < len(diffs) {
			until = min(until, diffs[i+1].Start)
		}
		c.equal(d.End, until, d.ReplEnd-d.End)
		end = until
	}
	return c.is
}

// comparison is one that is being made.
type comparison struct {
	is            Comparison
	old, new      []Line
	before, after []string
	rows          int
}

// split returns the lines of a text as Lines does.
func split(text string) []string {
	text = strings.TrimSuffix(strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\r\n", "\n"), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func (c *comparison) add(r Row) {
	if c.rows++; c.rows > MaxDiffering {
		c.is.Cut = true
		return
	}
	last := &c.is.Hunks[len(c.is.Hunks)-1]
	last.Rows = append(last.Rows, r)
}

func (c *comparison) equal(from, to, shift int) {
	for i := from; i < to; i++ {
		c.add(Row{" ", i + 1, i + 1 + shift, c.old[i].HTML})
	}
}

// replaced adds lines that are only in one of the texts. A line that replaces another one shows which words differ.
func (c *comparison) replaced(d lcs.Diff) {
	removed, added := d.End-d.Start, d.ReplEnd-d.ReplStart
	c.is.Removed, c.is.Added = c.is.Removed+removed, c.is.Added+added
	olds, news := c.old[d.Start:d.End], c.new[d.ReplStart:d.ReplEnd]
	var pairs [][2]template.HTML
	if removed == added {
		for i := range removed {
			a, b := words(c.before[d.Start+i], c.after[d.ReplStart+i])
			pairs = append(pairs, [2]template.HTML{a, b})
		}
	}
	pick := func(i, side int, line Line) template.HTML {
		if pairs != nil && pairs[i][side] != "" {
			return pairs[i][side]
		}
		return line.HTML
	}
	for i, line := range olds {
		c.add(Row{"-", line.Number, 0, pick(i, 0, line)})
	}
	for i, line := range news {
		c.add(Row{"+", 0, line.Number, pick(i, 1, line)})
	}
}

// words returns two lines with the words that differ marked; nothing if too little is equal for that to help.
func words(before, after string) (a, b template.HTML) {
	if len(before) > MaxLine || len(after) > MaxLine {
		return "", ""
	}
	old, now := cut(before), cut(after)
	if len(old) > maxWords || len(now) > maxWords {
		return "", ""
	}
	var left, right strings.Builder
	i, k, same := 0, 0, 0
	for _, d := range lcs.DiffLines(old, now) {
		same += mark(&left, old[i:d.Start], "")
		mark(&right, now[k:d.ReplStart], "")
		mark(&left, old[d.Start:d.End], "del")
		mark(&right, now[d.ReplStart:d.ReplEnd], "ins")
		i, k = d.End, d.ReplEnd
	}
	same += mark(&left, old[i:], "")
	mark(&right, now[k:], "")
	if 3*same < len(strings.TrimSpace(before)) {
		return "", ""
	}
	return template.HTML(left.String()), template.HTML(right.String()) //nolint:gosec // escaped
}

// mark writes words, in an element if there is one, and returns how many bytes other than blanks they have.
func mark(to *strings.Builder, words []string, element string) int {
	if len(words) == 0 {
		return 0
	}
	text := strings.Join(words, "")
	if element == "" {
		to.WriteString(Escape(text))
	} else {
		to.WriteString("<" + element + ">" + Escape(text) + "</" + element + ">")
	}
	return len(strings.Join(strings.Fields(text), ""))
}

// cut splits a line into words, and all else character by character.
func cut(line string) (words []string) {
	begin := 0
	inWord := false
	for i, r := range line {
		is := unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_'
		if i > begin && (!is || !inWord) {
			words = append(words, line[begin:i])
			begin = i
		}
		inWord = is
	}
	if begin < len(line) {
		words = append(words, line[begin:])
	}
	return words
}
