package source

import (
	"path"
	"slices"
	"strings"

	"github.com/alecthomas/chroma/v2"
)

// names are the languages with the names of their files and the ends of names, in lower case and without the dot.
func names() [][3]string {
	return [][3]string{
		{"c", "", "c h"},
		{"cpp", "", "cc cpp cxx hh hpp hxx ino"},
		{"python", "", "py pyi"},
		{"java", "", "java kt scala"},
		{"go", "", "go"},
		{"rust", "", "rs"},
		{"javascript", "", "js mjs cjs jsx ts tsx"},
		{"haskell", "", "hs"},
		{"shell", ".bashrc .profile configure", "sh bash zsh"},
		{"sql", "", "sql"},
		{"make", "makefile gnumakefile", "mk"},
		{"yaml", "", "yaml yml toml"},
		{"json", "", "json"},
		{"html", "", "html htm xml svg"},
		{"css", "", "css"},
		{"markdown", "", "md markdown"},
		{"r", "", "r"},
	}
}

// language returns the language of a file by its name; "" for an unknown one.
func language(name string) string {
	base := strings.ToLower(path.Base(name))
	end := strings.TrimPrefix(path.Ext(base), ".")
	for _, one := range names() {
		if slices.Contains(strings.Fields(one[1]), base) || slices.Contains(strings.Fields(one[2]), end) {
			return one[0]
		}
	}
	return ""
}

// grammarOf returns the grammar of a language; nil for a language without one.
func grammarOf(language string) *grammar {
	switch language {
	case "c", "cpp":
		return cFamily(language == "cpp")
	case "python":
		return pythonGrammar()
	case "java", "go", "rust", "javascript":
		return curly(language)
	case "haskell", "sql", "r", "shell", "make":
		return others(language)
	case "yaml", "json", "html", "css", "markdown":
		return markup(language)
	}
	return nil
}

func cFamily(plus bool) *grammar {
	g := &grammar{
		lineComment: []string{"//"}, blockComment: []string{"/*", "*/"}, quotes: `"`,
		keywords: "auto break case const continue default do else enum extern for goto if inline register restrict return sizeof static struct switch typedef union volatile while",
		types: "bool char double float int long short signed unsigned void size_t ssize_t ptrdiff_t int8_t int16_t int32_t int64_t " +
			"uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t FILE wchar_t va_list",
		constants: "NULL true false stdin stdout stderr EOF",
		first: []rule{
			{pattern: `(^[ \t]*#[ \t]*include)([ \t]*)(<[^>\n]{0,200}>)`, kinds: kinds{chroma.CommentPreproc, chroma.Text, chroma.String}},
			{pattern: `^[ \t]*#[ \t]*\w+`, kinds: kinds{chroma.CommentPreproc}},
			{pattern: charPattern, kinds: kinds{chroma.String}},
		},
	}
	if plus {
		g.keywords += " alignas alignof catch class concept consteval constexpr constinit co_await co_return co_yield decltype delete explicit " +
			"export final friend mutable namespace new noexcept operator override private protected public requires static_assert " +
			"static_cast dynamic_cast const_cast reinterpret_cast template this throw try typeid typename using virtual"
		g.types += " string string_view vector map set unordered_map unordered_set pair tuple deque queue stack array optional unique_ptr shared_ptr"
		g.constants += " nullptr cin cout cerr endl std"
	}
	return g
}

func pythonGrammar() *grammar {
	return &grammar{
		lineComment: []string{"#"}, long: []string{`"""`, `'''`}, quotes: `"'`, prefix: `(?:[rRbBuUfF]{1,2})?`,
		keywords: "and as assert async await break case class continue def del elif else except finally for from global if import in is lambda " +
			"match nonlocal not or pass raise return try while with yield",
		types:     "bool bytes complex dict float frozenset int list object set str tuple type",
		constants: "True False None self cls NotImplemented Ellipsis __name__",
		first:     []rule{{pattern: `^[ \t]*@[\w.]+`, kinds: kinds{chroma.NameDecorator}}},
	}
}

