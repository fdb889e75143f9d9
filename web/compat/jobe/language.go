package jobe

import (
	"strings"

	"drover/core"
	"drover/core/service/pattern"
	"drover/web/compat"
)

// Language is a way to compile and run. Commands are for the VM's shell, in the folder of the files. In them {source}
// stands for the name of the file with the source code, {main} for that name up to its first dot or the parameter
// main_class, and {compileargs}, {linkargs}, {interpreterargs} and {runargs} for the parameters of these names.
type Language struct {
	ID      string `yaml:"id"`
	Version string `yaml:"version"` // as it is listed; "" for whatever the image has
	Source  string `yaml:"source"`  // name of the file where a run does not say it; * stands for the class that has main
	Needs   string `yaml:"needs"`   // programs without which it cannot be, by spaces
	Compile string `yaml:"compile"` // what it prints to stderr is an error, as is a status; "" for nothing to compile
	Run     string `yaml:"run"`

	CompileArgs     string `yaml:"compileargs"` // where a run does not say it
	InterpreterArgs string `yaml:"interpreterargs"`
	Memory          int64  `yaml:"memorylimit"` // MB, where a run does not say it; 0: 400
	Heap            bool   `yaml:"own_heap"`    // it keeps to a heap of its own: the parameter memorylimit is for others
}

// Bounds of the table.
const (
	maxLanguages = 200
	maxCommand   = 2000
)

var languageID = pattern.New(`^[a-z0-9][a-z0-9_+-]{0,39}$`)

// ParseLanguages reads a table of languages: YAML, a list of what Language has.
// Returns INVALID.
func ParseLanguages(text []byte) ([]Language, error) {
	all, err := compat.ParseTable[Language](text, "jobe_languages")
	if err != nil {
		return nil, err
	}
	return all, checkLanguages(all)
}

func checkLanguages(all []Language) error {
	seen := map[string]bool{}
	for _, l := range all {
		wrong := func(what string) error {
			return core.Errorf(core.CodeInvalid, "jobe_languages", "the language %q: %s", l.ID, what)
		}
		switch {
		case !languageID().MatchString(l.ID) || seen[l.ID]:
			return wrong("its id must be of small letters, digits, _, + and -, and no other's")
		case l.Run == "":
			return wrong("it needs the command run")
		case !validName(strings.Replace(l.Source, "*", "Main", 1)):
			return wrong("source must be the name of a file, without a folder")
		case len(l.Compile)+len(l.Run)+len(l.Needs)+len(l.CompileArgs)+len(l.InterpreterArgs) > maxCommand:
			return wrong("its commands are too long")
		case l.Memory < 0:
			return wrong("memorylimit must be 0 or more")
		}
		seen[l.ID] = true
	}
	if len(all) == 0 || len(all) > maxLanguages {
		return core.Errorf(core.CodeInvalid, "jobe_languages", "there must be 1 to %d languages, not %d", maxLanguages, len(all))
	}
	return nil
}

// DefaultLanguages are Jobe's, with its ids and defaults, and others for which Debian has packages. They are not those of
// the table of languages, because callers put arguments into commands, and compilers fail by what they print.
func DefaultLanguages() []Language {
	const compiled = "./{source}.exe {interpreterargs} {runargs}"
	return []Language{
		{
			ID: "c", Source: "prog.c", Needs: "gcc", CompileArgs: "-Wall -Werror -std=c99 -x c",
			Compile: "gcc {compileargs} -o {source}.exe {source} {linkargs}", Run: compiled,
		},
		{
			ID: "cpp", Source: "prog.cpp", Needs: "g++", CompileArgs: "-Wall -Werror -x c++",
			Compile: "g++ {compileargs} -o {source}.exe {source} {linkargs}", Run: compiled,
		},
		{
			ID: "java", Source: "*.java", Needs: "javac java", InterpreterArgs: "-Xrs -Xss8m -Xmx200m", Heap: true,
			Compile: "javac {compileargs} {source}", Run: "java {interpreterargs} {main} {runargs}",
		},
		{ID: "nodejs", Source: "prog.js", Needs: "node", InterpreterArgs: "--use_strict", Heap: true, Run: "node {interpreterargs} {source} {runargs}"},
		{
			ID: "octave", Source: "prog.m", Needs: "octave-cli", InterpreterArgs: "--norc --no-window-system --silent -H",
			Run: "octave-cli {interpreterargs} {source} {runargs}",
		},
		{
			ID: "pascal", Source: "prog.pas", Needs: "fpc", CompileArgs: "-vew -Se",
			Compile: "fpc {compileargs} -o{source}.exe {source} {linkargs} 2>&1", Run: compiled,
		},
		{
			ID: "php", Source: "prog.php", Needs: "php", InterpreterArgs: "--no-php-ini",
			Compile: "php -l {source} 2>&1", Run: "php {interpreterargs} {source} {runargs}",
		},
		{
			ID: "python3", Source: "prog.py", Needs: "python3", InterpreterArgs: "-BE", Memory: 1000,
			Compile: "python3 -m py_compile {source}", Run: "python3 {interpreterargs} {source} {runargs}",
		},
		{ID: "bash", Source: "prog.sh", Needs: "bash", Run: "bash {interpreterargs} {source} {runargs}"},
		{
			ID: "go", Source: "prog.go", Needs: "go", Heap: true, Run: compiled,
			Compile: "mv {source} main.go && GO111MODULE=off GOCACHE=/tmp/go-build GOPATH=/tmp/go go build {compileargs} -o {source}.exe main.go",
		},
		{
			ID: "haskell", Source: "prog.hs", Needs: "ghc", Heap: true, Run: compiled,
			Compile: "ghc -v0 {compileargs} -o {source}.exe -x hs {source} {linkargs}",
		},
		{ID: "perl", Source: "prog.pl", Needs: "perl", Run: "perl {interpreterargs} {source} {runargs}"},
		{ID: "ruby", Source: "prog.rb", Needs: "ruby", Run: "ruby {interpreterargs} {source} {runargs}"},
		{ID: "rust", Source: "prog.rs", Needs: "rustc", Compile: "rustc {compileargs} -o {source}.exe {source} {linkargs}", Run: compiled},
	}
}
