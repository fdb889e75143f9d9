package formula

import "strings"

// environments are the tables that a formula may have: what is before and after one, and how its cells stand.
var environments = map[string]struct{ before, after, class string }{
	"matrix":      {"", "", ""},
	"smallmatrix": {"", "", ""},
	"pmatrix":     {"(", ")", ""},
	"bmatrix":     {"[", "]", ""},
	"Bmatrix":     {"{", "}", ""},
	"vmatrix":     {"|", "|", ""},
	"Vmatrix":     {"‖", "‖", ""},
	"cases":       {"{", "", "cases"},
	"dcases":      {"{", "", "cases"},
	"rcases":      {"", "}", "cases"},
	"array":       {"", "", ""},
	"align":       {"", "", "aligned"},
	"aligned":     {"", "", "aligned"},
	"alignat":     {"", "", "aligned"},
	"split":       {"", "", "aligned"},
	"eqnarray":    {"", "", "aligned"},
	"equation":    {"", "", "aligned"},
	"gather":      {"", "", ""},
	"gathered":    {"", "", ""},
	"multline":    {"", "", ""},
}

// environment reads from \begin to its \end.
func (p *parser) environment() (string, error) {
	if err := p.enter(); err != nil {
		return "", err
	}
	defer p.leave()
	name, err := p.raw()
	if err != nil {
		return "", err
	}
	kind, is := environments[strings.TrimSuffix(name, "*")]
	if !is {
		return "", errUnknown
	}
	if name == "array" || strings.HasPrefix(name, "alignat") { // how its columns stand
		if _, err := p.raw(); err != nil {
			return "", err
		}
	}
	rows, err := p.rows(name)
	if err != nil {
		return "", err
	}
	inner := table(rows, kind.class)
	if kind.before == "" && kind.after == "" {
		return inner, nil
	}
	var b strings.Builder
	b.WriteString("<mrow>")
	if kind.before != "" {
		b.WriteString(`<mo stretchy="true">` + kind.before + "</mo>")
	}
	b.WriteString(inner)
	if kind.after != "" {
		b.WriteString(`<mo stretchy="true">` + kind.after + "</mo>")
	}
	return b.String() + "</mrow>", nil
}

// rows reads rows of cells, to the end of an environment or, without one, to the end of the formula.
func (p *parser) rows(environment string) ([][]string, error) {
	var rows [][]string
	var cells []string
	for {
		one, err := p.row("")
		if err != nil {
			return nil, err
		}
		cells = append(cells, one)
		switch {
		case p.take("&"):
			continue
		case p.take(`\\`), p.take(`\cr`), p.take(`\newline`):
			p.take("*")
			if p.take("[") { // how much room follows
				_, after, is := strings.Cut(p.rest, "]")
				if !is {
					return nil, errUnknown
				}
				p.rest = after
			}
			rows, cells = append(rows, cells), nil
			continue
		case environment != "":
			if !p.take(`\end`) {
				return nil, errUnknown
			}
			if name, err := p.raw(); err != nil || name != environment {
				return nil, errUnknown
			}
		}
		if len(cells) > 1 || cells[0] != mrow(nil) || len(rows) == 0 { // no row after the last \\
			rows = append(rows, cells)
		}
		return rows, nil
	}
}

// table writes rows of cells; columns of equations stand to the right and to the left in turn.
func table(rows [][]string, class string) string {
	var b strings.Builder
	b.WriteString("<mtable>")
	if class == "aligned" {
		b.Reset()
		b.WriteString(`<mtable displaystyle="true">`)
	}
	for _, cells := range rows {
		b.WriteString("<mtr>")
		for i, cell := range cells {
			switch {
			case class == "aligned" && len(cells) > 1 && i%2 == 0:
				b.WriteString(`<mtd class="end">`)
			case class == "aligned" && len(cells) > 1, class == "cases":
				b.WriteString(`<mtd class="start">`)
			default:
				b.WriteString("<mtd>")
			}
			b.WriteString(cell + "</mtd>")
		}
		b.WriteString("</mtr>")
	}
	return b.String() + "</mtable>"
}
