package trace

import (
	"io"
	"strings"
)

// Hear returns the first line of the output of a VM's first process, shortened: it becomes part of a sentence.
func Hear(from io.Reader) string {
	const most = 300
	text, _ := io.ReadAll(io.LimitReader(from, most)) // any error ends it
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return strings.ToValidUTF8(strings.TrimSpace(line), "?")
}
