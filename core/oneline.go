package core

import (
	"strings"
	"unicode"
)

// OneLine makes one printable line of text from outside, of at most so many bytes and a sign that it was cut.
func OneLine(text string, most int) string {
	text = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "?"))
	if text = strings.Join(strings.Fields(text), " "); len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
