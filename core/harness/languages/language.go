package languages

import (
	"path"
	"slices"
	"strings"

	"drover/core"
)

// Language is how programs in one language are built and run. Build and Run are commands for the shell, and start in the
// folder of the files: $here is that folder, "$@" the files of the language, $main the one to start, $class its name
// without suffix, $options what Options says. Build leaves what Run needs; the arguments of a program follow Run.
type Language struct {
	Code     string   // the short name, which is that of Kattis and ICPC where they have one
	Name     string   // for people, without a version
	Also     []string // other codes
	Suffixes []string // of its files, without the dot; none if files never tell it
	Lines    string   // extended regular expression: a file with such a line is in this language, if others have its suffix, too
	Packages []string // of Debian
	Version  string   // prints the version, and fails where the language is missing
	Options  string   // of the compiler
	Build    string   // "" where there is nothing to build or check
	Run      string
	Time     float64 // how many times the limit for C a program may need, as a suggestion to authors
	Memory   float64 // the same of memory
	Source   string  // the name of a program of one file
	Judge0   []int   // ids of Judge0
	Hello    string  // a program that prints hello
}

// All are all languages.
func All() []Language { return slices.Clone(table) }

// Find returns the language with this code.
func Find(code string) (Language, bool) {
	at := slices.IndexFunc(table, func(l Language) bool { return l.Code == code || slices.Contains(l.Also, code) })
	if at < 0 {
		return Language{}, false
	}
	return table[at], true
}

// Choose returns the languages with these codes, or all for "all". Returns INVALID for one that is not in the table.
func Choose(codes []string) ([]Language, error) {
	if slices.Equal(codes, []string{"all"}) {
		return All(), nil
	}
	var chosen []Language
	for _, code := range codes {
		l, ok := Find(code)
		if !ok {
			return nil, core.Errorf(core.CodeInvalid, code, "%.40q is no language that is known: choose of %s, or all", code, strings.Join(Codes(table), ", "))
		}
		chosen = append(chosen, l)
	}
	return chosen, nil
}

// Codes are the codes of languages.
func Codes(all []Language) []string {
	codes := make([]string, len(all))
	for i := range all {
		codes[i] = all[i].Code
	}
	return codes
}

// Packages are what Debian needs for languages, sorted, each once.
func Packages(all []Language) []string {
	var names []string
	for i := range all {
		names = append(names, all[i].Packages...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Of returns the language of files by their suffixes: the first of the table that one of them has. It is false if none has.
func Of(paths []string) (Language, bool) {
	for _, l := range table {
		if slices.ContainsFunc(paths, func(p string) bool { return slices.Contains(l.Suffixes, strings.TrimPrefix(path.Ext(p), ".")) }) {
			return l, true
		}
	}
	return Language{}, false
}

// Single fills in a command for a program of one file, in its own folder.
func (l *Language) Single(command, options string) string {
	class := strings.TrimSuffix(l.Source, path.Ext(l.Source))
	return strings.NewReplacer(
		`"$here/program"`, "./program", `"$here/$main"`, l.Source, `"$here/$class.js"`, class+".js", `"$here/`, `"./`, `"$here"`, ".",
		`"$main"`, l.Source, `"$@"`, l.Source, `"$class"`, class, " $options", strings.TrimRight(" "+options, " "),
	).Replace(command)
}
