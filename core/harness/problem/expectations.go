package problem

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"drover/core/harness/languages"
)

// expectationsFile says of submissions what their folders do not.
const expectationsFile = "submissions/submissions.yaml"

// Expectation is what submissions.yaml says of the tests of a submission. The zero values of its fields ask for nothing.
type Expectation struct {
	Tests     string    // a pattern of groups and tests; "" for all
	Permitted []Outcome // each test ends in one of these
	Required  []Outcome // and one of them in one of these
	Score     []float64 // from, to
	Message   string    // is in what the validator says to judges of one of the tests
	Lower     *bool     // whether the submission counts for the time limit as one that must be fast enough
}

func (e *Expectation) asks() bool {
	return len(e.Permitted)+len(e.Required)+len(e.Score) > 0 || e.Message != ""
}

// String says what is expected.
func (e *Expectation) String() string {
	var all []string
	for _, part := range []struct {
		word string
		of   []Outcome
	}{{"only ", e.Permitted}, {"some ", e.Required}} {
		if len(part.of) > 0 {
			all = append(all, part.word+Either(part.of))
		}
	}
	if len(e.Score) > 0 {
		all = append(all, "points from "+number(e.Score[0])+" to "+number(e.Score[1]))
	}
	if e.Message != "" {
		all = append(all, "a message for judges")
	}
	text := strings.Join(all, ", ")
	if e.Tests != "" {
		text = e.Tests + ": " + text
	}
	return text
}

// Either joins outcomes.
func Either(of []Outcome) string {
	words := make([]string, len(of))
	for i, o := range of {
		words[i] = string(o)
	}
	return strings.Join(words, ", or ")
}

// byDefault are the formats' expectations of folders, from which a submissions.yaml that names them begins.
var byDefault = map[string]Expectation{
	"accepted":            {Permitted: []Outcome{Accepted}},
	"rejected":            {Required: []Outcome{RunTimeError, TimeLimit, WrongAnswer}},
	"wrong_answer":        {Permitted: []Outcome{Accepted, WrongAnswer}, Required: []Outcome{WrongAnswer}},
	"time_limit_exceeded": {Permitted: []Outcome{Accepted, TimeLimit}, Required: []Outcome{TimeLimit}},
	"run_time_error":      {Permitted: []Outcome{Accepted, RunTimeError}, Required: []Outcome{RunTimeError}},
	"brute_force":         {Permitted: []Outcome{Accepted, RunTimeError, TimeLimit}, Required: []Outcome{RunTimeError, TimeLimit}},
}

var byCode = map[string]Outcome{"AC": Accepted, "WA": WrongAnswer, "TLE": TimeLimit, "RTE": RunTimeError}

// expectations reads submissions.yaml, once the submissions are known.
func (p *Problem) expectations() error {
	all, err := p.mapping(expectationsFile)
	for _, e := range all {
		which := expand(e.key)
		base, folder := byDefault[e.key]
		rules := p.expectation(e, base)
		asks := slices.ContainsFunc(rules, func(r Expectation) bool { return r.asks() })
		found := false
		for i := range p.Submissions {
			s := &p.Submissions[i]
			if !matches(which, strings.TrimPrefix(s.Path, "submissions/")) {
				continue
			}
			found = true
			p.told(s, e)
			for _, r := range rules {
				if r.asks() || r.Lower != nil && r.Tests == "" {
					s.Expected = append(s.Expected, r)
				}
			}
			if folder && asks { // in place of the folder's own
				s.Wanted = nil
			}
		}
		if !found {
			p.note(e.file, e.line, "no submission is called %s", e.key)
		}
	}
	return err
}

// expectation reads what is said of submissions, and of groups and tests below that.
func (p *Problem) expectation(e entry, base Expectation) []Expectation {
	var below []Expectation
	said := false
	rule := base
	if expand(e.key) == nil {
		p.bad(e, "its braces stand for more than %d patterns", mostPatterns)
		return nil
	}
	for _, one := range p.entries(e.file, e.value) {
		switch one.key {
		case "permitted":
			rule.Permitted, said = p.outcomes(one), true
		case "required":
			rule.Required, said = p.outcomes(one), true
		case "score":
			rule.Score, said = p.scoreRange(one), true
		case "message":
			rule.Message, said = p.text(one), true
		case "use_for_time_limit":
			said = p.useForTime(one, &rule) || said
		case "authors", "model_solution", "language", "entrypoint": // told reads the last two
		default:
			if one.value.Kind != yaml.MappingNode || rule.Tests != "" {
				p.note(one.file, one.line, "%s is not known, and not read", one.key)
				continue
			}
			for _, r := range p.expectation(one, Expectation{}) {
				r.Tests = one.key
				below = append(below, r)
			}
		}
	}
	if !said { // nothing in place of the folder's own
		rule.Permitted, rule.Required = nil, nil
	}
	return append([]Expectation{rule}, below...)
}

