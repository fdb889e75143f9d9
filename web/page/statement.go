package page

import (
	"bytes"
	"html/template"
	"net/url"

	"github.com/microcosm-cc/bluemonday"

	"drover/core/service/pattern"
)

// safeLink matches what a statement's links may lead to: other sites, never actions of this one.
var safeLink = pattern.New(`^(https?://|mailto:)`)

// MaxStatement bounds a statement in HTML that is shown.
const MaxStatement = 64 << 10

// Statement renders a problem's statement, in Markdown or as HTML that is not trusted: nothing of it is active, and it
// has only those pictures to which picture gives an address; it gets their path as it is in the statement.
func Statement(text string, isHTML bool, picture func(src string) string) template.HTML {
	var b bytes.Buffer
	switch {
	case isHTML && len(text) <= MaxStatement:
		b.WriteString(text)
	case isHTML || len(text) > MaxMarkdown || cells(text) > maxCells || withFormulas().Convert([]byte(text), &b) != nil:
		return template.HTML("<pre>" + template.HTMLEscapeString(text) + "</pre>") //nolint:gosec // escaped
	}
	p := texts()
	p.AllowElements("div", "span", "section", "article", "figure", "figcaption", "dl", "dt", "dd", "sub", "sup", "i", "b", "u", "s", "small",
		"kbd", "samp", "var", "caption", "tfoot", "abbr", "cite", "q", "center")
	p.AllowAttrs("colspan", "rowspan").Matching(bluemonday.Integer).OnElements("td", "th")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowAttrs("src", "alt", "title").OnElements("img")
	p.AllowAttrs("width", "height").Matching(bluemonday.NumberOrPercent).OnElements("img")
	p.AllowAttrs("href").Matching(safeLink()).OnElements("a")
	p.AllowRelativeURLs(true) // of pictures
	p.RewriteSrc(func(u *url.URL) {
		to := ""
		if u.Scheme == "" && u.Host == "" {
			to = picture(u.Path)
		}
		*u = url.URL{Path: to}
	})
	return template.HTML(typeset(p.SanitizeBytes(b.Bytes()), isHTML)) //nolint:gosec // sanitized
}
