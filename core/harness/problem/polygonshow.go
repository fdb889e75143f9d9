package problem

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"drover/core/harness/handout"
)

// languageCodes are those of the languages that Polygon names; others keep their names.
var languageCodes = map[string]string{
	"english": "en", "russian": "ru", "german": "de", "french": "fr", "spanish": "es", "ukrainian": "uk", "polish": "pl", "portuguese": "pt",
	"italian": "it", "kazakh": "kk", "armenian": "hy", "azerbaijani": "az", "chinese": "zh", "japanese": "ja", "vietnamese": "vi", "turkish": "tr",
}

// polygonShown finds statements in HTML and PDF, with pictures, and the files for students.
func (p *Problem) polygonShown(problem *element) error {
	var all []shown
	add := func(from, to string) {
		if p.has(from) && !slices.ContainsFunc(all, func(s shown) bool { return s.to == to }) {
			all = append(all, shown{from, to})
		}
	}
	statements := problem.child("statements").all("statement")
	for _, e := range statements {
		from, ext := e.attrs["path"], ""
		switch e.attrs["type"] {
		case "text/html":
			ext = ".html"
		case "application/pdf":
			ext = ".pdf"
		default: // LaTeX is not rendered
			continue
		}
		language := e.attrs["language"]
		add(from, handout.Statements+"/problem."+cmp.Or(languageCodes[language], language)+ext)
		for _, f := range p.below(path.Dir(from)) {
			if slices.Contains(pictures, strings.ToLower(path.Ext(f))) {
				add(f, handout.Statements+strings.TrimPrefix(f, path.Dir(from)))
			}
		}
	}
	if len(all) == 0 {
		p.note(PolygonFile, 0, "there is no statement in HTML or PDF, and LaTeX is not rendered: have Polygon make the package with one, or write the assignment's text yourself")
	}
	for _, s := range p.polygonSamples { // as the statement shows them, if it has its own
		for _, e := range statements {
			folder := "statements/" + e.attrs["language"]
			add(fmt.Sprintf("%s/example.%02d", folder, s.n), handout.Samples+"/"+s.name+".in")
			add(fmt.Sprintf("%s/example.%02d.a", folder, s.n), handout.Samples+"/"+s.name+".ans")
		}
		add(s.input, handout.Samples+"/"+s.name+".in")
		add(s.answer, handout.Samples+"/"+s.name+".ans")
	}
	for _, f := range problem.child("files").child("attachments").all("file") {
		add(f.attrs["path"], handout.Attachments+"/"+path.Base(f.attrs["path"]))
	}
	return p.fit(all)
}

// polygonSample is a test that students see.
type polygonSample struct {
	n                   int // among all tests, from 1
	name, input, answer string
}

// withoutDollars puts the signs of formulas that pages know into a statement of Polygon, which has three dollars around
// each formula, and six around one that has lines to itself.
func withoutDollars(text string) string {
	const line, inline = "$$$$$$", "$$$"
	text = betweenSigns(text, line, `\[`, `\]`)
	return betweenSigns(text, inline, `\(`, `\)`)
}

// betweenSigns replaces signs, the first of each pair by begin and the second by end; a last one without another stays.
func betweenSigns(text, sign, begin, end string) string {
	var b strings.Builder
	for {
		before, rest, one := strings.Cut(text, sign)
		within, after, two := strings.Cut(rest, sign)
		if !one || !two {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(before + begin + within + end)
		text = after
	}
}
