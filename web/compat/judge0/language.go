package judge0

import (
	"bytes"
	"io/fs"
	"strings"

	"go.yaml.in/yaml/v3"

	"drover/core"
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
	var all []Language
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&all); err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, "judge0_languages", "the table of languages cannot be read")
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

// DefaultLanguages are those for which Debian has packages, under Judge0's ids.
func DefaultLanguages() []Language {
	all := []Language{
		{ID: 43, Name: "Plain Text", Source: "text.txt", Run: "exec cat text.txt"},
		{ID: 44, Name: "Executable", Source: "a.out", Run: "chmod +x a.out && exec ./a.out"},
		{ID: 45, Name: "Assembly (NASM)", Source: "main.asm", Compile: "nasm -f elf64 %s -o main.o main.asm && ld -o a.out main.o", Run: "exec ./a.out"},
		{ID: 46, Name: "Bash", Source: "script.sh", Run: "exec bash script.sh"},
		{ID: 51, Name: "C# (Mono)", Source: "Main.cs", Compile: "mcs %s Main.cs", Run: "exec mono Main.exe"},
		{ID: 55, Name: "Common Lisp (SBCL)", Source: "script.lisp", Run: "exec sbcl --script script.lisp"},
		{ID: 57, Name: "Elixir", Source: "script.exs", Run: "exec elixir script.exs"},
		{ID: 59, Name: "Fortran (GFortran)", Source: "main.f90", Compile: "gfortran %s main.f90", Run: "exec ./a.out"},
		{ID: 60, Name: "Go", Source: "main.go", Compile: "GOCACHE=/tmp/go-build GOPATH=/tmp/go go build %s -o main main.go", Run: "exec ./main"},
		{ID: 61, Name: "Haskell (GHC)", Source: "main.hs", Compile: "ghc %s main.hs", Run: "exec ./main"},
		{ID: 62, Name: "Java (OpenJDK)", Source: "Main.java", Compile: "javac %s Main.java", Run: "exec java Main"},
		{ID: 63, Name: "JavaScript (Node.js)", Source: "script.js", Run: "exec node script.js"},
		{ID: 64, Name: "Lua", Source: "script.lua", Run: "exec lua script.lua"},
		{ID: 65, Name: "OCaml", Source: "main.ml", Compile: "ocamlc %s main.ml", Run: "exec ./a.out"},
		{ID: 66, Name: "Octave", Source: "script.m", Run: "exec octave-cli -q --no-gui --no-history script.m"},
		{ID: 67, Name: "Pascal (FPC)", Source: "main.pas", Compile: "fpc %s main.pas", Run: "exec ./main"},
		{ID: 68, Name: "PHP", Source: "script.php", Run: "exec php script.php"},
		{ID: 71, Name: "Python (3)", Source: "script.py", Run: "exec python3 script.py"},
		{ID: 72, Name: "Ruby", Source: "script.rb", Run: "exec ruby script.rb"},
		{ID: 73, Name: "Rust", Source: "main.rs", Compile: "rustc %s main.rs", Run: "exec ./main"},
		{ID: 80, Name: "R", Source: "script.r", Run: "exec Rscript script.r"},
		{ID: 82, Name: "SQL (SQLite)", Source: "script.sql", Run: "exec sqlite3 db.sqlite <script.sql"},
		{ID: 85, Name: "Perl", Source: "script.pl", Run: "exec perl script.pl"},
		{ID: 89, Name: "Multi-file program", Compile: multiCompile, Run: multiRun},
	}
	for _, id := range []int{48, 49, 50} {
		all = append(all, Language{ID: id, Name: "C (GCC)", Source: "main.c", Compile: "gcc %s main.c -lm", Run: "exec ./a.out"})
	}
	for _, id := range []int{52, 53, 54} {
		all = append(all, Language{ID: id, Name: "C++ (GCC)", Source: "main.cpp", Compile: "g++ %s main.cpp", Run: "exec ./a.out"})
	}
	return append(all,
		Language{ID: 75, Name: "C (Clang)", Source: "main.c", Compile: "clang %s main.c -lm", Run: "exec ./a.out"},
		Language{ID: 76, Name: "C++ (Clang)", Source: "main.cpp", Compile: "clang++ %s main.cpp", Run: "exec ./a.out"},
	)
}

// A program of several files brings its own scripts for compiling and running.
const (
	multiCompile = `for f in compile compile.sh; do if [ -f $f ]; then exec bash $f; fi; done`
	multiRun     = `for f in run run.sh; do if [ -f $f ]; then exec bash $f; fi; done; echo "there is no file run in additional_files" >&2; exit 127`
)
