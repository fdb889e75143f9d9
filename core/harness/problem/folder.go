package problem

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"drover/core"
	"drover/core/harness/cases"
	"drover/core/service/pattern"
)

// Modes of files that are not run, and of those that are.
const (
	filePlain = os.FileMode(0o600)
	fileRun   = os.FileMode(0o700)
)

// defaultTime is the limit of a test while the package's own is measured.
const defaultTime = 10 * time.Second

// Write writes the package as a harness folder, which must not have files of these names yet. It returns INVALID if
// drover cannot judge the package.
func (p *Problem) Write(dir string) error { return p.write(&writer{p: p, dir: dir}) }

// WriteEvery is like Write, but the harness runs all tests, whatever became of those before.
func (p *Problem) WriteEvery(dir string) error { return p.write(&writer{p: p, dir: dir, every: true}) }

func (p *Problem) write(w *writer) error {
	if p.Plan(); len(p.Refused) > 0 {
		return p.Check()
	}
	file := map[string]any{"limits": w.limits(), "build_limits": w.buildLimits(), "groups": w.groups()}
	if p.Answers {
		w.text(answerFile, answerScript)
		file["files"] = []string{answerFile}
	} else {
		w.text(buildFile, buildScript(p.Languages))
		program := []string{buildFile}
		for _, f := range p.below("include") {
			w.copy(f, includeDir+strings.TrimPrefix(f, "include"))
			program = append(program, includeDir+strings.TrimPrefix(f, "include"))
		}
		file["build"], file["run"], file["files"] = []any{[]string{"sh", buildFile}}, []string{"./run"}, program
	}
	if p.polygon != nil {
		w.testlib(file)
	} else if p.Validator != "" {
		what, is := "checker", w.validator()
		if p.Interactive {
			what = "interactor"
		}
		file["compare"], file[what] = what, is
	}
	w.staticChecker(file)
	if len(p.nodes) > 0 {
		file["grader"] = w.grader()
	}
	w.handout()
	w.origin()
	return w.finish(file)
}

// Plan finds what of the flags of validators drover cannot do, which is then in Refused.
func (p *Problem) Plan() {
	if p.planned {
		return
	}
	p.planned = true
	for i := range p.Groups {
		g := &p.Groups[i]
		var last *Test // one that is compared
		for j := range g.Tests {
			t := &g.Tests[j]
			f := p.flagsOf(t)
			switch {
			case p.polygon != nil:
				t.compare = p.polygon.compare
			case t.Static:
				t.checker = slices.Concat([]string{"static:" + p.most(g, t)}, t.flags.words)
			case p.Validator != "":
				t.checker = slices.Concat([]string{p.most(g, t)}, f.words)
			case last != nil && p.flagsOf(last).file == f.file && p.flagsOf(last).line == f.line:
				t.compare = last.compare // what is wrong with it is said once
			default:
				t.compare, last = p.comparison(f), t
			}
		}
	}
}

// most tells the validator's script what a test's points are out of.
func (p *Problem) most(g *Group, t *Test) string {
	switch {
	case !p.Scoring, g.Sample:
		return "ignore"
	case !t.Scores:
		return "none"
	case g.Least:
		return strconv.FormatFloat(*g.Points, 'g', -1, 64)
	}
	return strconv.FormatFloat(t.Points, 'g', -1, 64)
}

// WriteInputs writes a harness folder that tests an input validator, as if it were a submission, with all inputs.
func (p *Problem) WriteInputs(dir, program string) error {
	w := &writer{p: p, dir: dir}
	var groups []any
	const accepts = 42
	for i := range p.Groups {
		var tests []any
		for j := range p.Groups[i].Tests {
			t := &p.Groups[i].Tests[j]
			if t.Static {
				continue
			}
			one := map[string]any{"name": t.Name, "input": map[string]any{"file": w.test(t.Input)}, "exit": accepts}
			if args := t.inputs.of(program, t); len(args) > 0 {
				one["args"] = args
			}
			w.beside(one, t)
			tests = append(tests, one)
		}
		if len(tests) > 0 {
			groups = append(groups, map[string]any{"name": p.Groups[i].Name, "tests": tests})
		}
	}
	w.text(buildFile, buildScript(nil))
	run := "./run"
	if w.withTestlib(program) { // which ends with 0 where the format wants 42; arguments come last
		run = fmt.Sprintf(`run() { ./run "$@" && exit %d; }; run`, accepts)
	}
	return w.finish(map[string]any{
		"files": []string{buildFile}, "build": []any{[]string{"sh", buildFile, ".", "own"}}, "run": "exec >/dev/null; " + run,
		"build_limits": w.buildLimits(), "limits": map[string]any{"time": defaultWork.String()}, "groups": groups,
	})
}

// withTestlib reports whether a program includes testlib.
func (w *writer) withTestlib(program string) bool {
	return slices.ContainsFunc(w.p.filesOf(program), func(name string) bool {
		return path.Base(name) != testlibFile && includesTestlib().Match(w.read(name))
	})
}

const testlibFile = "testlib.h"

var includesTestlib = pattern.New(`(?m)^\s*#\s*include\s*["<]testlib\.h[">]`)

// writer writes a harness folder, up to the first error.
type writer struct {
	p     *Problem
	dir   string
	every bool // test is run
	size  int64
	err   error

	contents map[content]string // of tests: where each is
}

func (w *writer) finish(file map[string]any) error {
	raw, err := yaml.Marshal(file)
	if err != nil {
		return err
	}
	w.text(cases.File, string(raw))
	return w.err
}

