package formula

import (
	"errors"
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxLength bounds a formula in bytes.
	MaxLength = 4 << 10
	// maxDepth bounds what is inside of each other.
	maxDepth = 32
	// longAtoms is from how many atoms on a formula may be wider than a phone.
	longAtoms = 16
)

// errUnknown is what a formula has that is not known here, or that is not well formed.
var errUnknown = errors.New("the formula has something that is not known")

// MathML writes a formula, in its line or as a block of its own; false if it cannot.
func MathML(tex string, block bool) (string, bool) {
	if len(tex) > MaxLength || !utf8.ValidString(tex) || strings.TrimSpace(tex) == "" {
		return "", false
	}
	p := &parser{rest: tex, block: block}
	rows, err := p.rows("")
	if err != nil || p.rest != "" {
		return "", false
	}
	var b strings.Builder
	b.WriteString(`<span class="formula`)
	if p.atoms >= longAtoms { // the keyboard can scroll it
		b.WriteString(` long" tabindex="0`)
	}
	b.WriteString(`"><math`)
	if block {
		b.WriteString(` display="block"`)
	}
	b.WriteString(">")
	if len(rows) == 1 && len(rows[0]) == 1 {
		b.WriteString(rows[0][0])
	} else {
		b.WriteString(table(rows, "aligned"))
	}
	b.WriteString("</math></span>")
	return b.String(), true
}

// parser reads a formula from its beginning to its end.
type parser struct {
	rest  string
	block bool
	depth int
	atoms int
}

