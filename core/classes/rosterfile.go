package classes

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"drover/core"
)

// What a column of a roster can be. Any other text is a column that is ignored.
const (
	ColHandle   = "handle"
	ColLogin    = "login" // a handle of another system, or an e-mail address: a handle is made from it
	ColEmail    = "email"
	ColName     = "name"
	ColLastName = "last_name"
	ColFirst    = "first_name"
	ColSorted   = "sorted_name" // last name, first name
	ColSection  = "section"
	ColRole     = "role"
	ColIgnored  = "ignored"
)

// RosterColumns returns what a column of a roster can be.
func RosterColumns() []string {
	return []string{ColIgnored, ColHandle, ColLogin, ColEmail, ColName, ColFirst, ColLastName, ColSorted, ColSection, ColRole}
}

// columnNames are the names by which columns are recognized: drover's own, those of Canvas and Moodle, and German ones.
var columnNames = map[string]string{
	"handle": ColHandle, "kürzel": ColHandle,
	"sis login id": ColLogin, "login id": ColLogin, "login": ColLogin, "username": ColLogin, "user name": ColLogin,
	"benutzername": ColLogin, "anmeldename": ColLogin,
	"email": ColEmail, "e-mail": ColEmail, "mail": ColEmail, "email address": ColEmail, "e-mail address": ColEmail,
	"e-mail-adresse": ColEmail, "emailadresse": ColEmail,
	"name": ColName, "full name": ColName, "fullname": ColName, "vollständiger name": ColName,
	"first name": ColFirst, "firstname": ColFirst, "first_name": ColFirst, "given name": ColFirst, "vorname": ColFirst,
	"last name": ColLastName, "lastname": ColLastName, "last_name": ColLastName, "surname": ColLastName, "family name": ColLastName, "nachname": ColLastName,
	"student": ColSorted, "sorted_name": ColSorted, "sortable name": ColSorted,
	"section": ColSection, "sections": ColSection, "group": ColSection, "groups": ColSection, "gruppe": ColSection, "gruppen": ColSection,
	"role": ColRole, "roles": ColRole, "rolle": ColRole, "rollen": ColRole,
}

// rosterFile is a table of people.
type rosterFile struct {
	header  []string // its first line; names of columns
	columns []string // what each is
	rows    [][]string
	lines   []int // of each row in the file
}

// readRoster reads a table in UTF-8, UTF-16 or Windows-1252, with commas, semicolons or tabs between the columns.
// Chosen is what each column is; nil: what its name says. Returns INVALID and LIMIT; the header is there if it could
// be read.
func readRoster(class string, from io.Reader, chosen []string) (rosterFile, error) {
	var f rosterFile
	raw, err := io.ReadAll(io.LimitReader(from, MaxImportBytes+1))
	if err != nil {
		return f, core.Wrap(err, core.CodeInvalid, class, "the roster cannot be read")
	}
	if len(raw) > MaxImportBytes {
		return f, core.Errorf(core.CodeLimit, class, "the roster has more than %d bytes: import it in parts", MaxImportBytes)
	}
	text := PlainRoster(raw)
	rows := csv.NewReader(strings.NewReader(text))
	rows.FieldsPerRecord, rows.TrimLeadingSpace, rows.Comma = -1, true, separator(text)
	for {
		row, err := rows.Read()
		switch {
		case errors.Is(err, io.EOF):
			return f, f.check(class)
		case err != nil:
			return f, unreadable(class, err)
		case len(f.rows) == MaxImportRows:
			return f, core.Errorf(core.CodeLimit, class, "the roster has more than %d lines: import it in parts", MaxImportRows)
		case f.header == nil:
			if err := f.name(class, row, chosen); err != nil {
				return f, err
			}
		default:
			line, _ := rows.FieldPos(0)
			f.rows, f.lines = append(f.rows, row), append(f.lines, line)
		}
	}
}

