package judge0

import (
	"cmp"
	"io/fs"
	"slices"
	"strings"

	"drover/core"
	"drover/core/harness/languages"
	"drover/web/compat"
)

// Language is a way to compile and run a submission. Commands are for the VM's shell, in the folder of the files.
type Language struct {
	ID       int    `json:"id"                    yaml:"id"`
	Name     string `json:"name"                  yaml:"name"`
	Source   string `json:"source_file,omitempty" yaml:"source_file"` // name of the file with the source code; "" for none: all is in additional_files
	Compile  string `json:"compile_cmd,omitempty" yaml:"compile_cmd"` // %s stands for compiler_options; "" needs none
	Run      string `json:"run_cmd"               yaml:"run_cmd"`     // command_line_arguments follow
	Archived bool   `json:"is_archived"           yaml:"is_archived"` // known, but not to be used any more
}

// Bounds of the table.
const (
	maxLanguages = 1000
	maxCommand   = 2000
)

// ParseLanguages reads a table of languages: YAML, a list of what Language has.
// Returns INVALID.
func ParseLanguages(text []byte) ([]Language, error) {
	all, err := compat.ParseTable[Language](text, "judge0_languages")
	if err != nil {
		return nil, err
	}
	return all, checkLanguages(all)
}

func checkLanguages(all []Language) error {
	seen := map[int]bool{}
	for _, l := range all {
		wrong := func(what string) error {
			return core.Errorf(core.CodeInvalid, "judge0_languages", "the language %d %q: %s", l.ID, l.Name, what)
		}
		switch {
		case l.ID <= 0 || seen[l.ID]:
			return wrong("its id must be above 0, and no other's")
		case l.Name == "" || l.Run == "":
			return wrong("it needs a name and run_cmd")
		case l.Source != "" && (!fs.ValidPath(l.Source) || l.Source == "." || strings.HasPrefix(l.Source, folder)):
			return wrong("source_file must be a relative, clean path")
		case len(l.Compile) > maxCommand || len(l.Run) > maxCommand:
			return wrong("a command of it is too long")
		}
		seen[l.ID] = true
	}
	if len(all) == 0 || len(all) > maxLanguages {
		return core.Errorf(core.CodeInvalid, "judge0_languages", "there must be 1 to %d languages, not %d", maxLanguages, len(all))
	}
	return nil
}

// DefaultLanguages are those of the table of languages that Judge0 knows, under its ids, and what is no language.
func DefaultLanguages() []Language {
	all := []Language{
		{ID: 43, Name: "Plain Text", Source: "text.txt", Run: "exec cat text.txt"},
		{ID: 44, Name: "Executable", Source: "a.out", Run: "chmod +x a.out && exec ./a.out"},
		{ID: 89, Name: "Multi-file program", Compile: multiCompile, Run: multiRun},
	}
	table := languages.All()
	for i := range table {
		l := &table[i]
		one := Language{Name: l.Name, Source: l.Source, Run: "exec " + l.Single(l.Run, "")}
		if strings.Contains(l.Build, "$options") { // others only check, which Judge0 does not
			one.Compile = l.Single(l.Build, "%s")
		}
		for _, id := range l.Judge0 {
			one.ID = id
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b Language) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// A program of several files brings its own scripts for compiling and running.
const (
	multiCompile = `for f in compile compile.sh; do if [ -f $f ]; then exec bash $f; fi; done`
	multiRun     = `for f in run run.sh; do if [ -f $f ]; then exec bash $f; fi; done; echo "there is no file run in additional_files" >&2; exit 127`
)
