package terminal

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/term"
)

// IsTerminal says whether what is written to w reaches a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminalWidth is how many characters a line of w's terminal takes; 0 if there is none.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// Visible writes output of untrusted programs to a terminal: control sequences, which could change the screen, its
// title or the next input, are shown instead of sent. Other text passes unchanged, however it is split.
type Visible struct {
	To   io.Writer
	held []byte // the beginning of a character, or a carriage return
}

// Write implements io.Writer.
func (v *Visible) Write(p []byte) (int, error) {
	v.held = append(v.held, p...)
	return len(p), v.send(false)
}

// Flush writes the held beginning of a character.
func (v *Visible) Flush() error { return v.send(true) }

func (v *Visible) send(last bool) error {
	out, rest := escape(nil, v.held, last)
	v.held = append(v.held[:0], rest...)
	if len(out) == 0 {
		return nil
	}
	_, err := v.To.Write(out)
	return err
}

// escape appends text to out, with everything that is not printable in Go's notation, except line ends and tabs.
// Unless it is the last of the text, an incomplete character is returned.
func escape(out, text []byte, last bool) (escaped, rest []byte) {
	for len(text) > 0 {
		if !last && (!utf8.FullRune(text) || text[0] == '\r' && len(text) == 1) {
			return out, text
		}
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1:
			out = append(out, `\x`+strconv.FormatUint(uint64(text[0]), 16)...)
		case r == '\n', r == '\t', r == '\r' && bytes.HasPrefix(text, []byte("\r\n")), strconv.IsGraphic(r):
			out = append(out, text[:n]...)
		default:
			quoted := strconv.AppendQuoteRuneToGraphic(nil, r)
			out = append(out, quoted[1:len(quoted)-1]...)
		}
		text = text[n:]
	}
	return out, nil
}

// Clean makes text of users safe for a terminal.
func Clean(s string) string {
	out, _ := escape(nil, []byte(s), true)
	return string(out)
}

// cleanJSON writes unprintable characters in JSON as \u sequences, which mean the same.
func cleanJSON(text []byte) []byte {
	var out []byte
	for _, r := range string(text) {
		if r == '\n' || strconv.IsGraphic(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			out = append(out, `\u`...)
			out = append(out, strconv.FormatUint(0x10000|uint64(unit), 16)[1:]...)
		}
	}
	return out
}
