package page

import (
	"bytes"
	"html/template"
	"strings"
	"sync"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

// Both are made when the first text is shown: most processes show none.
var (
	markdown = sync.OnceValue(func() goldmark.Markdown {
		return goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify))
	})
	// policy removes pictures: loading them would reveal the reader to another site.
	policy = sync.OnceValue(func() *bluemonday.Policy {
		p := texts()
		p.AllowAttrs("href").OnElements("a")
		p.AllowRelativeURLs(false)
		return p
	})
)

// texts allows what texts of others are made of, without the addresses of links.
func texts() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "em", "strong", "del", "code", "pre", "blockquote", "ul", "ol", "li",
		"h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td")
	p.AllowURLSchemes("http", "https", "mailto")
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	return p
}

// MaxMarkdown bounds a text that is rendered; a longer one is shown as it is.
const MaxMarkdown = 64 << 10

// maxCells bounds the tables of a text that is rendered, as MaxMarkdown does: each row has
// as many cells as the first one, however few are written down.
const maxCells = 10_000

// Markdown renders texts of users and harnesses: no HTML of their own, no script, no picture.
func Markdown(text string) template.HTML {
	var b bytes.Buffer
	if len(text) > MaxMarkdown || cells(text) > maxCells || markdown().Convert([]byte(text), &b) != nil {
		return template.HTML("<pre>" + template.HTMLEscapeString(text) + "</pre>") //nolint:gosec // escaped
	}
	return template.HTML(policy().SanitizeBytes(b.Bytes())) //nolint:gosec // sanitized
}

// Task renders what is to be done, as Markdown does, with formulas.
func Task(text string) template.HTML {
	var b bytes.Buffer
	if !strings.Contains(text, "$") || len(text) > MaxMarkdown || cells(text) > maxCells || withFormulas().Convert([]byte(text), &b) != nil {
		return Markdown(text)
	}
	return template.HTML(typeset(policy().SanitizeBytes(b.Bytes()), false)) //nolint:gosec // sanitized
}

// cells returns an upper bound of the number of cells in all tables of a text.
func cells(text string) int {
	lines, columns := 0, 0
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		lines++
		if strings.Contains(line, "-") { // so does the line below a table's first row
			columns = max(columns, strings.Count(line, "|")+1)
		}
	}
	return lines * columns
}
