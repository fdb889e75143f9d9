package source

import (
	"encoding/json"
	"strings"

	"github.com/alecthomas/chroma/v2"

	"drover/core"
)

//go:generate go test . -run ^TestBrowsersHaveTheSameRules$ -update

// BrowserRules returns the languages for the editor of web/page/static/editor.js, which colours what is typed by the
// same rules as the site colours files.
//
//	{"names": {"makefile": "make"}, "ends": {"c": "c"}, "languages": {"c": {
//	  "words": {"hk": "if while"}, "anyCase": true, "upper": true,
//	  "states": {"root": [["pattern", ["class of each group"], "state that begins, - for the end of this one"]]}}}}
//
// A rule without classes is one for words.
func BrowserRules() ([]byte, error) {
	type language struct {
		Words   map[string]string  `json:"words,omitempty"`
		AnyCase bool               `json:"anyCase,omitempty"`
		Upper   bool               `json:"upper,omitempty"`
		States  map[string][][]any `json:"states"`
	}
	all := struct {
		Names     map[string]string   `json:"names"`
		Ends      map[string]string   `json:"ends"`
		Languages map[string]language `json:"languages"`
	}{map[string]string{}, map[string]string{}, map[string]language{}}
	for _, name := range names() {
		for file := range strings.FieldsSeq(name[1]) {
			all.Names[file] = name[0]
		}
		for end := range strings.FieldsSeq(name[2]) {
			all.Ends[end] = name[0]
		}
		g := grammarOf(name[0])
		one := language{AnyCase: g.anyCase, Upper: g.upperTypes, Words: map[string]string{}, States: map[string][][]any{}}
		for kind, list := range map[chroma.TokenType]string{chroma.Keyword: g.keywords, chroma.KeywordType: g.types + " " + g.constants} {
			if list = strings.TrimSpace(list); list != "" {
				one.Words[class(kind)] = list
			}
		}
		for state, rules := range g.states() {
			for i := range rules {
				one.States[state] = append(one.States[state], forBrowsers(&rules[i]))
			}
		}
		all.Languages[name[0]] = one
	}
	text, err := json.Marshal(all)
	return text, core.Wrap(err, core.CodeInternal, "", "the rules cannot be written")
}

func forBrowsers(r *rule) []any {
	var classes []string
	if !r.words {
		for _, kind := range r.kinds {
			classes = append(classes, class(kind))
		}
	}
	switch {
	case r.push != "":
		return []any{r.pattern, classes, r.push}
	case r.pop:
		return []any{r.pattern, classes, "-"}
	}
	return []any{r.pattern, classes}
}
