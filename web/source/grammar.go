package source

import (
	"slices"
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"
)

// grammar describes a language in the few things that are coloured. Its rules never look further than one token, so
// that their cost grows with the length of a file.
type grammar struct {
	lineComment  []string // begins a comment to the end of the line
	blockComment []string // begin and end
	nested       bool     // block comments contain others
	quotes       string   // characters that delimit strings within a line
	long         []string // delimiters of strings of several lines
	prefix       string   // pattern of what may precede a string's delimiter
	raw          bool     // a backslash in a string stands for itself
	keywords     string   // words by blanks
	types        string
	constants    string
	anyCase      bool   // of words
	upperTypes   bool   // words that begin with a capital are types
	word         string // pattern of a word; "" for letters, digits and underscores
	first        []rule // tried before all others
}

// rule is one rule of a state: what it matches, and what that is. Its pattern must mean the same to Go's regexp2 and to
// browsers (with the flags m and u).
type rule struct {
	pattern string
	kinds   kinds  // of the whole match, or of each of its groups
	words   bool   // it is a word; its groups are the word and an opening parenthesis
	push    string // state that begins
	pop     bool   // the state ends
}

type kinds []chroma.TokenType

func one(pattern string, kind chroma.TokenType) rule {
	return rule{pattern: pattern, kinds: kinds{kind}}
}

// Patterns that several languages share.
const (
	wordPattern   = `[\p{L}_][\p{L}\p{N}_]*`
	numberPattern = `(?:0[xX][0-9a-fA-F_']+|0[bB][01_']+|0[oO][0-7_]+|\d[\d_']*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)[a-zA-Z]{0,4}(?![\p{L}\p{N}])`
	charPattern   = `'(?:\\[^\n][^'\n]{0,10}|[^'\\\n])'`
)

// states returns the rules of a grammar by state. It begins in root.
func (g *grammar) states() map[string][]rule {
	all := map[string][]rule{}
	root := slices.Clone(g.first)
	for _, begin := range g.lineComment {
		root = append(root, one(begin+`[^\n]*`, chroma.Comment))
	}
	if len(g.blockComment) == 2 {
		root = append(root, g.block(all))
	}
	for _, mark := range g.long {
		root = append(root, g.text(all, mark, true))
	}
	for _, mark := range g.quotes {
		root = append(root, g.text(all, string(mark), false))
	}
	word := g.word
	if word == "" {
		word = wordPattern
	}
	all["root"] = append(root,
		one(`[^\S\n]+|\n`, chroma.Text),
		one(numberPattern, chroma.Number),
		rule{pattern: `(` + word + `)(?=(\(?))`, words: true},
		one(`[^\s\p{L}\p{N}_"'`+"`"+`]`, chroma.Text),
		one(`[\s\S]`, chroma.Text),
	)
	return all
}

// quote returns a pattern for the marks of a grammar.
func quote(mark string) string {
	var b strings.Builder
	for _, r := range mark {
		if strings.ContainsRune(`\^$.*+?()[]{}|/`, r) { // browsers refuse to quote others
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// block returns the rule for comments of several lines.
func (g *grammar) block(all map[string][]rule) rule {
	begin, end := quote(g.blockComment[0]), quote(g.blockComment[1])
	inside := []rule{{pattern: end, kinds: kinds{chroma.Comment}, pop: true}}
	if g.nested {
		inside = append(inside, rule{pattern: begin, kinds: kinds{chroma.Comment}, push: "comment"})
	}
	stop := quote(g.blockComment[1][:1])
	if g.nested {
		stop += quote(g.blockComment[0][:1])
	}
	all["comment"] = append(inside, one(`[^`+stop+`]+`, chroma.Comment), one(`[\s\S]`, chroma.Comment))
	return rule{pattern: begin, kinds: kinds{chroma.Comment}, push: "comment"}
}

// text returns the rule for strings between two equal marks; one within a line ends with the line at the latest.
func (g *grammar) text(all map[string][]rule, mark string, long bool) rule {
	state, quoted := "text"+mark, quote(mark)
	inside := []rule{{pattern: quoted, kinds: kinds{chroma.String}, pop: true}}
	stop := quote(mark[:1])
	if !g.raw {
		inside = append(inside, one(`\\[\s\S]`, chroma.StringEscape))
		stop += `\\`
	}
	if !long {
		inside = append(inside, rule{pattern: `\n`, kinds: kinds{chroma.Text}, pop: true})
		stop += `\n`
	}
	all[state] = append(inside, one(`[^`+stop+`]+`, chroma.String), one(`[\s\S]`, chroma.String))
	return rule{pattern: g.prefix + quoted, kinds: kinds{chroma.String}, push: state}
}

// rules returns the rules of a grammar for chroma.
func (g *grammar) rules() chroma.Rules {
	all := chroma.Rules{}
	for state, rules := range g.states() {
		for i := range rules {
			all[state] = append(all[state], g.rule(&rules[i]))
		}
	}
	return all
}

func (g *grammar) rule(r *rule) chroma.Rule {
	is := chroma.Rule{Pattern: r.pattern}
	switch {
	case r.words:
		is.Type = g.words()
	case len(r.kinds) == 1:
		is.Type = r.kinds[0]
	default:
		var each []chroma.Emitter
		for _, kind := range r.kinds {
			each = append(each, kind)
		}
		is.Type = chroma.ByGroups(each...)
	}
	switch {
	case r.push != "":
		is.Mutator = chroma.Push(r.push)
	case r.pop:
		is.Mutator = chroma.Pop(1)
	}
	return is
}

// words returns what a word is: by the lists, or by what follows it.
func (g *grammar) words() chroma.Emitter {
	known := map[string]chroma.TokenType{}
	for kind, list := range map[chroma.TokenType]string{chroma.Keyword: g.keywords, chroma.KeywordType: g.types, chroma.KeywordConstant: g.constants} {
		for word := range strings.FieldsSeq(list) {
			known[word] = kind
		}
	}
	return chroma.EmitterFunc(func(groups []string, _ *chroma.LexerState) chroma.Iterator {
		word := groups[1]
		key := word
		if g.anyCase {
			key = strings.ToLower(word)
		}
		kind, listed := known[key]
		switch {
		case listed:
		case g.upperTypes && word[0] >= 'A' && word[0] <= 'Z':
			kind = chroma.KeywordType
		case groups[2] != "":
			kind = chroma.NameFunction
		default:
			kind = chroma.Name
		}
		return chroma.Literator(chroma.Token{Type: kind, Value: word})
	})
}

// lexers are made when they are first used.
var lexers sync.Map // of *chroma.RegexLexer, by language

// lexer returns the lexer of a language; nil for one without a grammar.
func lexer(language string) *chroma.RegexLexer {
	if l, ok := lexers.Load(language); ok {
		return l.(*chroma.RegexLexer) //nolint:forcetypeassert,errcheck // nothing else is stored
	}
	g := grammarOf(language)
	if g == nil {
		return nil
	}
	l, err := chroma.NewLexer(&chroma.Config{Name: language, EnsureNL: true}, g.rules)
	if err != nil {
		return nil
	}
	first, _ := lexers.LoadOrStore(language, l)
	return first.(*chroma.RegexLexer) //nolint:forcetypeassert,errcheck // nothing else is stored
}
