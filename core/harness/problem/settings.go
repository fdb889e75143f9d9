package problem

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"drover/core"
	"drover/core/harness/cases"
	"drover/core/harness/languages"
	"drover/core/service/pattern"
)

// Limits are those of a package. 0 is what the package leaves to the system.
type Limits struct {
	Time        time.Duration // processor time of a test; 0: to be measured
	Multiplier  float64       // the time limit is so many times the time of the slowest accepted submission,
	Resolution  time.Duration // and a multiple of this
	Memory      int64
	Output      int64
	Code        int64
	Build       time.Duration
	BuildMemory int64
	Check       time.Duration
	CheckMemory int64
	CheckOutput int64
	Passes      int // of a multi-pass problem; 0: not said
}

const (
	mebi          = 1 << 20
	defaultOutput = 8 * mebi
	defaultWork   = time.Minute // of compilers and validators
	defaultPasses = 2
)

// timeFile has nothing but the time limit.
const timeFile = ".timelimit"

// aboutPeople are the keys of problem.yaml that do not concern judging.
var aboutPeople = []string{
	"uuid", "version", "author", "credits", "source", "source_url", "license", "rights_owner", "embargo_until", "keywords", "difficulty", "validator",
}

// settings reads problem.yaml.
func (p *Problem) settings() error {
	all, err := p.mapping(File)
	if err != nil {
		return err
	}
	p.Format = Legacy
	for _, e := range all {
		if e.key == "problem_format_version" {
			p.format(e)
		}
	}
	p.Limits = Limits{Multiplier: 5, Resolution: time.Second, Output: defaultOutput, Build: defaultWork, Check: defaultWork}
	if p.Format == Format {
		p.Limits.Multiplier = 2
	}
	for _, e := range all {
		p.setting(e)
	}
	switch {
	case p.Limits.Passes == 0:
	case p.Passes == 0:
		p.bad(p.passes, "the problem is not multi-pass")
	default:
		p.Passes = p.Limits.Passes
	}
	if p.Title == "" && p.Format == Legacy {
		return p.nameOfStatement()
	}
	if p.Title == "" {
		return core.Errorf(core.CodeInvalid, "", "%s has no name", File)
	}
	return nil
}

var (
	plainTitle = pattern.New(`%%\s*plainproblemname:\s*(\S.*)`)
	latexTitle = pattern.New(`\\problemname\{(?:\\(?:[a-z]+)\{)?([^{}\\$]+)\}`)
)

// nameOfStatement takes the name from a LaTeX statement, where packages of the legacy format have it, or that of the
// folder.
func (p *Problem) nameOfStatement() error {
	for _, f := range slices.Concat([]string{"problem_statement/problem.en.tex", "problem_statement/problem.tex"}, p.below("problem_statement")) {
		if !p.has(f) || path.Ext(f) != ".tex" || p.Title != "" {
			continue
		}
		raw, err := p.bytes(f, maxYAML)
		if err != nil {
			return err
		}
		for _, found := range [][][]byte{plainTitle().FindSubmatch(raw), latexTitle().FindSubmatch(raw)} {
			if found != nil && p.Title == "" {
				p.Title = strings.TrimSpace(string(found[1]))
			}
		}
	}
	if p.Title == "" {
		full, err := filepath.Abs(p.dir)
		if err != nil {
			return err
		}
		p.Title = filepath.Base(full)
	}
	return nil
}

func (p *Problem) format(e entry) {
	switch v := p.text(e); v {
	case Legacy, "legacy-icpc":
	case Format, "2023-07-draft", "2023-07", "2025-09-draft", "draft":
		p.Format, p.draft = Format, v != Format
	default:
		p.bad(e, "the format %q is not known; drover reads legacy and 2025-09", v)
	}
}

func (p *Problem) setting(e entry) {
	switch e.key {
	case "problem_format_version", "type", "name", "limits", "languages", "constants", "allow_file_writing":
		p.common(e)
	case "validation", "validator_flags", "grading", "libraries":
		if p.Format != Legacy {
			p.bad(e, "the format %s has no such key", p.Format)
			return
		}
		p.legacy(e)
	default:
		if !slices.Contains(aboutPeople, e.key) {
			p.bad(e, "this key is not known")
		}
	}
}

func (p *Problem) common(e entry) {
	switch e.key {
	case "type":
		plain := false
		for _, word := range p.words(e, true) {
			switch word {
			case "pass-fail":
				plain = true
			case "scoring":
				p.Scoring = true
			case "interactive":
				p.Interactive = true
			case "multi-pass":
				p.Passes = max(p.Passes, defaultPasses)
			case "submit-answer":
				p.Answers = true
			default:
				p.bad(e, "the type %q is not known", word)
			}
		}
		if plain && p.Scoring {
			p.bad(e, "a problem is either pass-fail or scoring")
		}
		if p.Answers && (p.Interactive || p.Passes > 0) {
			p.bad(e, "submit-answer is neither interactive nor multi-pass: there is no program")
		}
	case "name":
		p.name(e)
	case "limits":
		for _, one := range p.entries(e.file, e.value) {
			p.limit(one)
		}
	case "languages":
		p.languages(e)
	case "constants":
		p.readConstants(e)
	}
}

