package page

import (
	"embed"
	"encoding/json"
	"path"
	"strings"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/message/catalog"
	"golang.org/x/text/number"

	"drover/core"
)

//go:embed words/*.json
var wordFiles embed.FS

// words are the languages of a site. English sentences are the keys of the catalogues,
// so English needs none.
type words struct {
	all     []language.Tag // the first is the fallback
	matcher language.Matcher
	catalog *catalog.Builder
}

func readWords() (*words, error) {
	w := &words{all: []language.Tag{language.English}, catalog: catalog.NewBuilder(catalog.Fallback(language.English))}
	files, err := wordFiles.ReadDir("words")
	if err != nil {
		return nil, core.Wrap(err, core.CodeInternal, "", "the catalogues cannot be read")
	}
	for _, f := range files {
		tag, err := language.Parse(strings.TrimSuffix(f.Name(), path.Ext(f.Name())))
		if err != nil {
			return nil, core.Wrap(err, core.CodeInternal, f.Name(), "catalogue %s is named after no language", f.Name())
		}
		if err := w.add(tag, f.Name()); err != nil {
			return nil, err
		}
	}
	w.matcher = language.NewMatcher(w.all)
	return w, nil
}

func (w *words) add(tag language.Tag, file string) error {
	text, err := wordFiles.ReadFile(path.Join("words", file))
	var sentences map[string]string
	if err == nil {
		err = json.Unmarshal(text, &sentences)
	}
	for key, sentence := range sentences {
		if err == nil {
			err = w.catalog.SetString(tag, key, sentence)
		}
	}
	w.all = append(w.all, tag)
	return core.Wrap(err, core.CodeInternal, file, "catalogue %s cannot be read", file)
}

// choose returns the language for a user's choice and a browser's Accept-Language.
func (w *words) choose(chosen, accepted string) language.Tag {
	_, i := language.MatchStrings(w.matcher, chosen, accepted)
	return w.all[i]
}

// Speech translates into one language.
type Speech struct {
	Tag     language.Tag
	printer *message.Printer
}

func (w *words) speech(tag language.Tag) Speech {
	return Speech{Tag: tag, printer: message.NewPrinter(tag, message.Catalog(w.catalog))}
}

// Sentence marks a sentence that is translated later, through a variable, so that the check of the catalogues finds
// it.
func Sentence(english string) string { return english }

// T translates a sentence, given in English with the verbs of fmt.
func (s Speech) T(sentence string, args ...any) string { return s.printer.Sprintf(sentence, args...) }

// N translates a number of things: one is the sentence for 1, other for all other numbers; either may have %d.
func (s Speech) N(n int, one, other string) string {
	sentence := other
	if plural.Cardinal.MatchPlural(s.Tag, n, 0, 0, 0, 0) == plural.One {
		sentence = one
	}
	if !strings.Contains(sentence, "%") {
		return s.printer.Sprintf(sentence)
	}
	return s.printer.Sprintf(sentence, n)
}

// Number writes a number with at most two decimals, as the language does: 1.5, 1,5.
func (s Speech) Number(x float64) string { return s.decimals(x, 2) }

func (s Speech) decimals(x float64, most int) string {
	return s.printer.Sprint(number.Decimal(x, number.MaxFractionDigits(most), number.NoSeparator()))
}

// number is Number for templates, which have values and pointers.
func (s Speech) number(x any) string { return s.Number(float(x)) }
