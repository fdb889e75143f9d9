package source

import (
	"fmt"
	"html/template"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/chroma/v2"
)

// Bounds on what is shown.
const (
	MaxTokens = 12_000  // that get colours: a lexer takes about 2 µs for each; what follows them is plain
	MaxLine   = 2 << 10 // bytes; of a longer line only the beginning is shown
)

// Line is one line of a file.
type Line struct {
	Number int
	HTML   template.HTML
	Hidden int64 // bytes that are not shown
}

// Lines returns the lines of a text with the colours of the language that the name of its file tells.
func Lines(name, text string) []Line {
	return lines(language(name), text)
}

// Code returns the lines of a text in a language that is known by its name, such as python.
func Code(language, text string) []Line {
	return lines(strings.ToLower(language), text)
}

func lines(language, text string) []Line {
	if text == "" {
		return nil
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\r\n", "\n")
	p := &printer{}
	if l := lexer(language); l != nil {
		text = p.colour(l, text)
	}
	p.write("", text)
	if p.column > 0 || p.open {
		p.end()
	}
	return p.all
}

// printer turns tokens into lines.
type printer struct {
	all    []Line
	line   strings.Builder
	class  string // of the element that is open
	column int    // bytes of the line so far, of its text
	cut    int    // of them not shown
	open   bool   // something of the line has been seen
}

// colour prints a text by the tokens of a lexer, and returns what is left once there are too many of them.
func (p *printer) colour(l *chroma.RegexLexer, text string) string {
	tokens, err := l.Tokenise(&chroma.TokeniseOptions{State: "root"}, text)
	if err != nil {
		return text
	}
	for range MaxTokens {
		t := tokens()
		if t == chroma.EOF {
			return ""
		}
		value := t.Value[:min(len(t.Value), len(text))] // the lexer ends the last line
		p.write(class(t.Type), value)
		text = text[len(value):]
	}
	return text
}

// write prints a text of one class.
func (p *printer) write(class, text string) {
	for text != "" {
		part, rest, more := strings.Cut(text, "\n")
		p.part(class, part)
		if more {
			p.end()
		}
		text = rest
	}
}

func (p *printer) part(class, text string) {
	if text == "" {
		return
	}
	p.open = true
	p.column += len(text)
	if over := p.column - p.cut - MaxLine; over > 0 {
		keep := max(0, len(text)-over)
		for keep > 0 && !utf8.RuneStart(text[keep]) {
			keep--
		}
		p.cut += len(text) - keep
		if text = text[:keep]; text == "" {
			return
		}
	}
	p.span(class)
	p.line.WriteString(Escape(text))
}

// span ends the element that is open, unless it has the same class.
func (p *printer) span(class string) {
	if class == p.class {
		return
	}
	if p.class != "" {
		p.line.WriteString("</span>")
	}
	if p.class = class; class != "" {
		p.line.WriteString(`<span class="` + class + `">`)
	}
}

func (p *printer) end() {
	p.span("")
	p.all = append(p.all, Line{Number: len(p.all) + 1, HTML: template.HTML(p.line.String()), Hidden: int64(p.cut)}) //nolint:gosec // escaped
	p.line.Reset()
	p.column, p.cut, p.open = 0, 0, false
}

// class returns the class of a kind of token in the style sheet; "" for text without a colour.
func class(kind chroma.TokenType) string {
	switch {
	case kind == chroma.CommentPreproc:
		return "hp"
	case kind == chroma.KeywordType:
		return "ht"
	case kind == chroma.NameFunction:
		return "hf"
	case kind == chroma.NameDecorator:
		return "hp"
	case kind == chroma.NameTag || kind == chroma.KeywordConstant:
		return "ht"
	case kind == chroma.GenericHeading || kind.InCategory(chroma.Keyword):
		return "hk"
	case kind.InCategory(chroma.Comment):
		return "hc"
	case kind.InSubCategory(chroma.Number):
		return "hn"
	case kind.InSubCategory(chroma.String):
		return "hs"
	}
	return ""
}

// Escape returns a text as HTML. Characters that change the direction of a text or are not visible are written by
// their number: a reader must see what a compiler reads.
func Escape(text string) string {
	if strings.IndexFunc(text, hides) < 0 {
		return template.HTMLEscapeString(text)
	}
	var b strings.Builder
	for _, r := range text {
		if hides(r) {
			fmt.Fprintf(&b, `<span class="hx">U+%04X</span>`, r)
			continue
		}
		b.WriteString(template.HTMLEscapeString(string(r)))
	}
	return b.String()
}

// hides reports whether a character changes how others look, or cannot be seen.
func hides(r rune) bool {
	switch {
	case r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x2069, r == 0xfeff, r == 0x061c:
		return true
	}
	return false
}