// curly are languages with C's comments and braces.
func curly(language string) *grammar {
	g := &grammar{lineComment: []string{"//"}, blockComment: []string{"/*", "*/"}, quotes: `"`}
	char := rule{pattern: charPattern, kinds: kinds{chroma.String}}
	switch language {
	case "java":
		g.long, g.upperTypes = []string{`"""`}, true
		g.keywords = "abstract assert break case catch class const continue default do else enum extends final finally for goto if implements import " +
			"instanceof interface native new package permits private protected public record return sealed static strictfp super switch " +
			"synchronized this throw throws transient try var volatile while yield fun val when object def trait"
		g.types, g.constants = "boolean byte char double float int long short void", "true false null"
		g.first = []rule{char, {pattern: `@\w+`, kinds: kinds{chroma.NameDecorator}}}
	case "go":
		g.long = []string{"`"}
		g.keywords = "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return " +
			"select struct switch type var"
		g.types = "any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr"
		g.constants = "true false nil iota"
		g.first = []rule{char}
	case "rust":
		g.nested, g.upperTypes = true, true
		g.keywords = "as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod move mut pub ref return self " +
			"static struct super trait type unsafe use where while"
		g.types = "bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize"
		g.constants = "true false None Some Ok Err"
		g.first = []rule{
			char,
			{pattern: `'\w+`, kinds: kinds{chroma.NameDecorator}},
			{pattern: `#!?\[[^\]\n]{0,200}\]`, kinds: kinds{chroma.NameDecorator}},
			{pattern: `\w{1,100}!(?=[\(\[{ ])`, kinds: kinds{chroma.NameFunction}},
		}
	case "javascript":
		g.quotes, g.long, g.word = `"'`, []string{"`"}, `[\p{L}_$][\p{L}\p{N}_$]*`
		g.keywords = "abstract as async await break case catch class const continue debugger declare default delete do else enum export extends finally " +
			"for from function get if implements import in instanceof interface keyof let namespace new of private protected public readonly " +
			"return satisfies set static super switch this throw try type typeof var void while with yield"
		g.types = "any bigint boolean never number object string symbol unknown Array Map Set Promise Object String Number"
		g.constants = "true false null undefined NaN Infinity"
		g.first = []rule{{pattern: `@\w+`, kinds: kinds{chroma.NameDecorator}}}
	}
	return g
}

func others(language string) *grammar {
	switch language {
	case "haskell":
		return &grammar{
			lineComment: []string{"--"}, blockComment: []string{"{-", "-}"}, nested: true, quotes: `"`, upperTypes: true,
			word:     `[\p{L}_][\p{L}\p{N}_']*`,
			keywords: "case class data default deriving do else foreign forall if import in infix infixl infixr instance let module newtype of then type where qualified as hiding",
			first:    []rule{{pattern: charPattern, kinds: kinds{chroma.String}}},
		}
	case "sql":
		return &grammar{
			lineComment: []string{"--"}, blockComment: []string{"/*", "*/"}, long: []string{"'"}, quotes: `"`, raw: true, anyCase: true,
			keywords: "add all alter and any as asc begin between by cascade case check column commit constraint create cross current database default delete " +
				"desc distinct drop else end except exists explain fetch for foreign from full function grant group having if in index inner insert " +
				"intersect into is join key left like limit natural not offset on or order outer over partition primary references returning revoke " +
				"right rollback select set table then to transaction trigger truncate union unique update using values view when where window with",
			types:     "bigint blob boolean char date decimal double float int integer interval numeric real smallint text time timestamp varchar",
			constants: "null true false",
		}
	case "r":
		return &grammar{
			lineComment: []string{"#"}, long: []string{`"`, "'"}, word: `[\p{L}.][\p{L}\p{N}_.]*`,
			keywords:  "break else for function if in next repeat return while library require source",
			constants: "TRUE FALSE NULL NA NaN Inf T F",
		}
	case "shell":
		return &grammar{
			lineComment: []string{`(?<![^\s;(])#`}, long: []string{`"`}, word: `[\p{L}_][\p{L}\p{N}_-]*`,
			keywords:  "case do done elif else esac exit export fi for function if in local read return select set shift source then trap unset until while eval exec declare readonly",
			types:     "alias cat cd cp echo find grep head kill ls mkdir mv printf pwd rm sed sort tail test tr wc xargs",
			constants: "true false",
			first: []rule{
				{pattern: `'[^'\n]{0,2000}'`, kinds: kinds{chroma.String}},
				{pattern: `\$(?:\{[^}\n]{0,200}\}|\w+|[@#?*$!-])`, kinds: kinds{chroma.NameDecorator}},
			},
		}
	case "make":
		return &grammar{
			lineComment: []string{"#"}, quotes: `"'`, word: `[\p{L}_][\p{L}\p{N}_.-]*`,
			keywords: "define else endef endif export ifdef ifeq ifndef ifneq include override unexport vpath",
			first: []rule{
				{pattern: `^[^\s:=#$?+][^:=#\n]{0,200}(?=:(?!=))`, kinds: kinds{chroma.NameFunction}},
				{pattern: `\$(?:\([^)\n]{0,200}\)|\{[^}\n]{0,200}\}|[@<^?*$%+|])`, kinds: kinds{chroma.NameDecorator}},
			},
		}
	}
	return nil
}

