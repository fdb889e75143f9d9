package formula

import (
	"html"
	"strings"
	"unicode/utf8"
)

// commanded reads a command and what belongs to it.
func (p *parser) commanded() (one string, limits bool, err error) {
	name := p.command()
	p.rest = p.rest[len(name):]
	name = name[1:]
	if sign, is := symbols()[name]; is {
		return sign.element(), sign.kind == bigOperator || sign.kind == limitOperator && p.block, nil
	}
	if name == "not" {
		return p.negated()
	}
	if width, is := spaces[name]; is {
		return `<mspace width="` + width + `"></mspace>`, false, nil
	}
	if ignored[name] {
		return "", false, nil
	}
	if class, is := alphabets[name]; is {
		one, err = p.alphabet(class)
		return one, false, err
	}
	if sign, is := accents[name]; is {
		one, err = p.accent(sign)
		return one, name == "underbrace" || name == "overbrace", err
	}
	one, limits, err = p.built(name)
	return one, limits, err
}

// built reads the commands that build something of their arguments.
func (p *parser) built(name string) (one string, limits bool, err error) {
	switch name {
	case "frac", "dfrac", "tfrac", "cfrac":
		one, err = p.two("<mfrac>%a%b</mfrac>")
	case "binom", "dbinom", "tbinom":
		one, err = p.two(`<mrow><mo>(</mo><mfrac linethickness="0">%a%b</mfrac><mo>)</mo></mrow>`)
	case "overset", "stackrel":
		one, err = p.two("<mover>%b%a</mover>")
	case "underset":
		one, err = p.two("<munder>%b%a</munder>")
	case "sqrt":
		one, err = p.root()
	case "left":
		one, err = p.fenced()
	case "begin":
		one, err = p.environment()
	case "pmod", "pod":
		var of string
		if of, err = p.argument(); err == nil {
			word := ""
			if name == "pmod" {
				word = `<mi>mod</mi><mspace width="0.33em"></mspace>`
			}
			one = `<mrow><mspace width="0.5em"></mspace><mo stretchy="false">(</mo>` + word + of + `<mo stretchy="false">)</mo></mrow>`
		}
	case "operatorname":
		limits = p.take("*")
		var text string
		if text, err = p.plain(); err == nil {
			one = "<mi>" + html.EscapeString(text) + "</mi>"
		}
	case "big", "Big", "bigg", "Bigg", "bigl", "Bigl", "biggl", "Biggl", "bigr", "Bigr", "biggr", "Biggr", "bigm", "Bigm":
		var sign string
		if sign, err = p.delimiter(); err == nil {
			one = `<mo stretchy="false">` + sign + `</mo>`
		}
	default:
		err = errUnknown
	}
	return one, limits, err
}

// two reads two arguments into their places.
func (p *parser) two(form string) (string, error) {
	a, err := p.argument()
	if err != nil {
		return "", err
	}
	b, err := p.argument()
	return strings.NewReplacer("%a", a, "%b", b).Replace(form), err
}

func (p *parser) root() (string, error) {
	p.blanks()
	if !p.take("[") {
		one, err := p.argument()
		return element("msqrt", one), err
	}
	degree, err := p.row("]")
	if err != nil || !p.take("]") {
		return "", errUnknown
	}
	of, err := p.argument()
	return element("mroot", of+degree), err
}

// fenced reads from \left to its \right.
func (p *parser) fenced() (string, error) {
	if err := p.enter(); err != nil {
		return "", err
	}
	defer p.leave()
	var b strings.Builder
	b.WriteString("<mrow>")
	for {
		sign, err := p.delimiter()
		if err != nil {
			return "", err
		}
		if sign != "" {
			b.WriteString(`<mo stretchy="true">` + sign + "</mo>")
		}
		inner, err := p.row("")
		if err != nil {
			return "", err
		}
		b.WriteString(inner)
		if p.take(`\middle`) {
			continue
		}
		if !p.take(`\right`) {
			return "", errUnknown
		}
		if sign, err = p.delimiter(); err != nil {
			return "", err
		}
		if sign != "" {
			b.WriteString(`<mo stretchy="true">` + sign + "</mo>")
		}
		return b.String() + "</mrow>", nil
	}
}

