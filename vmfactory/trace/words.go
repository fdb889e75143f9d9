package trace

import (
	"io"
	"strings"
)

// Hear returns the first line of what a VM's first process said, and not much of
// that: a sentence of ours goes around it.
func Hear(from io.Reader) string {
	const most = 300
	text, _ := io.ReadAll(io.LimitReader(from, most)) // it ends how it likes
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return strings.ToValidUTF8(strings.TrimSpace(line), "?")
}
