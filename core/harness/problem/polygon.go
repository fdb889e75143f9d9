package problem

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"drover/core"
)

// Polygon is the format of full packages of Codeforces' Polygon, whose settings are in PolygonFile.
const (
	Polygon     = "polygon"
	PolygonFile = "problem.xml"
)

// polygonBuild is the memory of compilers: Polygon has no limit for them, and testlib needs much.
const polygonBuild = 512 * mebi

// polygon is what a package of Polygon has that those of Kattis have not.
type polygon struct {
	checker    string         // its source; "" for compare
	interactor string         // its source; "" for none
	compare    map[string]any // what compares as the package's standard checker does
	headers    []string       // beside each program, such as testlib.h
	input      string         // the file that submissions read in place of standard input; "" for none
	output     string         // the file that they write in place of standard output; "" for none
}

// readPolygon reads a package by its problem.xml.
func (p *Problem) readPolygon() error {
	raw, err := p.bytes(PolygonFile, maxYAML)
	if err != nil {
		return err
	}
	doc, err := readXML(PolygonFile, raw)
	if err != nil {
		return err
	}
	problem := doc.child("problem")
	judging := problem.child("judging")
	if judging == nil {
		return core.Errorf(core.CodeInvalid, "", "%s has no problem with judging", PolygonFile)
	}
	p.Format, p.polygon = Polygon, &polygon{}
	p.Limits = Limits{Output: core.MaxOutputBytes, Build: defaultWork, BuildMemory: polygonBuild, Check: defaultWork}
	for _, f := range p.below("files") {
		if slices.Contains([]string{".h", ".hpp"}, path.Ext(f)) {
			p.polygon.headers = append(p.polygon.headers, f)
		}
	}
	p.polygonTitle(problem)
	p.polygonJudging(judging)
	p.polygonPrograms(problem)
	p.polygonSolutions(problem)
	return p.polygonShown(problem)
}

// no refuses an element of problem.xml.
func (p *Problem) no(e *element, format string, args ...any) {
	p.refuse(PolygonFile, e.line, e.name+": "+format, args...)
}

func (p *Problem) polygonTitle(problem *element) {
	for _, n := range problem.child("names").all("name") {
		if p.Title == "" || n.attrs["language"] == "english" {
			p.Title = n.attrs["value"]
		}
	}
	if p.Title == "" {
		p.Title = problem.attrs["short-name"]
	}
}

func (p *Problem) polygonJudging(judging *element) {
	if n := judging.attrs["run-count"]; n != "" && n != "1" {
		p.no(judging, "submissions run %s times for a test; drover does that for multi-pass problems of the format 2025-09 only", n)
	}
	for key, into := range map[string]*string{"input-file": &p.polygon.input, "output-file": &p.polygon.output} {
		name := judging.attrs[key]
		if *into = name; name != "" && (!plainName().MatchString(name) || name == "run" || strings.HasPrefix(name, "drover-")) {
			p.no(judging, "%s: %q is no name that a file beside the submission can have", key, name)
		}
	}
	if p.polygon.input != "" && p.polygon.input == p.polygon.output {
		p.no(judging, "input-file and output-file are the same")
	}
	sets := judging.all("testset")
	at := slices.IndexFunc(sets, func(e *element) bool { return e.attrs["name"] == "tests" })
	if at < 0 && len(sets) == 1 {
		at = 0
	}
	for i, set := range sets {
		if i != at {
			p.note(PolygonFile, set.line, "the testset %s is not run: submissions are judged by the testset tests", set.attrs["name"])
		}
	}
	if at < 0 {
		p.no(judging, "there is no testset called tests")
		return
	}
	const most = 3_600_000
	set := sets[at]
	p.Limits.Time = time.Duration(p.count(set, "time-limit", most)) * time.Millisecond
	p.Limits.Memory = p.count(set, "memory-limit", 1<<40)
	p.polygonTests(set)
}

// count is a positive number in an element.
func (p *Problem) count(of *element, name string, most int64) int64 {
	e := of.child(name)
	if e == nil {
		p.no(of, "it has no %s", name)
		return 1
	}
	n, err := strconv.ParseInt(strings.TrimSpace(e.text), 10, 64)
	if err != nil || n < 1 || n > most {
		p.no(e, "this must be a number from 1 to %d", most)
		return 1
	}
	return n
}

// standard are the checkers that come with testlib and compare like the stock harness: nothing of them must be built.
var standard = map[string]map[string]any{
	"std::wcmp.cpp": {"by": "tokens"}, "std::ncmp.cpp": {"by": "tokens"}, "std::hcmp.cpp": {"by": "tokens"}, "std::icmp.cpp": {"by": "tokens"},
	"std::yesno.cpp": {"by": "tokens", "ignore_case": true}, "std::nyesno.cpp": {"by": "tokens", "ignore_case": true},
	"std::rcmp4.cpp": {"by": "float", "absolute": 1e-4, "relative": 1e-4}, "std::rcmp6.cpp": {"by": "float", "absolute": 1e-6, "relative": 1e-6},
	"std::rcmp9.cpp": {"by": "float", "absolute": 1e-9, "relative": 1e-9},
}

