package problem

import (
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// legacyConfig is what testdata.yaml says of a folder; what it leaves out its parent's says.
type legacyConfig struct {
	goOn   bool // on_reject: continue
	own    bool // grading: custom
	grader []string
	accept float64
	reject float64
	most   float64 // the upper end of range; 0 if there is none
	flags  flags
	inputs inputFlags
}

// partial reports whether a submission that fails some of the tests is accepted.
func (c *legacyConfig) partial() bool {
	return slices.Contains(c.grader, "accept_if_any_accepted") || slices.Contains(c.grader, "always_accept")
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
			if c.own = p.text(e) == "custom"; c.own && p.Grader == "" {
				p.bad(e, "the package has no grader of its own that drover can run")
			}
		case "grader_flags":
			if c.grader = p.words(e, true); p.Grader == "" {
				p.graderFlags(e, c.grader)
			}
		case "accept_score":
			c.accept = p.number(e, 0, 1e6)
		case "reject_score":
			if c.reject = p.number(e, 0, 1e6); c.reject != 0 {
				p.tree = p.tree || p.Scoring
			}
		case "range":
			c.most = p.upper(e)
		case "input_validator_flags":
			c.inputs = p.inputFlags(e)
		case "output_validator_flags":
			named := p.inputFlags(e) // there is one validator
			for _, words := range named.by {
				named.all = words
			}
			c.flags = flags{file: e.file, line: e.line, words: named.all}
		default:
			p.bad(e, "this key is not known")
		}
	}
	return c, err
}

// upper is the upper end of a range of points; 0 if it has none.
func (p *Problem) upper(e entry) float64 {
	ends := p.words(e, true)
	if len(ends) != 2 {
		p.bad(e, "this must be two numbers")
		return 0
	}
	if strings.HasSuffix(strings.ToLower(ends[1]), "inf") {
		return 0
	}
	return p.number(entry{e.file, e.key, e.line, &yaml.Node{Kind: yaml.ScalarNode, Value: ends[1]}}, 0, 1e6)
}

// inputFlags reads arguments for all input validators, or a mapping for some: name and flags in the legacy format, name to
// arguments in 2025-09.
func (p *Problem) inputFlags(e entry) inputFlags {
	if e.value.Kind != yaml.MappingNode {
		return inputFlags{all: p.words(e, p.Format == Legacy || p.draft)}
	}
	f := inputFlags{by: map[string][]string{}}
	name, words := "", []string(nil)
	for _, one := range p.entries(e.file, e.value) {
		switch {
		case path.Base(e.file) != "testdata.yaml":
			f.by[one.key] = p.words(one, false)
		case one.key == "name":
			name = p.text(one)
		case one.key == "flags":
			words = p.words(one, true)
		default:
			p.bad(one, "this key is not known")
		}
	}
	if path.Base(e.file) == "testdata.yaml" {
		f.by[name] = words
	}
	return f
}

func (p *Problem) graderFlags(e entry, words []string) {
	for _, word := range words {
		switch word {
		case "accept_if_any_accepted", "always_accept":
			if !p.Scoring {
				p.bad(e, "%s in a pass-fail problem; drover accepts a submission that passes all tests", word)
			}
		case "sum", "min", "ignore_sample", "first_error", "worst_error", "no_errors":
		case "max", "avg":
			p.tree = p.tree || p.Scoring
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
	samples := len(p.Groups) > 0
	if err := p.legacyFolder("data/secret", root); err != nil || !p.Scoring {
		return err
	}
	secret, err := p.legacyConfig("data/secret", root)
	if err != nil {
		return err
	}
	ignored := slices.Contains(root.grader, "ignore_sample")
	if samples && !ignored && !root.partial() { // a submission that fails a sample is rejected, whatever its points
		for i := range p.Groups[1:] {
			p.Groups[1+i].Needs = append(p.Groups[1+i].Needs, p.Groups[0].Name)
		}
	}
	if !secret.partial() && len(p.Refused) == 0 {
		total := 0.0
		for i := range p.Groups {
			if g := &p.Groups[i]; !g.Sample || !ignored {
				total += g.points()
			}
		}
		if ignored && samples { // nothing needs it
			first := p.Groups[0]
			p.Groups = p.Groups[1:]
			p.allOrNothing(total)
			p.Groups = slices.Insert(p.Groups, 0, first)
			return nil
		}
		p.allOrNothing(total)
	}
	return nil
}

// points are those that a group can give.
func (g *Group) points() float64 {
	if g.Points != nil {
		return *g.Points
	}
	all := 0.0
	for _, t := range g.Tests {
		all += t.Points
	}
	return all
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
		p.tree = true
	}
	return nil
}

// leaf adds the group of the tests that are in a folder itself.
func (p *Problem) leaf(folder string, c legacyConfig, sample bool) {
	tests := p.tests(folder, false, Test{Points: c.accept, Scores: p.scores.key != "" && !sample, flags: c.flags, inputs: c.inputs})
	if len(tests) == 0 {
		return
	}
	p.worst = p.worst || c.goOn && !slices.Contains(c.grader, "first_error")
	g := Group{Name: strings.TrimPrefix(folder, "data/"), Sample: sample, Stop: !c.goOn, Tests: tests}
	whole := slices.Contains(c.grader, "min") || len(tests) == 1
	switch points := c.accept; {
	case !p.Scoring:
	case tests[0].Scores && c.most == 0:
		p.bad(p.scores, "the validator computes the points of data/%s, which drover can take if its testdata.yaml has a range up to a number", g.Name)
	case tests[0].Scores && !whole:
		p.tree = true
	case tests[0].Scores:
		points = c.most
		g.Points, g.Least, g.Stop = &points, true, false
	case slices.Contains(c.grader, "min"):
		g.Points = &points
	}
	p.Groups = append(p.Groups, g)
}
