package problem

import (
	"path"
	"slices"
	"strings"
)

// newConfig is what test_group.yaml says of a folder. Nothing is inherited from the folder above, but see wholeConfig.
type newConfig struct {
	score       float64
	unbounded   bool
	aggregation string
	needs       []string
	static      static
	test        Test  // what its tests begin with
	at          entry // max_score
}

func (p *Problem) newConfig(folder string, c newConfig) (newConfig, error) {
	file := folder + "/test_group.yaml"
	all, err := p.mapping(file)
	c.at.file, c.test = file, p.whole
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
		case "static_validation_score":
			p.staticScore(&c.static, e)
		case "static_validator_args":
			if c.static.args = p.words(e, false); !c.static.asked {
				c.static.at = e
			}
		default:
			p.ofTests(&c.test, e)
		}
	}
	return c, err
}

// ofTests reads a key that groups and tests have.
func (p *Problem) ofTests(t *Test, e entry) {
	switch e.key {
	case "args":
		t.Args = p.words(e, false)
	case "output_validator_args":
		t.flags = flags{file: e.file, line: e.line, words: p.words(e, false)}
	case "input_validator_args":
		t.inputs = p.inputFlags(e)
	case "full_feedback", "input_visualizer_args", "output_visualizer_args": // what people see
	default:
		p.bad(e, "this key is not known")
	}
}

// wholeConfig reads data/test_group.yaml. The format does not have it, but BAPCtools does, and packages that are made
// by it.
func (p *Problem) wholeConfig() error {
	const file = "data/test_group.yaml"
	if !p.has(file) {
		return nil
	}
	p.note(file, 0, "the format has no such file; as in BAPCtools, all tests begin with what it says")
	all, err := p.mapping(file)
	for _, e := range all {
		p.ofTests(&p.whole, e)
	}
	return err
}

func (p *Problem) newData() error {
	if err := p.wholeConfig(); err != nil {
		return err
	}
	sample, err := p.newConfig("data/sample", newConfig{})
	if err != nil {
		return err
	}
	if tests := p.staticTest(&sample, p.tests("data/sample", true, sample.test)); len(tests) > 0 {
		p.Groups = append(p.Groups, Group{Name: "sample", Sample: true, Stop: true, Tests: tests})
	}
	secret, err := p.newConfig("data/secret", newConfig{score: 100, aggregation: "sum"})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(p.below("data/secret"), func(f string) bool {
		return path.Base(f) == "test_group.yaml" && f != "data/secret/test_group.yaml"
	}) {
		err = p.newGroups(secret)
	} else if tests := p.staticTest(&secret, p.tests("data/secret", true, secret.test)); len(tests) > 0 {
		p.newGroup("secret", secret, tests)
	}
	if err != nil {
		return err
	}
	return p.testConfigs()
}

// newGroups reads the groups of secret, each of which is a folder with a test_group.yaml.
func (p *Problem) newGroups(secret newConfig) error {
	first := len(p.Groups)
	needs := p.staticOfSecret(&secret)
	for _, name := range p.children("data/secret") {
		folder := "data/secret/" + name
		switch {
		case path.Ext(name) == ".in" && p.has(folder):
			p.refuse(folder, 0, "data/secret has groups of tests, so it has no tests of its own")
		case p.has(folder) || strings.HasSuffix(name, ".files"):
		case !p.has(folder + "/test_group.yaml"):
			p.refuse(folder, 0, "data/secret has groups of tests, so this folder needs a test_group.yaml")
		default:
			c, err := p.newConfig(folder, newConfig{unbounded: true, aggregation: "pass-fail"})
			if err != nil {
				return err
			}
			c.needs = slices.Concat(needs, c.needs)
			if p.Scoring && secret.aggregation == "pass-fail" {
				c.unbounded = false
			}
			if tests := p.staticTest(&c, p.tests(folder, true, c.test)); len(tests) > 0 {
				p.newGroup("secret/"+name, c, tests)
			}
		}
	}
	if p.Scoring {
		p.total(secret, first)
	}
	return nil
}

// total is the score of secret, from its groups'.
func (p *Problem) total(secret newConfig, first int) {
	switch secret.aggregation {
	case "min":
		p.refuse(secret.at.file, 0, "score_aggregation: min over groups; drover takes the sum of the points of groups")
	case "pass-fail":
		groups := p.Groups
		p.Groups = p.Groups[first:]
		p.allOrNothing(secret.score)
		p.Groups = groups
		for i := range groups[first:] {
			groups[first+i].Needs = append(groups[first+i].Needs, secret.needs...)
		}
	default:
		all := 0.0
		for i := range p.Groups {
			all += p.Groups[i].points()
		}
		if !secret.unbounded && all > secret.score+1e-6 {
			p.refuse(secret.at.file, secret.at.line, "max_score: the groups have %g points together, and secret has at most %g", all, secret.score)
		}
	}
}

func (p *Problem) newGroup(name string, c newConfig, tests []Test) {
	g := Group{Name: name, Tests: tests, Stop: c.aggregation != "sum", Needs: c.needs}
	p.staticFits(&c)
	if !p.Scoring {
		g.Stop = true
		p.Groups = append(p.Groups, g)
		return
	}
	file := "data/" + name + "/test_group.yaml"
	own := len(p.below("output_validator")) > 0 && c.aggregation != "pass-fail"
	rest := c.score // of the tests with an input
	for i := range g.Tests {
		if t := &g.Tests[i]; t.Static {
			rest -= t.Points
		} else {
			t.Scores = own
		}
	}
	switch {
	case c.unbounded:
		p.refuse(file, c.at.line, "max_score: the group's points have no maximum; drover needs one: give a number")
	case c.aggregation == "sum":
		for i := range g.Tests {
			if n := len(g.Tests); c.static.asked && i > 0 {
				g.Tests[i].Points = rest / float64(n-1)
			} else if !c.static.asked {
				g.Tests[i].Points = rest / float64(n)
			}
		}
	default:
		g.Points = &c.score
		if own {
			g.Least, g.Stop = true, false
		}
	}
	for _, before := range c.needs {
		i := slices.IndexFunc(p.Groups, func(o Group) bool { return o.Name == before })
		switch {
		case i < 0:
			p.refuse(file, 0, "require_pass: %s is not a group before this one", before)
		case !p.Groups[i].Sample && (p.Groups[i].Points == nil || p.Groups[i].Least):
			p.refuse(file, 0, "require_pass: %s is not all or nothing (score_aggregation: pass-fail)", before)
		}
	}
	p.Groups = append(p.Groups, g)
}

// testConfigs reads the settings of single tests.
func (p *Problem) testConfigs() error {
	for i := range p.Groups {
		for j := range p.Groups[i].Tests {
			t := &p.Groups[i].Tests[j]
			if t.Static {
				continue
			}
			all, err := p.mapping(strings.TrimSuffix(t.Input, ".in") + ".yaml")
			if err != nil {
				return err
			}
			for _, e := range all {
				switch e.key {
				case "description", "hint":
				default:
					p.ofTests(t, e)
				}
			}
		}
	}
	return nil
}
