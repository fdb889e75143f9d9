package portable

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"drover/core/service/pattern"
)

// number is what a spreadsheet always reads as a number.
var number = pattern.New(`^-?[0-9]+(\.[0-9]+)?$`)

// Cell makes text safe to open in a spreadsheet: text that could be taken for a formula gets an apostrophe in front.
// Numbers stay numbers. Control characters become spaces: a cell is one line.
func Cell(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if formula(s) {
		return "'" + s
	}
	return s
}

// formula reports whether a spreadsheet might take s for a formula, also after dropping leading spaces, quotes and
// invisible characters, and in characters of any width.
func formula(s string) bool {
	if number().MatchString(s) {
		return false
	}
	s = strings.TrimLeftFunc(norm.NFKC.String(s), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune("'\"`‘’“”", r)
	})
	return strings.IndexAny(s, "=+-@−") == 0
}
