package page

import (
	"bytes"
	"html"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	nethtml "golang.org/x/net/html"

	"drover/web/page/formula"
)

// withFormulas renders Markdown with formulas between dollars. What it writes of a formula is its source between two of
// these characters, which no text has; typeset makes MathML of it after the rest has been sanitized, so that nobody's
// MathML but ours gets onto a page.
var withFormulas = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify),
		goldmark.WithParserOptions(
			parser.WithInlineParsers(util.Prioritized(inlineFormulas{}, 150)), // after code, before links and emphasis
			parser.WithBlockParsers(util.Prioritized(blockFormulas{}, 690)),
		),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(formulaSources{}, 500))))
})

const (
	formulaBegin = "\uFDD0"
	formulaEnd   = "\uFDD1"
	blockBegin   = "\uFDD2"
	blockEnd     = "\uFDD3"
)

// maxInline bounds a formula between single dollars: how far its end is looked for.
const maxInline = 1 << 10

// maxLines bounds a formula within a paragraph.
const maxLines = 32

var formulaKind = ast.NewNodeKind("Formula")

// formulaNode is a formula in a text in Markdown.
type formulaNode struct {
	ast.BaseInline
	tex   string
	block bool
}

func (*formulaNode) Kind() ast.NodeKind { return formulaKind }

func (n *formulaNode) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

var formulaBlockKind = ast.NewNodeKind("FormulaBlock")

// formulaBlock is a formula that has its lines to itself.
type formulaBlock struct {
	ast.BaseBlock
	tex  string
	left int // lines of it that were not read yet
}

func (*formulaBlock) Kind() ast.NodeKind { return formulaBlockKind }

func (n *formulaBlock) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

