package source

import (
	"path"
	"strings"

	"github.com/alecthomas/chroma/v2"
)

// language returns the language of a file by its name; "" for an unknown one.
func language(name string) string {
	base := strings.ToLower(path.Base(name))
	switch base {
	case "makefile", "gnumakefile":
		return "make"
	case ".bashrc", ".profile", "configure":
		return "shell"
	}
	switch strings.TrimPrefix(path.Ext(base), ".") {
	case "c", "h":
		return "c"
	case "cc", "cpp", "cxx", "hh", "hpp", "hxx", "ino":
		return "cpp"
	case "py", "pyi":
		return "python"
	case "java", "kt", "scala":
		return "java"
	case "go":
		return "go"
	case "rs":
		return "rust"
	case "js", "mjs", "cjs", "jsx", "ts", "tsx":
		return "javascript"
	case "hs":
		return "haskell"
	case "sh", "bash", "zsh":
		return "shell"
	case "sql":
		return "sql"
	case "mk":
		return "make"
	case "yaml", "yml", "toml":
		return "yaml"
	case "json":
		return "json"
	case "html", "htm", "xml", "svg":
		return "html"
	case "css":
		return "css"
	case "md", "markdown":
		return "markdown"
	case "r":
		return "r"
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
		first: []chroma.Rule{
			{Pattern: `(^[ \t]*#[ \t]*include)([ \t]*)(<[^>\n]{0,200}>)`, Type: chroma.ByGroups(chroma.CommentPreproc, chroma.Text, chroma.String)},
			{Pattern: `^[ \t]*#[ \t]*\w+`, Type: chroma.CommentPreproc},
			{Pattern: charPattern, Type: chroma.String},
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
		first:     []chroma.Rule{{Pattern: `^[ \t]*@[\w.]+`, Type: chroma.NameDecorator}},
	}
}

// curly are languages with C's comments and braces.
func curly(language string) *grammar {
	g := &grammar{lineComment: []string{"//"}, blockComment: []string{"/*", "*/"}, quotes: `"`}
	char := chroma.Rule{Pattern: charPattern, Type: chroma.String}
	switch language {
	case "java":
		g.long, g.upperTypes = []string{`"""`}, true
		g.keywords = "abstract assert break case catch class const continue default do else enum extends final finally for goto if implements import " +
			"instanceof interface native new package permits private protected public record return sealed static strictfp super switch " +
			"synchronized this throw throws transient try var volatile while yield fun val when object def trait"
		g.types, g.constants = "boolean byte char double float int long short void", "true false null"
		g.first = []chroma.Rule{char, {Pattern: `@\w+`, Type: chroma.NameDecorator}}
	case "go":
		g.long = []string{"`"}
		g.keywords = "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return " +
			"select struct switch type var"
		g.types = "any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr"
		g.constants = "true false nil iota"
		g.first = []chroma.Rule{char}
	case "rust":
		g.nested, g.upperTypes = true, true
		g.keywords = "as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod move mut pub ref return self " +
			"static struct super trait type unsafe use where while"
		g.types = "bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize"
		g.constants = "true false None Some Ok Err"
		g.first = []chroma.Rule{
			char,
			{Pattern: `'\w+`, Type: chroma.NameDecorator},
			{Pattern: `#!?\[[^\]\n]{0,200}\]`, Type: chroma.NameDecorator},
			{Pattern: `\w{1,100}!(?=[\(\[{ ])`, Type: chroma.NameFunction},
		}
	case "javascript":
		g.quotes, g.long, g.word = `"'`, []string{"`"}, `[\p{L}_$][\p{L}\p{N}_$]*`
		g.keywords = "abstract as async await break case catch class const continue debugger declare default delete do else enum export extends finally " +
			"for from function get if implements import in instanceof interface keyof let namespace new of private protected public readonly " +
			"return satisfies set static super switch this throw try type typeof var void while with yield"
		g.types = "any bigint boolean never number object string symbol unknown Array Map Set Promise Object String Number"
		g.constants = "true false null undefined NaN Infinity"
		g.first = []chroma.Rule{{Pattern: `@\w+`, Type: chroma.NameDecorator}}
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
			first:    []chroma.Rule{{Pattern: charPattern, Type: chroma.String}},
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
			first: []chroma.Rule{
				{Pattern: `'[^'\n]{0,2000}'`, Type: chroma.String},
				{Pattern: `\$(?:\{[^}\n]{0,200}\}|\w+|[@#?*$!-])`, Type: chroma.NameDecorator},
			},
		}
	case "make":
		return &grammar{
			lineComment: []string{"#"}, quotes: `"'`, word: `[\p{L}_][\p{L}\p{N}_.-]*`,
			keywords: "define else endef endif export ifdef ifeq ifndef ifneq include override unexport vpath",
			first: []chroma.Rule{
				{Pattern: `^[^\s:=#$?+][^:=#\n]{0,200}(?=:(?!=))`, Type: chroma.NameFunction},
				{Pattern: `\$(?:\([^)\n]{0,200}\)|\{[^}\n]{0,200}\}|[@<^?*$%+|])`, Type: chroma.NameDecorator},
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
			first: []chroma.Rule{
				{Pattern: `^[ \t]*\[[^\]\n]{0,200}\]`, Type: chroma.NameTag},
				{Pattern: `(^[ \t]*(?:- +)*)([\w./-]{1,200})(?=[ \t]*[:=](?:\s|$))`, Type: chroma.ByGroups(chroma.Text, chroma.NameTag)},
			},
		}
	case "json":
		return &grammar{
			quotes: `"`, constants: "true false null",
			first: []chroma.Rule{{Pattern: `"[^"\\\n]{0,200}"(?=\s{0,20}:)`, Type: chroma.NameTag}},
		}
	case "html":
		return &grammar{
			blockComment: []string{"<!--", "-->"}, quotes: `"`, word: `[\p{L}_][\p{L}\p{N}_:-]*`,
			first: []chroma.Rule{
				{Pattern: `</?[\p{L}][\w:.-]*|<[!?]\w[\w-]*|[/?]?>`, Type: chroma.NameTag},
				{Pattern: `&#?\w{1,30};`, Type: chroma.StringEscape},
				{Pattern: `[\w:-]{1,100}(?==)`, Type: chroma.NameDecorator},
			},
		}
	case "css":
		return &grammar{
			blockComment: []string{"/*", "*/"}, quotes: `"'`, word: `-{0,2}[\p{L}_][\p{L}\p{N}_-]*`,
			first: []chroma.Rule{
				{Pattern: `@[\w-]+`, Type: chroma.Keyword},
				{Pattern: `[.#][\p{L}_][\w-]*`, Type: chroma.NameTag},
				{Pattern: `-{0,2}[\p{L}_][\w-]{0,100}(?=\s{0,20}:[ \t])`, Type: chroma.NameDecorator},
			},
		}
	case "markdown":
		return &grammar{
			long: []string{"```", "~~~"}, raw: true,
			first: []chroma.Rule{
				{Pattern: `^#{1,6}[ \t][^\n]*`, Type: chroma.GenericHeading},
				{Pattern: "`[^`\\n]{1,500}`", Type: chroma.String},
				{Pattern: `\*\*[^*\n]{1,500}\*\*`, Type: chroma.Keyword},
				{Pattern: `^[ \t]*(?:[-*+]|\d+\.)(?=[ \t])`, Type: chroma.NameDecorator},
				{Pattern: `^>[^\n]*`, Type: chroma.Comment},
				{Pattern: `(\[[^\]\n]{1,300}\])(\([^)\n]{0,500}\))`, Type: chroma.ByGroups(chroma.NameFunction, chroma.Comment)},
				{Pattern: `[\p{L}\p{N}][^\n*` + "`" + `\[]*`, Type: chroma.Text},
			},
		}
	}
	return nil
}
