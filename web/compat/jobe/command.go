package jobe

import (
	_ "embed"
	"path"
	"strconv"
	"strings"
)

// folder is where the script writes its notes, in the folder of the files.
const folder = ".jobe"

// script compiles and runs, and notes the results; see compat.ReadPhases.
//
//go:embed run.sh
var script string

// command makes the request's command.
func (s *runspec) command(l limits) []string {
	text := func(p *string, otherwise string) string {
		if p == nil {
			return otherwise
		}
		return *p
	}
	main, _, _ := strings.Cut(s.name, ".")
	if s.params.class != "" {
		main = s.params.class
	}
	words := strings.NewReplacer(
		"{source}", s.name, "{main}", main,
		"{compileargs}", text(s.params.compile, s.language.CompileArgs), "{linkargs}", text(s.params.link, ""),
		"{interpreterargs}", text(s.params.interpreter, s.language.InterpreterArgs), "{runargs}", text(s.params.run, ""),
	)
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	return []string{
		"sh", "-c", script, "jobe", s.language.Needs, words.Replace(s.language.Compile), words.Replace(s.language.Run), n(l.cpu), n(l.wall),
		n(l.compileCPU), n(l.compileWall), n(l.data), n(2 * l.file), n(l.stream),
	}
}

// collected are the files that the script leaves for the compatible API.
func collected() []string {
	all := []string{path.Join(folder, "note"), path.Join(folder, "missing")}
	for _, name := range []string{"compiled.out", "compiled.err", "out", "err"} {
		all = append(all, path.Join(folder, name), path.Join(folder, "cut."+name))
	}
	return all
}