// told reads the language of submissions, and what of them starts.
func (p *Problem) told(s *Submission, e entry) {
	for _, one := range p.entries(e.file, e.value) {
		switch one.key {
		case "language":
			l, known := languages.Find(p.text(one))
			if !known {
				p.note(one.file, one.line, "language: %s is not in drover's table", one.value.Value)
				continue
			}
			s.Language = l.Code
		case "entrypoint":
			if s.Entry = p.text(one); strings.ContainsFunc(s.Entry, unicode.IsControl) {
				p.bad(one, "this is the name of a file or a class")
			}
		}
	}
}

func (p *Problem) outcomes(e entry) []Outcome {
	var all []Outcome
	for _, word := range p.words(e, false) {
		one, known := byCode[word]
		if !known {
			p.bad(e, "%q is not AC, WA, TLE or RTE", word)
			continue
		}
		all = append(all, one)
	}
	return all
}

func (p *Problem) scoreRange(e entry) []float64 {
	words := p.words(e, false)
	if len(words) == 1 {
		words = append(words, words[0])
	}
	if len(words) != 2 {
		p.bad(e, "this is a number, or two")
		return nil
	}
	all := make([]float64, 2)
	for i, word := range words {
		all[i] = p.number(entry{e.file, e.key, e.line, &yaml.Node{Kind: yaml.ScalarNode, Value: word}}, 0, 1e9)
	}
	return all
}

// useForTime reports whether it adds something that is expected.
func (p *Problem) useForTime(e entry, rule *Expectation) (asks bool) {
	lower := false
	switch p.text(e) {
	case "true":
		return false // as without it
	case "false":
	case "lower":
		lower = true
		if len(rule.Permitted) == 0 {
			rule.Permitted, asks = []Outcome{Accepted, WrongAnswer, RunTimeError}, true
		}
	case "upper":
		if len(rule.Required) == 0 {
			rule.Required, asks = []Outcome{TimeLimit}, true
		}
	default:
		p.bad(e, "this is true, false, lower or upper")
	}
	rule.Lower = &lower
	return asks
}

// ForTime reports whether a time limit that is to be measured must leave this submission enough.
func (s *Submission) ForTime() bool {
	is := slices.Equal(s.Wanted, []Outcome{Accepted})
	for i := range s.Expected {
		e := &s.Expected[i]
		switch {
		case e.Lower != nil:
			return *e.Lower
		case e.Tests == "" && slices.Equal(e.Permitted, []Outcome{Accepted}):
			is = true
		}
	}
	return is
}

const mostPatterns = 100

// expand replaces braces with alternatives by the patterns that they stand for; nil if these are too many.
func expand(pattern string) []string {
	done, todo := []string{}, []string{pattern}
	for len(todo) > 0 {
		if len(todo)+len(done) > mostPatterns {
			return nil
		}
		one := todo[0]
		todo = todo[1:]
		open := strings.LastIndexByte(one, '{')
		end := -1
		if open >= 0 {
			end = strings.IndexByte(one[open:], '}')
		}
		if end < 0 {
			done = append(done, one)
			continue
		}
		for word := range strings.SplitSeq(one[open+1:open+end], ",") {
			todo = append(todo, one[:open]+strings.TrimSpace(word)+one[open+end+1:])
		}
	}
	return done
}

// matches reports whether one of the patterns matches a name, or a folder in which it is. A * stands for anything but /.
func matches(patterns []string, name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if slices.ContainsFunc(patterns, func(pattern string) bool {
			literal := strings.NewReplacer("?", `\?`, "[", `\[`, `\`, `\\`)
			is, err := path.Match(literal.Replace(pattern), name)
			return is && err == nil
		}) {
			return true
		}
	}
	return false
}