// delimiter reads a bracket or the like, escaped; "" for none, which is written as a point.
func (p *parser) delimiter() (string, error) {
	p.blanks()
	if name := p.command(); name != "" {
		sign, is := symbols()[name[1:]]
		if !is || sign.kind != fence && sign.kind != relation {
			return "", errUnknown
		}
		p.rest = p.rest[len(name):]
		return html.EscapeString(sign.text), nil
	}
	c, size := utf8.DecodeRuneInString(p.rest)
	if size == 0 || !strings.ContainsRune("()[]|/.<>", c) {
		return "", errUnknown
	}
	p.rest = p.rest[size:]
	switch c {
	case '.':
		return "", nil
	case '<':
		return "⟨", nil
	case '>':
		return "⟩", nil
	}
	return string(c), nil
}

// negated reads the relation that \not strikes out.
func (p *parser) negated() (string, bool, error) {
	p.blanks()
	sign := ""
	if name := p.command(); name != "" {
		s := symbols()[name[1:]]
		sign = s.text
		p.rest = p.rest[len(name):]
	} else if p.rest != "" && strings.ContainsRune("=<>|", rune(p.rest[0])) {
		sign = p.rest[:1]
		p.rest = p.rest[1:]
	}
	if utf8.RuneCountInString(sign) != 1 {
		return "", false, errUnknown
	}
	return element("mo", html.EscapeString(sign)+"\u0338"), false, nil
}

// accent reads what a sign is put above, or below, of.
func (p *parser) accent(sign accentSign) (string, error) {
	of, err := p.argument()
	stretchy := `<mo stretchy="false">`
	if sign.wide {
		stretchy = `<mo stretchy="true">`
	}
	if sign.below {
		return element("munder", of+stretchy+sign.text+"</mo>"), err
	}
	return `<mover accent="true">` + of + stretchy + sign.text + "</mo></mover>", err
}

// plain reads text in braces, without any commands but those for single signs.
func (p *parser) plain() (string, error) {
	raw, err := p.raw()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; c {
		case '\\':
			if i++; i == len(raw) || !strings.ContainsRune(`_%&$#{}, -`, rune(raw[i])) {
				return "", errUnknown
			}
			if raw[i] == ',' {
				b.WriteString("\u2009")
			} else {
				b.WriteByte(raw[i])
			}
		case '$':
			return "", errUnknown
		case '{', '}':
		case '~':
			b.WriteString("\u00a0")
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

// alphabet reads what is written in letters of another kind.
func (p *parser) alphabet(a alphabet) (string, error) {
	p.blanks()
	if a.text {
		text, err := p.plain()
		if err != nil {
			return "", err
		}
		p.atoms += len(text) / 2
		class := ""
		if a.class != "" {
			class = ` class="` + a.class + `"`
		}
		return `<mtext` + class + `>` + html.EscapeString(keepBlanks(text)) + "</mtext>", nil
	}
	if p.rest != "" && (isLetter(p.rest[0]) || isDigit(p.rest[0])) { // \mathbb R
		p.rest = "{" + p.rest[:1] + "}" + p.rest[1:]
	}
	before := p.rest
	text, err := p.plain()
	if err != nil || strings.ContainsAny(text, "^_'") { // a formula in bold
		p.rest = before
		return p.argument()
	}
	if a.letters != nil {
		text = a.letters(text)
	}
	return `<mi` + a.attribute() + `>` + html.EscapeString(strings.TrimSpace(text)) + "</mi>", nil
}

// keepBlanks keeps the blanks at both ends of a text, which MathML leaves out.
func keepBlanks(text string) string {
	if inner := strings.TrimLeft(text, " "); inner != text {
		text = "\u00a0" + inner
	}
	if inner := strings.TrimRight(text, " "); inner != text {
		text = inner + "\u00a0"
	}
	return text
}