// formulaAt returns the formula that a text begins with, between dollars, and where the text goes on; false for none.
// Amounts of money are none: a blank follows no first dollar and is before no last one, which no digit follows.
func formulaAt[T string | []byte](of T) (tex string, block bool, n int, ok bool) {
	s := of[:min(len(of), formula.MaxLength)]
	sign, most := "$", maxInline
	if len(s) > 1 && s[0] == '$' && s[1] == '$' {
		sign, most, block = "$$", formula.MaxLength, true
	}
	from := len(sign)
	if len(s) <= from || s[0] != '$' || !block && blank(s[from]) {
		return "", false, 0, false
	}
	for i := from; i < min(len(s), most); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == '$' && i > from && (!block || i+1 < len(s) && s[i+1] == '$'):
			tex, n = string(s[from:i]), i+len(sign)
			if !block && (blank(s[i-1]) || n < len(s) && '0' <= s[n] && s[n] <= '9') {
				return "", false, 0, false
			}
			return tex, block, n, true
		}
	}
	return "", false, 0, false
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// meantAsFormula reports whether a text between dollars is a formula, even if it cannot be set.
func meantAsFormula(tex string, block bool) bool {
	_, ok := formula.MathML(tex, block)
	return ok || strings.Contains(tex, `\`)
}

type inlineFormulas struct{}

func (inlineFormulas) Trigger() []byte { return []byte{'$'} }

func (inlineFormulas) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	first, _ := block.PeekLine()
	tex, isBlock, n, ok := formulaAt(first)
	if !ok && len(first) > 1 && !blank(first[1]) && len(first) < maxInline {
		tex, isBlock, n, ok = formulaAt(paragraph(block))
	}
	if !ok || !meantAsFormula(tex, isBlock) {
		return nil
	}
	block.Advance(n)
	return &formulaNode{tex: tex, block: isBlock}
}

// paragraph returns what is left of a paragraph, as far as a formula may reach.
func paragraph(block text.Reader) string {
	line, at := block.Position()
	defer block.SetPosition(line, at)
	var rest strings.Builder
	for range maxLines {
		one, _ := block.PeekLine()
		if one == nil || rest.Len() > formula.MaxLength {
			break
		}
		rest.Write(one[:min(len(one), formula.MaxLength)])
		block.AdvanceLine()
	}
	return rest.String()
}

type blockFormulas struct{}

func (blockFormulas) Trigger() []byte { return []byte{'$'} }

func (blockFormulas) Open(_ ast.Node, reader text.Reader, _ parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	blanks := len(line) - len(bytes.TrimLeft(line, " "))
	source := reader.Source()
	start := segment.Start + blanks
	if blanks > 3 || segment.Padding > 0 || !bytes.HasPrefix(line[blanks:], []byte("$$")) {
		return nil, parser.NoChildren
	}
	tex, _, n, ok := formulaAt(source[start:])
	after, _, _ := bytes.Cut(source[start+n:], []byte("\n"))
	lines := strings.Count(tex, "\n")
	within := segment.Start > 0 && source[segment.Start-1] != '\n' // a quotation, or a list
	if !ok || len(bytes.TrimSpace(after)) > 0 || strings.Contains(tex, "\n\n") || lines > 0 && within {
		return nil, parser.NoChildren
	}
	reader.AdvanceToEOL()
	return &formulaBlock{tex: tex, left: lines}, parser.NoChildren
}

func (blockFormulas) Continue(node ast.Node, reader text.Reader, _ parser.Context) parser.State {
	n, is := node.(*formulaBlock)
	if !is || n.left == 0 {
		return parser.Close
	}
	n.left--
	reader.AdvanceToEOL()
	return parser.Continue | parser.NoChildren
}

func (blockFormulas) Close(ast.Node, text.Reader, parser.Context) {}

func (blockFormulas) CanInterruptParagraph() bool { return true }

func (blockFormulas) CanAcceptIndentedLine() bool { return false }

// formulaSources write the source of each formula, for typeset.
type formulaSources struct{}

func (formulaSources) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(formulaKind, func(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		if n, is := node.(*formulaNode); is && entering {
			_, _ = w.WriteString(formulaSource(n.tex, n.block))
		}
		return ast.WalkContinue, nil
	})
	r.Register(formulaBlockKind, func(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		if n, is := node.(*formulaBlock); is && entering {
			_, _ = w.WriteString("<p>" + formulaSource(n.tex, true) + "</p>\n")
		}
		return ast.WalkContinue, nil
	})
}

func formulaSource(tex string, block bool) string {
	if block {
		return blockBegin + html.EscapeString(tex) + blockEnd
	}
	return formulaBegin + html.EscapeString(tex) + formulaEnd
}

// typeset writes the formulas in texts of HTML that is sanitized already: those between the characters of withFormulas
// or, where the author wrote HTML, between \( and \), \[ and \], and dollars. Code has none.
func typeset(sanitized []byte, authored bool) []byte {
	if !bytes.ContainsAny(sanitized, `$\`+formulaBegin+blockBegin) {
		return sanitized
	}
	var b bytes.Buffer
	code := 0
	for z := nethtml.NewTokenizer(bytes.NewReader(sanitized)); ; {
		kind := z.Next()
		raw := z.Raw()
		switch kind {
		case nethtml.ErrorToken:
			return b.Bytes()
		case nethtml.StartTagToken, nethtml.EndTagToken:
			raw = bytes.Clone(raw)
			if name, _ := z.TagName(); string(name) == "code" || string(name) == "pre" {
				code += map[nethtml.TokenType]int{nethtml.StartTagToken: 1, nethtml.EndTagToken: -1}[kind]
			}
			b.Write(raw)
		case nethtml.TextToken:
			if code > 0 {
				b.Write(raw)
				continue
			}
			typesetText(&b, html.UnescapeString(string(raw)), authored)
		default:
			b.Write(raw)
		}
	}
}

// formulaSigns are what formulas are between.
var formulaSigns = []struct {
	begin, end      string
	block, authored bool
}{
	{formulaBegin, formulaEnd, false, false},
	{blockBegin, blockEnd, true, false},
	{`\(`, `\)`, false, true},
	{`\[`, `\]`, true, true},
}

func typesetText(b *bytes.Buffer, s string, authored bool) {
	signs := formulaBegin + blockBegin
	if authored {
		signs += `\$`
	}
	for {
		at := strings.IndexAny(s, signs)
		if at < 0 {
			b.WriteString(html.EscapeString(s))
			return
		}
		b.WriteString(html.EscapeString(s[:at]))
		s = s[at:]
		if authored && strings.HasPrefix(s, `\$`) { // a dollar, and no formula
			b.WriteString("$")
			s = s[2:]
			continue
		}
		tex, block, n, ok := nextFormula(s, authored)
		if !ok {
			_, n = utf8.DecodeRuneInString(s)
			b.WriteString(html.EscapeString(s[:n]))
		} else if set, can := formula.MathML(tex, block); can {
			b.WriteString(set)
		} else {
			b.WriteString("<code>" + html.EscapeString(strings.TrimSpace(tex)) + "</code>")
		}
		s = s[n:]
	}
}

// nextFormula returns the formula that a text of HTML begins with.
func nextFormula(s string, authored bool) (tex string, block bool, n int, ok bool) {
	for _, sign := range formulaSigns {
		rest, is := strings.CutPrefix(s, sign.begin)
		if !is || sign.authored && !authored {
			continue
		}
		tex, _, ok = strings.Cut(rest[:min(len(rest), formula.MaxLength)], sign.end)
		return tex, sign.block, len(sign.begin) + len(tex) + len(sign.end), ok
	}
	if tex, block, n, ok = formulaAt(s); ok && !meantAsFormula(tex, block) {
		ok = false
	}
	return tex, block, n, ok
}
