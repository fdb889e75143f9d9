package problem

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"

	"drover/core/service/pattern"
)

// maxPoints bounds the points of a test, and of a group.
const maxPoints = 1e6

// numbered matches a pattern of names: what is before and after the number, and its width.
var numbered = pattern.New(`^([^%]*)%(?:0([1-9]))?d([^%]*)$`)

// numberedName is the n-th name of a pattern; "" if it is none.
func numberedName(like string, n int) string {
	m := numbered().FindStringSubmatch(like)
	if m == nil {
		return ""
	}
	width, _ := strconv.Atoi(cmp.Or(m[2], "1"))
	return fmt.Sprintf("%s%0*d%s", m[1], width, n, m[3])
}

// polygonGroup is a group of tests while they are read.
type polygonGroup struct {
	Group

	line   int
	whole  bool // its policy is complete-group
	given  float64
	sample int // so many of its tests are samples
}

// polygonTests reads the tests of a testset.
func (p *Problem) polygonTests(set *element) {
	tests := set.child("tests").all("test")
	texts := map[string]string{}
	for _, name := range []string{"input-path-pattern", "answer-path-pattern"} {
		e := set.child(name)
		if e == nil || numberedName(e.text, 1) == "" {
			p.no(set, "%s must be a path with one %%d", name)
			return
		}
		texts[name] = e.text
	}
	groups, samples, others := p.polygonGroups(set), []Test(nil), []Test(nil)
	for i, e := range tests {
		t := Test{Input: numberedName(texts["input-path-pattern"], i+1), Answer: numberedName(texts["answer-path-pattern"], i+1)}
		for _, name := range []string{t.Input, t.Answer} {
			if !p.has(name) {
				p.no(e, "there is no file %s: this package's tests are still to be made. Take the full package of Polygon, or run doall.sh of this one", name)
				return
			}
		}
		t.Name = path.Base(t.Input)
		t.Points = p.points(e)
		name := e.attrs["group"]
		at := slices.IndexFunc(groups, func(g *polygonGroup) bool { return g.Name == name })
		if at < 0 {
			at, groups = len(groups), append(groups, &polygonGroup{Group: Group{Name: name}, line: e.line})
		}
		g := groups[at]
		p.Scoring = p.Scoring || t.Points > 0 || g.given > 0
		if g.Tests = append(g.Tests, t); e.attrs["sample"] == "true" {
			g.sample++
			p.polygonSamples = append(p.polygonSamples, polygonSample{i + 1, t.Name, t.Input, t.Answer})
			samples = append(samples, t)
		} else {
			others = append(others, t)
		}
	}
	if len(tests) == 0 {
		p.no(set, "there are no tests")
		return
	}
	if p.Scoring {
		p.scored(slices.DeleteFunc(groups, func(g *polygonGroup) bool { return len(g.Tests) == 0 }))
		return
	}
	// A submission passes all tests or none.
	for _, g := range []Group{{Name: "sample", Sample: true, Stop: true, Tests: samples}, {Name: "tests", Stop: true, Tests: others}} {
		if len(g.Tests) > 0 {
			p.Groups = append(p.Groups, g)
		}
	}
	p.allOrNothing(1)
}

// points are those of a test or a group.
func (p *Problem) points(e *element) float64 {
	text := cmp.Or(e.attrs["points"], "0")
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v <= maxPoints) {
		p.no(e, "points: this must be a number from 0 to %g", maxPoints)
		return 0
	}
	return v
}

// polygonGroups reads what is said of groups.
func (p *Problem) polygonGroups(set *element) []*polygonGroup {
	var all []*polygonGroup
	for _, e := range set.child("groups").all("group") {
		g := &polygonGroup{Group: Group{Name: e.attrs["name"]}, line: e.line, given: p.points(e)}
		switch policy := e.attrs["points-policy"]; policy {
		case "complete-group":
			g.whole = true
		case "each-test", "":
		default:
			p.no(e, "points-policy: %q is neither each-test nor complete-group", policy)
		}
		for _, d := range e.child("dependencies").all("dependency") {
			g.Needs = append(g.Needs, d.attrs["group"])
		}
		all = append(all, g)
	}
	return all
}

// scored orders groups with points, so that each comes after those that it needs.
func (p *Problem) scored(groups []*polygonGroup) {
	for _, g := range groups {
		p.award(g)
	}
	for len(groups) > 0 {
		at := slices.IndexFunc(groups, func(g *polygonGroup) bool {
			return !slices.ContainsFunc(g.Needs, func(name string) bool {
				return !slices.ContainsFunc(p.Groups, func(o Group) bool { return o.Name == titleOf(name) })
			})
		})
		if at < 0 {
			p.refuse(PolygonFile, groups[0].line, "group: %s depends on a group without tests, or on itself", groups[0].Name)
			return
		}
		g := groups[at].Group
		g.Name = titleOf(g.Name)
		for i, name := range g.Needs {
			g.Needs[i] = titleOf(name)
		}
		p.Groups, groups = append(p.Groups, g), slices.Delete(groups, at, at+1)
	}
}

// titleOf is what students read of a group.
func titleOf(name string) string {
	if name == "" {
		return "tests"
	}
	return "group " + name
}

// award gives a group its points.
func (p *Problem) award(g *polygonGroup) {
	sum := 0.0
	for _, t := range g.Tests {
		sum += t.Points
	}
	g.Sample = g.sample == len(g.Tests)
	switch {
	case g.whole:
		if sum == 0 {
			sum = g.given
		}
		g.Points, g.Stop = &sum, true
	case sum == 0:
		for i := range g.Tests {
			g.Tests[i].Points = g.given / float64(len(g.Tests))
		}
	}
}