// polygonPrograms finds what judges.
func (p *Problem) polygonPrograms(problem *element) {
	assets := problem.child("assets")
	if e := assets.child("scorer"); e != nil {
		p.no(e, "drover runs no scorers: give the points to tests and groups")
	}
	for _, f := range problem.child("files").child("resources").all("file") {
		for _, a := range f.child("assets").all("asset") {
			if strings.EqualFold(a.attrs["name"], "solution") {
				p.no(f, "%s is built together with submissions; a package of the format 2025-09 has such files in include", f.attrs["path"])
			}
		}
	}
	is := p.polygon
	if e := assets.child("interactor"); e != nil {
		p.Interactive, is.interactor = true, p.source(e)
		if p.Validator = is.interactor; is.input+is.output != "" {
			p.no(e, "an interactive problem has input-file or output-file, and submissions talk by standard input and output")
		}
		if n := len(e.child("runs").all("run")); n > 1 {
			p.no(e, "it runs %d times for a test; drover runs it once", n)
		}
	}
	switch e := assets.child("checker"); {
	case e == nil:
		p.refuse(PolygonFile, 0, "assets has no checker")
	case !p.Interactive && standard[e.attrs["name"]] != nil:
		is.compare = standard[e.attrs["name"]]
	case e.attrs["type"] != "" && e.attrs["type"] != "testlib":
		p.no(e, "drover runs checkers of testlib, and this is one of %s", e.attrs["type"])
	default:
		if is.checker = p.source(e); !p.Interactive {
			p.Validator = is.checker
		}
	}
	for _, e := range assets.child("validators").all("validator") {
		if e.child("source") != nil {
			p.InputValidators = append(p.InputValidators, p.source(e))
		}
	}
}

// source is the source of a program of testlib.
func (p *Problem) source(program *element) string {
	e := program.child("source")
	if e == nil {
		p.no(program, "it has no source, and drover runs no programs of other systems")
		return ""
	}
	name := e.attrs["path"]
	switch ext := path.Ext(name); {
	case !p.has(name):
		p.no(e, "there is no file %q", name)
	case !slices.Contains([]string{".cpp", ".cc", ".cxx"}, ext):
		p.no(e, "drover builds programs of testlib in C++, and %s has another language: %s", name, e.attrs["type"])
	default:
		raw, err := p.bytes(name, maxBytes)
		if err == nil && includesTestlib().Match(raw) && !slices.ContainsFunc(p.polygon.headers, func(h string) bool { return path.Base(h) == testlibFile }) {
			p.no(e, "%s includes %s: put it into the folder files", name, testlibFile)
		}
	}
	return name
}

// byTag are the outcomes of solutions.
var byTag = map[string][]Outcome{
	"main": {Accepted}, "accepted": {Accepted}, "wrong-answer": {WrongAnswer}, "presentation-error": {WrongAnswer},
	"time-limit-exceeded": {TimeLimit}, "time-limit-exceeded-or-accepted": {TimeLimit, Accepted},
	"time-limit-exceeded-or-memory-limit-exceeded": {TimeLimit, RunTimeError}, "memory-limit-exceeded": {RunTimeError},
	"rejected": {WrongAnswer, TimeLimit, RunTimeError}, "failed": {WrongAnswer, TimeLimit, RunTimeError},
}

func (p *Problem) polygonSolutions(problem *element) {
	for _, s := range problem.child("assets").child("solutions").all("solution") {
		e := s.child("source")
		wanted, known := byTag[s.attrs["tag"]]
		name := ""
		if e != nil {
			name = e.attrs["path"]
		}
		switch {
		case !p.has(name):
			p.note(PolygonFile, s.line, "this solution is not judged: there is no file %q", name)
		case s.attrs["tag"] == "do-not-run":
			p.note(PolygonFile, s.line, "%s is not judged: its tag is do-not-run", name)
		case !judgeable(name):
			p.note(PolygonFile, s.line, "%s is not judged: drover has no language with this suffix", name)
		default:
			if !known {
				p.note(PolygonFile, s.line, "the tag %q of %s does not say what is expected", s.attrs["tag"], name)
			}
			p.Submissions = append(p.Submissions, Submission{Path: name, Wanted: wanted})
		}
	}
}

func judgeable(name string) bool { return known(path.Ext(name)) }

// testlib adds what judges to the file of a harness.
func (w *writer) testlib(file map[string]any) {
	is := w.p.polygon
	program := func(source, dir string) map[string]any {
		limits := map[string]any{"time": w.p.Limits.Check.String(), "output": core.MaxOutputBytes}
		one := map[string]any{"files": []string{buildFile}, "build": []any{}, "run": []string{"./" + dir + "/run"}, "testlib": true, "limits": limits}
		w.built(one, source, dir)
		return one
	}
	if is.checker != "" {
		file["compare"], file["checker"] = "checker", program(is.checker, validatorDir)
	}
	if is.interactor != "" {
		file["compare"], file["interactor"] = "interactor", program(is.interactor, interactorDir)
	}
	var run strings.Builder
	in, out := "", ""
	if is.output != "" {
		run.WriteString("rm -rf " + is.output + "; ")
		out = " >/dev/null"
	}
	if is.input != "" {
		run.WriteString("cat >" + is.input + "; ")
		in = " <" + is.input
	}
	if run.Len() > 0 {
		run.WriteString("./run" + in + out + "; code=$?; ")
		if is.output != "" {
			run.WriteString("[ ! -f " + is.output + " ] || cat " + is.output + "; ")
		}
		file["run"] = run.String() + "exit $code"
	}
}
