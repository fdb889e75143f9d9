package problem

import (
	"path"
	"slices"
	"strings"
)

// Group is a group of tests.
type Group struct {
	Name   string
	Sample bool
	Points *float64 // of the whole group; nil: its tests have points
	Stop   bool     // at the first test that fails
	Needs  []string // earlier groups, of which all tests must pass
	Tests  []Test

	flags   flags // of the output validator
	compare map[string]any
}

// Test is one test. Input, Answer and the values of Files are files of the package.
type Test struct {
	Name, Input, Answer string
	Args                []string
	Files               map[string]string
	Points              float64
}

// data reads the groups of sample and secret.
func (p *Problem) data() error {
	if len(p.below("data/secret")) == 0 && len(p.below("data/sample")) == 0 {
		p.refuse("data", 0, "there are no tests in data/sample and data/secret")
		return nil
	}
	var err error
	if p.Format == Legacy {
		err = p.legacyData()
	} else {
		err = p.newData()
	}
	if !p.Scoring {
		p.passFail()
	}
	return err
}

// passFail makes one point of all groups together: each needs those before it, and the last has the point.
func (p *Problem) passFail() {
	for i := range p.Groups {
		g := &p.Groups[i]
		points := 0.0
		if i == len(p.Groups)-1 {
			points = 1
		}
		g.Points, g.Needs = &points, nil
		for _, before := range p.Groups[:i] {
			g.Needs = append(g.Needs, before.Name)
		}
	}
}

