package core

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds of what people write, in bytes.
const (
	MaxLine   = 200      // a name, title or term, an idempotency key
	MaxReason = 4 << 10  // why somebody did something
	MaxText   = 64 << 10 // Markdown
)

// CheckLine checks text of one line: printable, at most so many bytes. Returns INVALID or LIMIT.
func CheckLine(id, what, s string, most int) error {
	if err := checkUTF8(id, what, s, most); err != nil {
		return err
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return Errorf(CodeInvalid, id, "the %s of %s holds a control character: write it in one line of plain text", what, id)
	}
	return nil
}

// CheckTitle checks a line that may not be empty. Returns INVALID or LIMIT.
func CheckTitle(id, what, s string) error {
	if strings.TrimSpace(s) == "" {
		return Errorf(CodeInvalid, id, "the %s of %s is empty: name one", what, id)
	}
	return CheckLine(id, what, s, MaxLine)
}

// CheckText checks text of many lines: printable, with line feeds and tabs. Returns INVALID or LIMIT.
func CheckText(id, what, s string, most int) error {
	if err := checkUTF8(id, what, s, most); err != nil {
		return err
	}
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
		return Errorf(CodeInvalid, id, "the %s of %s holds a control character other than line feed and tab: remove it", what, id)
	}
	return nil
}

func checkUTF8(id, what, s string, most int) error {
	if len(s) > most {
		return Errorf(CodeLimit, id, "the %s of %s has %d bytes, at most %d are allowed", what, id, len(s), most)
	}
	if !utf8.ValidString(s) {
		return Errorf(CodeInvalid, id, "the %s of %s is not UTF-8", what, id)
	}
	return nil
}

// CheckNames checks several names, given as kind and name in turn. Returns INVALID.
func CheckNames(pairs ...string) error {
	for pair := range slices.Chunk(pairs, 2) {
		if err := CheckName(pair[0], pair[1]); err != nil {
			return err
		}
	}
	return nil
}

// CheckOptional checks a name that may be left out. Returns INVALID.
func CheckOptional(kind, name string) error {
	if name == "" {
		return nil
	}
	return CheckName(kind, name)
}

// CheckTimes checks moments in ms since 1970. Returns INVALID.
func CheckTimes(id string, all ...int64) error {
	for _, ms := range all {
		if ms < 0 {
			return Errorf(CodeInvalid, id, "%s names a time before 1970 (%d ms)", id, ms)
		}
	}
	return nil
}

// CheckRevision checks the revision of what is put. Returns INVALID.
func CheckRevision(id string, n int64) error {
	if n < 0 {
		return Errorf(CodeInvalid, id, "%s has revision %d: 0 makes it, another one changes what has that one", id, n)
	}
	return nil
}