// markup are languages of data and documents.
func markup(language string) *grammar {
	switch language {
	case "yaml":
		return &grammar{
			lineComment: []string{`(?<!\S)#`}, quotes: `"'`, constants: "true false null yes no", word: `[\p{L}_][\p{L}\p{N}_./-]*`,
			first: []rule{
				{pattern: `^[ \t]*\[[^\]\n]{0,200}\]`, kinds: kinds{chroma.NameTag}},
				{pattern: `(^[ \t]*(?:- +)*)([\w./-]{1,200})(?=[ \t]*[:=](?:\s|$))`, kinds: kinds{chroma.Text, chroma.NameTag}},
			},
		}
	case "json":
		return &grammar{
			quotes: `"`, constants: "true false null",
			first: []rule{{pattern: `"[^"\\\n]{0,200}"(?=\s{0,20}:)`, kinds: kinds{chroma.NameTag}}},
		}
	case "html":
		return &grammar{
			blockComment: []string{"<!--", "-->"}, quotes: `"`, word: `[\p{L}_][\p{L}\p{N}_:-]*`,
			first: []rule{
				{pattern: `</?[\p{L}][\w:.-]*|<[!?]\w[\w-]*|[/?]?>`, kinds: kinds{chroma.NameTag}},
				{pattern: `&#?\w{1,30};`, kinds: kinds{chroma.StringEscape}},
				{pattern: `[\w:-]{1,100}(?==)`, kinds: kinds{chroma.NameDecorator}},
			},
		}
	case "css":
		return &grammar{
			blockComment: []string{"/*", "*/"}, quotes: `"'`, word: `-{0,2}[\p{L}_][\p{L}\p{N}_-]*`,
			first: []rule{
				{pattern: `@[\w-]+`, kinds: kinds{chroma.Keyword}},
				{pattern: `[.#][\p{L}_][\w-]*`, kinds: kinds{chroma.NameTag}},
				{pattern: `-{0,2}[\p{L}_][\w-]{0,100}(?=\s{0,20}:[ \t])`, kinds: kinds{chroma.NameDecorator}},
			},
		}
	case "markdown":
		return &grammar{
			long: []string{"```", "~~~"}, raw: true,
			first: []rule{
				{pattern: `^#{1,6}[ \t][^\n]*`, kinds: kinds{chroma.GenericHeading}},
				{pattern: "`[^`\\n]{1,500}`", kinds: kinds{chroma.String}},
				{pattern: `\*\*[^*\n]{1,500}\*\*`, kinds: kinds{chroma.Keyword}},
				{pattern: `^[ \t]*(?:[-*+]|\d+\.)(?=[ \t])`, kinds: kinds{chroma.NameDecorator}},
				{pattern: `^>[^\n]*`, kinds: kinds{chroma.Comment}},
				{pattern: `(\[[^\]\n]{1,300}\])(\([^)\n]{0,500}\))`, kinds: kinds{chroma.NameFunction, chroma.Comment}},
				{pattern: `[\p{L}\p{N}][^\n*` + "`" + `\[]*`, kinds: kinds{chroma.Text}},
			},
		}
	}
	return nil
}