// tests finds those in a folder, and in its folders if deep.
func (p *Problem) tests(folder string, deep bool, points float64, args []string) []Test {
	var all []Test
	for _, file := range p.below(folder) {
		rel := strings.TrimPrefix(file, folder+"/")
		if path.Ext(file) != ".in" || !deep && strings.Contains(rel, "/") || strings.Contains(rel, ".files/") {
			continue
		}
		stem := strings.TrimSuffix(file, ".in")
		t := Test{Name: strings.TrimSuffix(rel, ".in"), Input: file, Answer: stem + ".ans", Points: points, Args: args}
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

// legacyConfig is what testdata.yaml says of a folder; what it leaves out its parent's says.
type legacyConfig struct {
	goOn   bool // on_reject: continue
	grader []string
	accept float64
	flags  flags
	at     entry // grader_flags
}

func (p *Problem) legacyConfig(folder string, c legacyConfig) (legacyConfig, error) {
	all, err := p.mapping(folder + "/testdata.yaml")
	for _, e := range all {
		switch e.key {
		case "on_reject":
			switch v := p.text(e); v {
			case "break", "continue":
				c.goOn = v == "continue"
			default:
				p.bad(e, "this is break or continue")
			}
		case "grading":
			if p.text(e) != "default" {
				p.bad(e, "graders of its own compute the verdict; drover has none")
			}
		case "grader_flags":
			c.grader, c.at = p.words(e, true), e
			p.graderFlags(e, c.grader)
		case "accept_score":
			c.accept = p.number(e, 0, 1e6)
		case "reject_score":
			if p.number(e, -1e6, 1e6) != 0 {
				p.bad(e, "a failed test has no points in drover")
			}
		case "range", "input_validator_flags":
			if e.key == "input_validator_flags" && len(p.words(e, true)) > 0 {
				p.note(e.file, e.line, "input_validator_flags: verify runs input validators without flags")
			}
		case "output_validator_flags":
			c.flags = flags{file: e.file, line: e.line, words: p.words(e, true)}
		default:
			p.bad(e, "this key is not known")
		}
	}
	return c, err
}

func (p *Problem) graderFlags(e entry, words []string) {
	for _, word := range words {
		switch word {
		case "sum", "min", "ignore_sample", "first_error", "worst_error", "accept_if_any_accepted", "always_accept":
		case "max", "avg":
			p.bad(e, "%s of the tests' points; drover takes their sum, or all or nothing (min)", word)
		default:
			p.bad(e, "the flag %q is not known", word)
		}
	}
}

func (p *Problem) legacyData() error {
	root, err := p.legacyConfig("data", legacyConfig{accept: 1})
	if err != nil {
		return err
	}
	sample, err := p.legacyConfig("data/sample", root)
	if err != nil {
		return err
	}
	if slices.Contains(root.grader, "ignore_sample") {
		sample.accept = 0
	}
	p.leaf("data/sample", sample, true)
	return p.legacyFolder("data/secret", root)
}

// legacyFolder reads a folder of groups, or a group of tests.
func (p *Problem) legacyFolder(folder string, parent legacyConfig) error {
	c, err := p.legacyConfig(folder, parent)
	if err != nil {
		return err
	}
	p.leaf(folder, c, false)
	first := len(p.Groups)
	folders := 0
	for _, name := range p.children(folder) {
		if p.has(folder+"/"+name) || strings.HasSuffix(name, ".files") {
			continue
		}
		folders++
		if err := p.legacyFolder(folder+"/"+name, c); err != nil {
			return err
		}
		if !c.goOn && p.Scoring { // what comes later is not run after a failure
			for i := first; i < len(p.Groups); i++ {
				for _, before := range p.Groups[:i] {
					if !before.Sample && !slices.Contains(p.Groups[i].Needs, before.Name) {
						p.Groups[i].Needs = append(p.Groups[i].Needs, before.Name)
					}
				}
			}
		}
	}
	if p.Scoring && folders > 1 && slices.Contains(c.grader, "min") {
		p.bad(c.at, "min over groups; drover takes the sum of the points of groups")
	}
	return nil
}

// leaf adds the group of the tests that are in a folder itself.
func (p *Problem) leaf(folder string, c legacyConfig, sample bool) {
	tests := p.tests(folder, false, c.accept, nil)
	if len(tests) == 0 {
		return
	}
	g := Group{Name: strings.TrimPrefix(folder, "data/"), Sample: sample, Stop: !c.goOn, Tests: tests, flags: c.flags}
	if p.Scoring && slices.Contains(c.grader, "min") {
		points := c.accept
		g.Points = &points
	}
	p.Groups = append(p.Groups, g)
}

// newConfig is what test_group.yaml says of a folder.
type newConfig struct {
	score       float64
	unbounded   bool
	aggregation string
	needs       []string
	args        []string
	flags       flags
	at          entry // max_score
}

func (p *Problem) newConfig(folder string, c newConfig) (newConfig, error) {
	all, err := p.mapping(folder + "/test_group.yaml")
	for _, e := range all {
		switch e.key {
		case "max_score":
			if c.at, c.unbounded = e, p.text(e) == "unbounded"; !c.unbounded {
				c.score = p.number(e, 0, 1e6)
			}
		case "score_aggregation":
			if c.aggregation = p.text(e); !slices.Contains([]string{"pass-fail", "sum", "min"}, c.aggregation) {
				p.bad(e, "this is pass-fail, sum or min")
			}
		case "require_pass":
			c.needs = p.words(e, false)
		case "args":
			c.args = p.words(e, false)
		case "output_validator_args":
			c.flags = flags{file: e.file, line: e.line, words: p.words(e, false)}
		case "input_validator_args":
			p.note(e.file, e.line, "input_validator_args: verify runs input validators without arguments")
		case "full_feedback", "input_visualizer_args", "output_visualizer_args": // what people see
		case "static_validation_score", "static_validator_args":
			p.bad(e, "a static validator judges source code; drover has none")
		default:
			p.bad(e, "this key is not known")
		}
	}
	return c, err
}

func (p *Problem) newData() error {
	sample, err := p.newConfig("data/sample", newConfig{})
	if err != nil {
		return err
	}
	if tests := p.tests("data/sample", true, 0, sample.args); len(tests) > 0 {
		p.Groups = append(p.Groups, Group{Name: "sample", Sample: true, Stop: true, Tests: tests, flags: sample.flags})
	}
	secret, err := p.newConfig("data/secret", newConfig{score: 100, aggregation: "sum"})
	if err != nil {
		return err
	}
	if tests := p.tests("data/secret", false, 0, secret.args); len(tests) > 0 {
		p.newGroup("secret", secret, tests)
	}
	for _, name := range p.children("data/secret") {
		folder := "data/secret/" + name
		if p.has(folder) || strings.HasSuffix(name, ".files") {
			continue
		}
		c, err := p.newConfig(folder, newConfig{unbounded: true, aggregation: "pass-fail", args: secret.args, flags: secret.flags})
		if err != nil {
			return err
		}
		if tests := p.tests(folder, true, 0, c.args); len(tests) > 0 {
			p.newGroup("secret/"+name, c, tests)
		}
	}
	if p.Scoring && secret.aggregation != "sum" && len(p.Groups) > 2 {
		p.refuse("data/secret/test_group.yaml", 0, "score_aggregation is %s over groups; drover takes the sum of the points of groups", secret.aggregation)
	}
	return p.testConfigs()
}

func (p *Problem) newGroup(name string, c newConfig, tests []Test) {
	g := Group{Name: name, Tests: tests, flags: c.flags, Stop: c.aggregation != "sum", Needs: c.needs}
	if !p.Scoring {
		g.Stop = true
		p.Groups = append(p.Groups, g)
		return
	}
	file := "data/" + name + "/test_group.yaml"
	switch {
	case c.unbounded:
		p.refuse(file, c.at.line, "max_score: the group's points have no maximum; drover needs one: give a number")
	case c.aggregation == "sum":
		for i := range g.Tests {
			g.Tests[i].Points = c.score / float64(len(g.Tests))
		}
	default:
		g.Points = &c.score
	}
	for _, before := range c.needs {
		if !slices.ContainsFunc(p.Groups, func(o Group) bool { return o.Name == before }) {
			p.refuse(file, 0, "require_pass: %s is not a group before this one", before)
		}
	}
	p.Groups = append(p.Groups, g)
}

// testConfigs reads the settings of single tests.
func (p *Problem) testConfigs() error {
	for i := range p.Groups {
		for j := range p.Groups[i].Tests {
			t := &p.Groups[i].Tests[j]
			all, err := p.mapping(strings.TrimSuffix(t.Input, ".in") + ".yaml")
			if err != nil {
				return err
			}
			for _, e := range all {
				switch e.key {
				case "args":
					t.Args = p.words(e, false)
				case "description", "hint", "full_feedback", "input_visualizer_args", "output_visualizer_args":
				default:
					p.bad(e, "drover takes it for groups of tests, not for one test")
				}
			}
		}
	}
	return nil
}
