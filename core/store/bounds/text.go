package bounds

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"drover/core"
	"drover/core/service/pattern"
)

// The bounds of texts by people, in bytes.
const (
	MaxLine   = 200      // a name, title or term, an idempotency key
	MaxReason = 4 << 10  // the reason of an action
	MaxText   = 64 << 10 // Markdown
	MaxEmail  = 254      // by RFC 5321
)

// line checks text of one line: printable, at most so many bytes. Returns INVALID or LIMIT.
func line(id, what, s string, most int) error {
	if err := utf8Within(id, what, s, most); err != nil {
		return err
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return core.Errorf(core.CodeInvalid, id, "the %s of %s holds a control character: write it in one line of plain text", what, id)
	}
	return nil
}

// title checks a line that may not be empty.
func title(id, what, s string) error {
	if strings.TrimSpace(s) == "" {
		return core.Errorf(core.CodeInvalid, id, "the %s of %s is empty: name one", what, id)
	}
	return line(id, what, s, MaxLine)
}

// text checks text of many lines: printable, with line feeds and tabs. Returns INVALID or LIMIT.
func text(id, what, s string, most int) error {
	if err := utf8Within(id, what, s, most); err != nil {
		return err
	}
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
		return core.Errorf(core.CodeInvalid, id, "the %s of %s holds a control character other than line feed and tab: remove it", what, id)
	}
	return nil
}

func utf8Within(id, what, s string, most int) error {
	if len(s) > most {
		return core.Errorf(core.CodeLimit, id, "the %s of %s has %d bytes, at most %d are allowed", what, id, len(s), most)
	}
	if !utf8.ValidString(s) {
		return core.Errorf(core.CodeInvalid, id, "the %s of %s is not UTF-8", what, id)
	}
	return nil
}

// mail is the format of an e-mail address: one "@" with something on both sides, and no characters with a meaning in
// a header or a list of addresses.
var mail = pattern.New(`^[^\s\pC@"(),:;<>\[\]\\]+@[^\s\pC@"(),:;<>\[\]\\]+$`)

func email(id, s string) error {
	if err := utf8Within(id, "e-mail address", s, MaxEmail); err != nil {
		return err
	}
	if !mail().MatchString(s) || strings.ToLower(s) != s {
		return core.Errorf(core.CodeInvalid, id, "%q is not an e-mail address of the form name@place in lower case", s)
	}
	return nil
}

// names checks several names, given as kind and name in turn. Returns INVALID.
func names(pairs ...string) error {
	for pair := range slices.Chunk(pairs, 2) {
		if err := core.CheckName(pair[0], pair[1]); err != nil {
			return err
		}
	}
	return nil
}

// times checks moments in ms since 1970. Returns INVALID.
func times(id string, all ...int64) error {
	for _, ms := range all {
		if ms < 0 {
			return core.Errorf(core.CodeInvalid, id, "%s names a time before 1970 (%d ms)", id, ms)
		}
	}
	return nil
}

// revision checks the revision of a record that is put. Returns INVALID.
func revision(id string, n int64) error {
	if n < 0 {
		return core.Errorf(core.CodeInvalid, id, "%s has revision %d: 0 makes it, another one changes what has that one", id, n)
	}
	return nil
}