// name says what each column is.
func (f *rosterFile) name(class string, header, chosen []string) error {
	const most = 1000 // columns
	if len(header) > most {
		return core.Errorf(core.CodeLimit, class, "the roster has more than %d columns", most)
	}
	f.header, f.columns = header, make([]string, len(header))
	seen := map[string]bool{}
	for i, text := range header {
		kind := columnNames[strings.ToLower(strings.TrimSpace(text))]
		if chosen != nil {
			kind = ""
			if i < len(chosen) {
				kind = chosen[i]
			}
			if kind != "" && !slices.Contains(RosterColumns(), kind) {
				return core.Errorf(core.CodeInvalid, class, "%.40q is nothing that a column can be: use some of %s", kind, strings.Join(RosterColumns(), ", "))
			}
		}
		switch {
		case kind == "" || kind == ColIgnored:
			kind = ColIgnored
		case seen[kind] && chosen != nil:
			return core.Errorf(core.CodeInvalid, class, "two columns are said to be the %s: choose one", kind)
		case seen[kind]:
			kind = ColIgnored
		}
		seen[kind] = true
		f.columns[i] = kind
	}
	return nil
}

// check returns INVALID if nobody could say who is meant.
func (f *rosterFile) check(class string) error {
	if f.header == nil {
		return core.Errorf(core.CodeInvalid, class, "the roster is empty: its first line names the columns, such as handle,name,email,role")
	}
	if slices.ContainsFunc(f.columns, func(c string) bool {
		return slices.Contains([]string{ColHandle, ColLogin, ColEmail, ColName, ColSorted, ColLastName}, c)
	}) {
		return nil
	}
	return core.Errorf(core.CodeInvalid, class, "no column of the roster is known to say who is meant: its first line has to name the columns; say which of them is the handle, the e-mail address or the name")
}

// cell returns a row's text in a column of a kind.
func (f *rosterFile) cell(row []string, kind string) string {
	if i := slices.Index(f.columns, kind); i >= 0 && i < len(row) {
		return strings.Join(strings.Fields(row[i]), " ")
	}
	return ""
}

// fullName is a row's name, given name first.
func (f *rosterFile) fullName(row []string) string {
	if name := f.cell(row, ColName); name != "" {
		return name
	}
	if name := f.cell(row, ColSorted); name != "" {
		last, first, _ := strings.Cut(name, ",")
		return strings.TrimSpace(strings.TrimSpace(first) + " " + last)
	}
	return strings.TrimSpace(f.cell(row, ColFirst) + " " + f.cell(row, ColLastName))
}

// nobody reports whether a row is none of a person: Canvas has one with the points of each assignment, and one of a
// student for tests.
func (f *rosterFile) nobody(row []string) bool {
	sorted := f.cell(row, ColSorted)
	return strings.HasPrefix(sorted, "Points Possible") || sorted == "Student, Test" || strings.TrimSpace(strings.Join(row, "")) == ""
}

// PlainRoster decodes a file: spreadsheets write UTF-8 and UTF-16 with a byte order mark, and Windows-1252.
func PlainRoster(raw []byte) string {
	for mark, order := range map[string]binary.ByteOrder{"\xff\xfe": binary.LittleEndian, "\xfe\xff": binary.BigEndian} {
		if body, is := bytes.CutPrefix(raw, []byte(mark)); is {
			units := make([]uint16, len(body)/2)
			for i := range units {
				units[i] = order.Uint16(body[2*i:])
			}
			return string(utf16.Decode(units))
		}
	}
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	if utf8.Valid(raw) {
		return string(raw)
	}
	const from80 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"
	high, text := []rune(from80), make([]rune, len(raw))
	for i, c := range raw {
		text[i] = rune(c)
		if c >= 0x80 && c < 0xa0 {
			text[i] = high[c-0x80]
		}
	}
	return string(text)
}

// separator guesses what is between columns by the first line.
func separator(text string) rune {
	first, _, _ := strings.Cut(strings.TrimLeft(text, "\r\n"), "\n")
	best, most := ',', strings.Count(first, ",")
	for _, other := range ";\t" {
		if n := strings.Count(first, string(other)); n > most {
			best, most = other, n
		}
	}
	return best
}

// handleFrom makes a handle of a login, the first part of an e-mail address, or a name; "" if nothing is left.
func handleFrom(text string) string {
	text, _, _ = strings.Cut(text, "@")
	text = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss", "æ", "ae", "ø", "oe", "œ", "oe", "ł", "l", "đ", "d").Replace(norm.NFC.String(strings.ToLower(text)))
	var b strings.Builder
	for _, r := range norm.NFD.String(text) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case unicode.Is(unicode.Mn, r):
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	const most = core.MaxNameLen - 4 // room for a number
	made := b.String()
	return strings.Trim(made[:min(len(made), most)], "-")
}