// enter goes one step deeper; leave undoes it.
func (p *parser) enter() error {
	if p.depth++; p.depth > maxDepth {
		return errUnknown
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

func (p *parser) blanks() {
	p.rest = strings.TrimLeftFunc(p.rest, unicode.IsSpace)
}

// command returns the name of the command that the rest begins with; "" for none.
func (p *parser) command() string {
	if !strings.HasPrefix(p.rest, `\`) {
		return ""
	}
	n := 1
	for n < len(p.rest) && isLetter(p.rest[n]) {
		n++
	}
	if n == 1 && len(p.rest) > 1 {
		_, size := utf8.DecodeRuneInString(p.rest[1:])
		n += size
	}
	return p.rest[:n]
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// take removes a prefix of the rest, if it is there.
func (p *parser) take(prefix string) bool {
	rest, is := strings.CutPrefix(p.rest, prefix)
	p.rest = rest
	return is
}

// ends reports whether what is being read ends here: a group, a cell, or an environment.
func (p *parser) ends() bool {
	if p.rest == "" {
		return true
	}
	switch p.rest[0] {
	case '}', '&':
		return true
	case '\\':
		switch p.command() {
		case `\\`, `\cr`, `\end`, `\right`, `\middle`, `\newline`:
			return true
		}
	}
	return false
}

// row reads atoms with what is above and below them, until something ends; until is one more end.
func (p *parser) row(until string) (string, error) {
	if err := p.enter(); err != nil {
		return "", err
	}
	defer p.leave()
	var parts []string
	for {
		p.blanks()
		if p.ends() || until != "" && strings.HasPrefix(p.rest, until) {
			return mrow(parts), nil
		}
		one, err := p.scripted()
		if err != nil {
			return "", err
		}
		if one != "" {
			parts = append(parts, one)
		}
	}
}

// mrow joins parts to one element.
func mrow(parts []string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	return "<mrow>" + strings.Join(parts, "") + "</mrow>"
}

// scripted reads an atom and its indices and powers.
func (p *parser) scripted() (string, error) {
	base, limits := "<mrow></mrow>", false
	if c := p.rest[0]; c != '^' && c != '_' && c != '\'' {
		var err error
		if base, limits, err = p.atom(); err != nil || base == "" {
			return base, err
		}
	}
	var below, above, primes string
	for {
		p.blanks()
		var at *string
		switch {
		case p.take("'"):
			primes += "′"
			continue
		case p.take(`\limits`):
			limits = true
			continue
		case p.take(`\nolimits`):
			limits = false
			continue
		case strings.HasPrefix(p.rest, "_"):
			at = &below
		case strings.HasPrefix(p.rest, "^"):
			at = &above
		default:
			if primes != "" {
				above = "<mrow><mo>" + primes + "</mo>" + above + "</mrow>"
			}
			return withScripts(base, below, above, limits), nil
		}
		p.rest = p.rest[1:]
		if *at != "" {
			return "", errUnknown
		}
		one, err := p.argument()
		if err != nil {
			return "", err
		}
		*at = one
	}
}

// bar begins a line that may open or close something: it has no room of its own on any side.
const bar = `<mo stretchy="false" lspace="0em" rspace="0em">`

func withScripts(base, below, above string, limits bool) string {
	sub, sup, both := "msub", "msup", "msubsup"
	if limits {
		sub, sup, both = "munder", "mover", "munderover"
	}
	switch {
	case below == "" && above == "":
		return base
	case above == "":
		return element(sub, base+below)
	case below == "":
		return element(sup, base+above)
	}
	return element(both, base+below+above)
}

func element(name, inner string) string { return "<" + name + ">" + inner + "</" + name + ">" }

// argument reads what a command, an index or a power takes: a group or one atom.
func (p *parser) argument() (string, error) {
	if err := p.enter(); err != nil {
		return "", err
	}
	defer p.leave()
	p.blanks()
	if p.rest == "" || p.ends() || strings.ContainsRune("^_'", rune(p.rest[0])) {
		return "", errUnknown
	}
	if isDigit(p.rest[0]) { // one digit only
		digit := p.rest[:1]
		p.rest, p.atoms = p.rest[1:], p.atoms+1
		return element("mn", digit), nil
	}
	one, _, err := p.atom()
	if err == nil && one == "" {
		err = errUnknown
	}
	return one, err
}

// atom reads one thing; limits says that its indices belong below and above it.
func (p *parser) atom() (one string, limits bool, err error) {
	p.atoms++
	c, size := utf8.DecodeRuneInString(p.rest)
	switch {
	case c == '\\':
		return p.commanded()
	case c == '{':
		one, err = p.group()
		return one, false, err
	case size == 1 && isDigit(p.rest[0]):
		return element("mn", p.number()), false, nil
	}
	p.rest = p.rest[size:]
	switch {
	case c == '~':
		return `<mspace width="0.33em"></mspace>`, false, nil
	case c == '-':
		return element("mo", "−"), false, nil
	case c == '*':
		return element("mo", "∗"), false, nil
	case c == '|':
		return bar + "|</mo>", false, nil
	case strings.ContainsRune("()[]", c):
		return `<mo stretchy="false">` + string(c) + "</mo>", false, nil
	case strings.ContainsRune("+=<>/,;:!?.@", c):
		return element("mo", html.EscapeString(string(c))), false, nil
	case unicode.IsLetter(c):
		return element("mi", string(c)), false, nil
	case c > unicode.MaxASCII && (unicode.IsSymbol(c) || unicode.IsPunct(c)):
		return element("mo", string(c)), false, nil
	case c == '"' || c == '`':
		return element("mo", html.EscapeString(string(c))), false, nil
	}
	return "", false, errUnknown
}

// number reads digits, with the points, commas and thin spaces between them.
func (p *parser) number() string {
	var b strings.Builder
	for p.rest != "" {
		n := 0
		for n < len(p.rest) && isDigit(p.rest[n]) {
			n++
		}
		b.WriteString(p.rest[:n])
		p.rest = p.rest[n:]
		sign, after := "", ""
		for _, s := range []string{".", "{,}", `\,`, "{.}"} {
			if rest, is := strings.CutPrefix(p.rest, s); is {
				sign, after = s, rest
				break
			}
		}
		if after == "" || !isDigit(after[0]) {
			break
		}
		b.WriteString(map[string]string{".": ".", "{.}": ".", "{,}": ",", `\,`: "\u2009"}[sign])
		p.rest = after
	}
	return b.String()
}

// group reads what is between braces.
func (p *parser) group() (string, error) {
	if !p.take("{") {
		return "", errUnknown
	}
	one, err := p.row("")
	if err == nil && !p.take("}") {
		err = errUnknown
	}
	return one, err
}

// raw returns what is between braces as it is.
func (p *parser) raw() (string, error) {
	p.blanks()
	if !p.take("{") {
		return "", errUnknown
	}
	for i, open := 0, 1; i < len(p.rest); i++ {
		switch p.rest[i] {
		case '\\':
			i++
		case '{':
			open++
		case '}':
			if open--; open == 0 {
				text := p.rest[:i]
				p.rest = p.rest[i+1:]
				return text, nil
			}
		}
	}
	return "", errUnknown
}