func (p *Problem) name(e entry) {
	if e.value.Kind == yaml.ScalarNode {
		p.Title = e.value.Value
		return
	}
	for _, one := range p.entries(e.file, e.value) {
		if p.Title == "" || one.key == "en" {
			p.Title = p.text(one)
		}
	}
}

func (p *Problem) languages(e entry) {
	for _, name := range p.words(e, true) {
		if name == "all" {
			continue
		}
		l, known := languages.Find(name)
		if !known {
			p.note(e.file, e.line, "languages: %s is not in drover's table, so nobody can submit in it", name)
			p.Languages = append(p.Languages, name)
			continue
		}
		p.Languages = append(p.Languages, l.Code)
	}
}

func (p *Problem) limit(e entry) {
	l := &p.Limits
	switch e.key {
	case "time_limit":
		l.Time = p.seconds(e, 0.001)
	case "time_resolution":
		l.Resolution = p.seconds(e, 0.001)
	case "time_multiplier":
		l.Multiplier = p.number(e, 1, 1000)
	case "time_safety_margin": // about submissions that are too slow
		p.number(e, 1, 1000)
	case "time_multipliers":
		for _, one := range p.entries(e.file, e.value) {
			switch one.key {
			case "ac_to_time_limit":
				l.Multiplier = p.number(one, 1, 1000)
			case "time_limit_to_tle":
				p.number(one, 1, 1000)
			default:
				p.bad(one, "this key is not known")
			}
		}
	case "memory":
		l.Memory = p.size(e, mebi)
	case "output":
		l.Output = p.size(e, mebi)
	case "code":
		l.Code = p.size(e, 1<<10)
	case "compilation_time":
		l.Build = p.seconds(e, 1)
	case "compilation_memory":
		l.BuildMemory = p.size(e, mebi)
	case "validation_time":
		l.Check = p.seconds(e, 1)
	case "validation_memory":
		l.CheckMemory = p.size(e, mebi)
	case "validation_output":
		l.CheckOutput = p.size(e, mebi)
	case "validation_passes":
		l.Passes, p.passes = int(p.number(e, 2, cases.MaxPasses)), e
	default:
		p.bad(e, "this limit is not known")
	}
}

func (p *Problem) legacy(e entry) {
	switch e.key {
	case "validation":
		words := p.words(e, true)
		for i, word := range words {
			switch {
			case i == 0 && word == "default":
			case i == 0 && word == "custom":
				p.Validator = "output_validators"
			case i > 0 && word == "interactive":
				p.Interactive = true
			case i > 0 && word == "score":
				p.scores = e
			case i > 0 && word == "multi-pass":
				p.Passes = max(p.Passes, defaultPasses)
			default:
				p.bad(e, "%q is not known", word)
			}
		}
	case "validator_flags":
		p.compare = flags{file: e.file, line: e.line, words: p.words(e, true)}
	case "grading":
		if e.value.Kind == yaml.ScalarNode {
			p.custom = e.value.Value == "custom"
			if !p.custom && e.value.Value != "default" {
				p.bad(e, "this is default or custom")
			}
			return
		}
		for _, one := range p.entries(e.file, e.value) {
			switch v := p.text(one); one.key {
			case "objective":
				if v != "max" {
					p.bad(one, "less is better; in drover more points are better")
				}
			case "on_reject", "range", "show_test_data_groups", "accept_score", "reject_score", "grader_flags":
				if one.key != "range" && one.key != "show_test_data_groups" {
					p.bad(one, "write it into data/testdata.yaml")
				}
			default:
				p.bad(one, "this key is not known")
			}
		}
	case "libraries":
		p.note(e.file, e.line, "libraries: %s must be in the pool's image", strings.Join(p.words(e, true), ", "))
	}
}

// time finds the limit that tools of contests keep beside problem.yaml.
func (p *Problem) time() error {
	for _, name := range []string{"domjudge-problem.ini", timeFile} {
		if p.Limits.Time > 0 || !p.has(name) {
			continue
		}
		raw, err := p.bytes(name, maxYAML)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(raw), "\n") {
			key, value, is := strings.Cut(line, "=")
			if name == timeFile {
				key, value, is = "timelimit", line, strings.TrimSpace(line) != ""
			}
			if is && strings.TrimSpace(key) == "timelimit" {
				value = strings.Trim(strings.TrimSpace(value), `'"`)
				p.Limits.Time = p.seconds(entry{name, "timelimit", i + 1, &yaml.Node{Kind: yaml.ScalarNode, Value: value}}, 0.001)
			}
		}
	}
	return nil
}
