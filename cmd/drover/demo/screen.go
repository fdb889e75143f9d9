package demo

import (
	"fmt"
	"io"
	"strings"

	"drover/cmd/drover/terminal"
)

// screen draws a few lines again and again in place. Without a terminal it writes each event once.
type screen struct {
	to    io.Writer
	live  bool
	lines int // that were drawn last
	told  int // events that were written
}

func newScreen(to io.Writer) *screen { return &screen{to: to, live: terminal.IsTerminal(to)} }

// draw replaces what was drawn before. Events calls its argument with everything that has ever happened. What cannot be
// written is nobody's loss.
func (s *screen) draw(lines []string, events func(func(string))) {
	if !s.live {
		n := 0
		events(func(text string) {
			if n++; n > s.told {
				s.told = n
				fmt.Fprintf(s.to, "%s (%s)\n", text, squeezed(lines[:min(len(lines), 4)]))
			}
		})
		return
	}
	var b strings.Builder
	if s.lines > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", s.lines) // up
	}
	for _, line := range lines {
		b.WriteString("\x1b[2K" + terminal.Clean(line) + "\n") // nothing of the former line stays
	}
	b.WriteString("\x1b[J") // nor below
	s.lines = len(lines)
	_, _ = io.WriteString(s.to, b.String())
}

// squeezed writes lines as one, without pictures.
func squeezed(lines []string) string {
	words := strings.FieldsFunc(strings.Join(lines, ","), func(r rune) bool { return r == ' ' || r == '█' || r == '·' })
	return strings.ReplaceAll(strings.Join(words, " "), " ,", ",")
}
