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
	anyCase      bool          // of words
	upperTypes   bool          // words that begin with a capital are types
	word         string        // pattern of a word; "" for letters, digits and underscores
	first        []chroma.Rule // tried before all others
}

// Patterns that several languages share.
const (
	wordPattern   = `[\p{L}_][\p{L}\p{N}_]*`
	numberPattern = `(?:0[xX][0-9a-fA-F_']+|0[bB][01_']+|0[oO][0-7_]+|\d[\d_']*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)[a-zA-Z]{0,4}(?![\p{L}\p{N}])`
	charPattern   = `'(?:\\[^\n][^'\n]{0,10}|[^'\\\n])'`
)

// rules returns the rules of a grammar for chroma.
func (g *grammar) rules() chroma.Rules {
	all := chroma.Rules{}
	root := slices.Clone(g.first)
	for _, begin := range g.lineComment {
		root = append(root, chroma.Rule{Pattern: begin + `[^\n]*`, Type: chroma.Comment})
	}
	if len(g.blockComment) == 2 {
		root = append(root, g.block(all)...)
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
		chroma.Rule{Pattern: `[^\S\n]+|\n`, Type: chroma.Text},
		chroma.Rule{Pattern: numberPattern, Type: chroma.Number},
		chroma.Rule{Pattern: `(` + word + `)(?=(\(?))`, Type: g.words()},
		chroma.Rule{Pattern: `[^\s\p{L}\p{N}_"'` + "`" + `]`, Type: chroma.Text},
		chroma.Rule{Pattern: `[\s\S]`, Type: chroma.Text},
	)
	return all
}

// quote returns a pattern for the marks of a grammar, none of which is a letter or digit.
func quote(mark string) string {
	var b strings.Builder
	for _, r := range mark {
		b.WriteString(`\` + string(r))
	}
	return b.String()
}

// block returns the rules for comments of several lines.
func (g *grammar) block(all chroma.Rules) []chroma.Rule {
	begin, end := quote(g.blockComment[0]), quote(g.blockComment[1])
	inside := []chroma.Rule{{Pattern: end, Type: chroma.Comment, Mutator: chroma.Pop(1)}}
	if g.nested {
		inside = append(inside, chroma.Rule{Pattern: begin, Type: chroma.Comment, Mutator: chroma.Push("comment")})
	}
	stop := quote(g.blockComment[1][:1])
	if g.nested {
		stop += quote(g.blockComment[0][:1])
	}
	all["comment"] = append(inside,
		chroma.Rule{Pattern: `[^` + stop + `]+`, Type: chroma.Comment},
		chroma.Rule{Pattern: `[\s\S]`, Type: chroma.Comment},
	)
	return []chroma.Rule{{Pattern: begin, Type: chroma.Comment, Mutator: chroma.Push("comment")}}
}

// text returns the rule for strings between two equal marks; one within a line ends with the line at the latest.
func (g *grammar) text(all chroma.Rules, mark string, long bool) chroma.Rule {
	state, quoted := "text"+mark, quote(mark)
	inside := []chroma.Rule{{Pattern: quoted, Type: chroma.String, Mutator: chroma.Pop(1)}}
	stop := quote(mark[:1])
	if !g.raw {
		inside = append(inside, chroma.Rule{Pattern: `\\[\s\S]`, Type: chroma.StringEscape})
		stop += `\\`
	}
	if !long {
		inside = append(inside, chroma.Rule{Pattern: `\n`, Type: chroma.Text, Mutator: chroma.Pop(1)})
		stop += `\n`
	}
	all[state] = append(inside,
		chroma.Rule{Pattern: `[^` + stop + `]+`, Type: chroma.String},
		chroma.Rule{Pattern: `[\s\S]`, Type: chroma.String},
	)
	return chroma.Rule{Pattern: g.prefix + quoted, Type: chroma.String, Mutator: chroma.Push(state)}
}

// words returns what a word is: by the lists, or by what follows it.
func (g *grammar) words() chroma.Emitter {
	kinds := map[string]chroma.TokenType{}
	for kind, list := range map[chroma.TokenType]string{chroma.Keyword: g.keywords, chroma.KeywordType: g.types, chroma.KeywordConstant: g.constants} {
		for word := range strings.FieldsSeq(list) {
			kinds[word] = kind
		}
	}
	return chroma.EmitterFunc(func(groups []string, _ *chroma.LexerState) chroma.Iterator {
		word := groups[1]
		key := word
		if g.anyCase {
			key = strings.ToLower(word)
		}
		kind, known := kinds[key]
		switch {
		case known:
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