func (w *writer) text(name, text string) { w.put(name, []byte(text), filePlain) }

func (w *writer) put(name string, content []byte, mode os.FileMode) {
	w.grow(name, int64(len(content)))
	at := w.path(name)
	if w.err == nil {
		w.err = os.MkdirAll(filepath.Dir(at), 0o700)
	}
	if w.err == nil {
		w.err = os.WriteFile(at, content, mode)
	}
}

// copy copies a program's file of the package, with the values of constants.
func (w *writer) copy(from, to string) {
	mode := filePlain
	if w.executable(from) {
		mode = fileRun
	}
	w.put(to, w.p.filled(w.read(from)), mode)
}

// plain copies a file of the package as it is.
func (w *writer) plain(from, to string) {
	w.put(to, w.read(from), filePlain)
}

// read returns a file of the package; after a failure nothing.
func (w *writer) read(from string) []byte {
	if w.err != nil {
		return nil
	}
	content, err := w.p.bytes(from, maxBytes)
	w.err = err
	return content
}

func (w *writer) limits() map[string]any {
	l := w.p.Limits
	time := l.Time
	if time == 0 {
		time = defaultTime
	}
	all := map[string]any{"time": time.String(), "output": l.Output}
	if l.Memory > 0 {
		all["memory"] = l.Memory
	}
	return all
}

func (w *writer) buildLimits() map[string]any {
	all := map[string]any{"time": w.p.Limits.Build.String()}
	if w.p.Limits.BuildMemory > 0 {
		all["memory"] = w.p.Limits.BuildMemory
	}
	return all
}

// validators is the program that runs validators, without any.
func (w *writer) validators(interactive bool) map[string]any {
	p, l := w.p, w.p.Limits
	file := validateFile
	if interactive {
		file = converseFile
	}
	w.text(buildFile, buildScript(p.Languages))
	w.text(file, validateScript(interactive))
	w.text(verdictFile, verdictScript(p.Passes, p.Format == Legacy))
	limits := map[string]any{"time": l.Check.String()}
	if l.CheckMemory > 0 {
		limits["memory"] = l.CheckMemory
	}
	switch {
	case l.CheckOutput > 0:
		limits["output"] = l.CheckOutput
	case interactive: // it is also what the submission reads
		limits["output"] = core.MaxOutputBytes
	default:
		limits["output"] = defaultOutput
	}
	program := map[string]any{
		"files": []string{buildFile, file, verdictFile}, "build": []any{},
		"run": []string{"sh", file, "{input}", "{answer}"}, "limits": limits, "stderr": "staff",
	}
	if interactive {
		program["after"] = []string{"sh", verdictFile}
	}
	if p.Passes > 0 && p.Validator != "" {
		program["passes"] = p.Passes
	}
	return program
}

// validator is the output validator.
func (w *writer) validator() map[string]any {
	is := w.validators(w.p.Interactive)
	w.built(is, w.p.Validator, validatorDir)
	return is
}

// built adds a program of the package to those of a checker.
func (w *writer) built(is map[string]any, program, dir string) {
	files, _ := is["files"].([]string)
	build, _ := is["build"].([]any)
	is["files"] = append(files, w.program(program, dir)...)
	is["build"] = append(build, []string{"sh", buildFile, dir, "own"})
}

// program copies a program of the package, a file or a folder, into a folder, and returns its files there.
func (w *writer) program(from, into string) (files []string) {
	for _, f := range w.p.filesOf(from) {
		to := into + "/" + strings.TrimPrefix(f, from+"/")
		if !strings.HasPrefix(f, from+"/") {
			to = into + "/" + path.Base(f)
		}
		w.copy(f, to)
		files = append(files, to)
	}
	return files
}

func (w *writer) groups() []any {
	var all []any
	for i := range w.p.Groups {
		g := &w.p.Groups[i]
		one := map[string]any{"name": g.Name, "tests": w.tests(g)}
		if !g.Sample {
			one["visibility"] = "hidden"
		}
		if g.Points != nil {
			one["points"] = *g.Points
		}
		if g.Stop && !w.every {
			one["stop"] = true
		}
		if len(g.Needs) > 0 && !w.every {
			one["needs"] = g.Needs
		}
		if g.Least {
			one["award"] = "least"
		}
		all = append(all, one)
	}
	return all
}

func (w *writer) tests(g *Group) []any {
	var all []any
	for i := range g.Tests {
		t := &g.Tests[i]
		if t.Static {
			all = append(all, w.archived(g, t))
			continue
		}
		one := map[string]any{"name": t.Name, "input": map[string]any{"file": w.test(t.Input)}, "output": map[string]any{"file": w.test(t.Answer)}}
		if g.Points == nil {
			one["points"] = t.Points
		}
		if w.p.Answers {
			one["run"] = append([]string{"sh", answerFile}, w.p.answersOf(t)...)
		}
		if len(t.Args) > 0 {
			one["args"] = t.Args
		}
		switch {
		case t.compare != nil:
			one["compare"] = t.compare
		case w.p.polygon == nil:
			one["checker_args"] = t.checker
		}
		w.beside(one, t)
		all = append(all, one)
	}
	return all
}

// beside adds the files that lie beside the program.
func (w *writer) beside(one map[string]any, t *Test) {
	if len(t.Files) == 0 {
		return
	}
	files := map[string]any{}
	for at, from := range t.Files {
		files[at] = map[string]any{"file": w.test(from)}
	}
	one["files"] = files
}
