package problem

import (
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Group is a group of tests.
type Group struct {
	Name   string
	Sample bool
	Points *float64 // of the whole group; nil: its tests have points
	Stop   bool     // at the first test that fails
	Needs  []string // earlier groups, of which all tests must pass
	Tests  []Test
	Least  bool // Points times the least share that a test has, for validators that give shares
}

// Test is one test. Input, Answer and the values of Files are files of the package.
type Test struct {
	Name, Input, Answer string
	Args                []string
	Files               map[string]string
	Points              float64
	Scores              bool // the validator may give points
	Static              bool // the static validator decides; there is no input and no answer

	flags   flags      // of the output validator, without the package's
	inputs  inputFlags // of input validators
	compare map[string]any
	checker []string // arguments of the output validator
}

// inputFlags are arguments of input validators: all of them, or those of some by name.
type inputFlags struct {
	all []string
	by  map[string][]string
}

// of are the arguments of a validator, with those of the test.
func (f inputFlags) of(program string, t *Test) []string {
	words := f.all
	for name, its := range f.by {
		if base := path.Base(program); name == base || name == strings.TrimSuffix(base, path.Ext(base)) {
			words = its
		}
	}
	return slices.Concat(words, t.Args)
}

// data reads the groups of sample and secret.
func (p *Problem) data() error {
	if len(p.below("data/secret")) == 0 && len(p.below("data/sample")) == 0 {
		p.refuse("data", 0, "there are no tests in data/sample and data/secret")
		return nil
	}
	p.generated()
	old := slices.IndexFunc(p.files, func(f string) bool { return strings.HasPrefix(f, "data/") && path.Base(f) == "testdata.yaml" })
	p.graders()
	var err error
	switch {
	case p.Grader != "":
		return p.gradedData()
	case p.Format == Legacy, p.draft && old >= 0: // drafts of 2025-09 kept this file
		was := *p
		if err = p.legacyData(); err == nil && p.tree {
			p.Groups, p.Refused, p.Notes = nil, was.Refused, was.Notes
			return p.gradedData()
		}
	default:
		if old >= 0 {
			p.refuse(p.files[old], 0, "the format %s has test_group.yaml in its place", p.Format)
		}
		err = p.newData()
	}
	if !p.Scoring {
		p.allOrNothing(1)
	}
	return err
}

// generated refuses a package whose secret tests are still to be made: its samples alone would judge nothing.
func (p *Problem) generated() {
	if slices.ContainsFunc(p.below("data/secret"), func(f string) bool { return path.Ext(f) == ".in" }) {
		return
	}
	const rules = "generators/generators.yaml"
	if raw, err := p.bytes(rules, maxYAML); err == nil {
		var made struct {
			Data map[string]struct{ Data yaml.Node }
		}
		if yaml.Unmarshal(raw, &made) == nil && len(made.Data["secret"].Data.Content) > 0 {
			p.refuse(rules, 0, "there are no secret tests yet, and this file says how to make them: run bt generate of BAPCtools in the package")
			return
		}
	}
	for _, name := range []string{"data/generator.sh", "data/generator.py", "data/gen.sh", "data/gen.py"} {
		if p.has(name) {
			p.refuse(name, 0, "there are no secret tests yet, and this program makes them: run it in the folder data")
			return
		}
	}
}

// graders finds the package's grader.
func (p *Problem) graders() {
	switch found := p.programsIn("graders"); {
	case len(found) == 0:
		if p.custom {
			p.refuse(File, 0, "grading is custom, and graders has no program")
		}
	case p.Format != Legacy || !p.Scoring:
		p.refuse("graders", 0, "only scoring problems of the legacy format have a grader")
	case len(found) > 1:
		p.refuse("graders", 0, "there are %d graders (%s); the format has one", len(found), strings.Join(found, ", "))
	default:
		p.Grader = found[0]
	}
}

// allOrNothing gives points for all groups together: each needs those before it, and the last has the points.
func (p *Problem) allOrNothing(all float64) {
	for i := range p.Groups {
		g := &p.Groups[i]
		points := 0.0
		if i == len(p.Groups)-1 {
			points = all
		}
		for k := range g.Tests {
			g.Tests[k].Scores = false
		}
		g.Points, g.Needs = &points, nil
		for _, before := range p.Groups[:i] {
			g.Needs = append(g.Needs, before.Name)
		}
	}
}

// tests finds those in a folder, and in its folders if deep. They are like the given one.
func (p *Problem) tests(folder string, deep bool, like Test) []Test {
	var all []Test
	for _, file := range p.below(folder) {
		rel := strings.TrimPrefix(file, folder+"/")
		if path.Ext(file) != ".in" || !deep && strings.Contains(rel, "/") || strings.Contains(rel, ".files/") {
			continue
		}
		stem := strings.TrimSuffix(file, ".in")
		t := like
		t.Name, t.Input, t.Answer = strings.TrimSuffix(rel, ".in"), file, stem+".ans"
		if !p.has(t.Answer) {
			p.refuse(file, 0, "it has no answer %s beside it", path.Base(t.Answer))
			continue
		}
		for _, f := range p.below(stem + ".files") {
			if t.Files == nil {
				t.Files = map[string]string{}
			}
			t.Files[strings.TrimPrefix(f, stem+".files/")] = f
		}
		all = append(all, t)
	}
	return all
}
