package jobe

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"drover/core/service/pattern"
)

// runspec is what a run asks for.
type runspec struct {
	language *Language
	name     string // of the file with the source code
	source   string
	input    string
	files    []listed

	params params
}

// listed is a file of a run.
type listed struct{ id, name string }

// params are a run's parameters. Numbers are NaN where the run does not say them.
type params struct {
	cpu, memory, disk, stream, processes float64 // seconds and MB

	compile, link, interpreter, run *string // words for a shell; nil where the run does not say them
	class                           string  // main_class
}

const (
	maxFiles = 200
	maxArgs  = 4000 // bytes of one kind of arguments
	maxName  = 200  // bytes of a file's name
	minID    = 8    // bytes of a file's id
	maxID    = 128
)

// read reads the run_spec of a body.
func (d *API) readSpec(text []byte) (*runspec, error) {
	var body struct {
		Spec map[string]json.RawMessage `json:"run_spec"`
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return nil, refuse("the body is not the JSON that is wanted here: %v", err)
	}
	if body.Spec == nil {
		return nil, refuse("the body has no run_spec")
	}
	f := fields{values: body.Spec}
	id := strings.ToLower(f.text("language_id", true))
	s := &runspec{source: f.text("sourcecode", true), input: f.text("input", false), name: f.text("sourcefilename", false)}
	s.files = f.files()
	s.params = f.params()
	if f.err != nil {
		return nil, f.err
	}
	if s.language = d.known[id]; s.language == nil {
		return nil, refuse("language_id: there is no language %.40q here", id)
	}
	return s, s.check()
}

// check checks the names.
func (s *runspec) check() error {
	if s.name == "prog.java" && s.language.ID == "java" { // what CodeRunner sends where it has found no class
		s.name = ""
	}
	if s.name == "" {
		s.name = strings.Replace(s.language.Source, "*", mainClass(s.source), 1)
	}
	if !validName(s.name) {
		return refuse("sourcefilename: %.80q is no name of a file: use letters, digits, _, - and ., and begin with neither - nor .", s.name)
	}
	seen := map[string]bool{s.name: true}
	for _, f := range s.files {
		if seen[f.name] {
			return refuse("file_list: there are two files %.80q, or the source code has that name", f.name)
		}
		seen[f.name] = true
	}
	return nil
}

var mainClassOf = pattern.New(`(?s)(?:^|\W)public\s+(?:final\s+|abstract\s+)?class\s+(\w+).*?\bmain\s*\(`)

// mainClass is the class after which a file of Java must be named.
func mainClass(source string) string {
	if found := mainClassOf().FindStringSubmatch(source); found != nil && len(found[1]) < maxName {
		return found[1]
	}
	return "prog"
}

// validName reports whether a name is safe in a folder and in a command.
func validName(name string) bool {
	return name != "" && len(name) <= maxName && utf8.ValidString(name) && name[0] != '.' && name[0] != '-' && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r)
	})
}

// validListed reports whether a name is one for a listed file: it may begin with a dot.
func validListed(name string) bool {
	return name != folder && (validName(name) || len(name) > 1 && name[0] == '.' && validName(name[1:]))
}

// validID reports whether a text can be a file's id.
func validID(id string) bool {
	return len(id) >= minID && len(id) <= maxID && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// fields reads the attributes of a run_spec; the first wrong one is its error. Unknown ones are ignored, as in Jobe.
type fields struct {
	values map[string]json.RawMessage
	err    error
}

func (f *fields) wrong(format string, args ...any) {
	if f.err == nil {
		f.err = refuse(format, args...)
	}
}

func (f *fields) given(name string) bool {
	v, ok := f.values[name]
	return ok && string(v) != "null"
}

func (f *fields) text(name string, needed bool) string {
	if !f.given(name) {
		if needed {
			f.wrong("run_spec has no %s", name)
		}
		return ""
	}
	var s string
	if json.Unmarshal(f.values[name], &s) != nil {
		f.wrong("%s: it is not a text", name)
	}
	return s
}

// files reads file_list: ids and names.
func (f *fields) files() []listed {
	if !f.given("file_list") {
		return nil
	}
	var all [][]json.RawMessage
	if json.Unmarshal(f.values["file_list"], &all) != nil {
		f.wrong("file_list: it is not a list of pairs of an id and a name")
		return nil
	}
	if len(all) > maxFiles {
		f.wrong("file_list: it has %d files, more than %d", len(all), maxFiles)
		return nil
	}
	files := make([]listed, len(all))
	for i, pair := range all {
		at := &files[i]
		if len(pair) < 2 || len(pair) > 3 || json.Unmarshal(pair[0], &at.id) != nil || json.Unmarshal(pair[1], &at.name) != nil {
			f.wrong("file_list: file %d is no pair of an id and a name", i+1)
			continue
		}
		switch {
		case !validID(at.id):
			f.wrong("file_list: %.80q is no id: one has %d to %d letters and digits", at.id, minID, maxID)
		case !validListed(at.name):
			f.wrong("file_list: %.80q is no name of a file: use letters, digits, _, - and .", at.name)
		}
	}
	return files
}

// params reads the parameters. PHP writes an empty list where there are none.
func (f *fields) params() params {
	own := fields{values: map[string]json.RawMessage{}}
	if f.given("parameters") && strings.TrimSpace(string(f.values["parameters"])) != "[]" {
		if json.Unmarshal(f.values["parameters"], &own.values) != nil {
			f.wrong("parameters: they are not an object")
		}
	}
	p := params{
		cpu: own.number("cputime"), memory: own.number("memorylimit"), disk: own.number("disklimit"), stream: own.number("streamsize"),
		processes: own.number("numprocs"),
		compile:   own.args("compileargs"), link: own.args("linkargs"), interpreter: own.args("interpreterargs"), run: own.args("runargs"),
		class: own.text("main_class", false),
	}
	if p.class != "" && !validName(p.class) {
		own.wrong("parameters: main_class: %.80q is no name of a class", p.class)
	}
	if own.err != nil && f.err == nil {
		f.err = own.err
	}
	return p
}

// number reads a number, which may be a text, as PHP's often are; NaN for none.
func (f *fields) number(name string) float64 {
	if !f.given(name) {
		return math.NaN()
	}
	text := string(f.values[name])
	var s string
	if json.Unmarshal(f.values[name], &s) == nil {
		text = strings.TrimSpace(s)
	}
	if text == "" {
		return math.NaN()
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > math.MaxInt32 {
		f.wrong("parameters: %s: %.40q is no number from 0 to %d", name, text, math.MaxInt32)
	}
	return v
}

// args reads a list of arguments. As in Jobe they are words for a shell, which runs in the VM.
func (f *fields) args(name string) *string {
	if !f.given(name) {
		return nil
	}
	var all []string
	if json.Unmarshal(f.values[name], &all) != nil {
		f.wrong("parameters: %s: it is not a list of texts", name)
		return nil
	}
	s := strings.Join(all, " ")
	if len(s) > maxArgs || strings.ContainsRune(s, 0) {
		f.wrong("parameters: %s: it has more than %d bytes, or a zero byte", name, maxArgs)
		return nil
	}
	return &s
}
