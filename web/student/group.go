package student

import (
	"slices"
	"strings"

	"drover/core"
	"drover/web/page"
)

// group is a group of tests with its points.
type group struct {
	Name, Depth   string // Depth is the class of its indentation
	Tests         []test
	Passed, Count int
	Score, Max    float64
	Outcome       core.ResultOutcome
	Badge         string
}

// groupsOf returns the groups of a result's tests, in order of their first tests; nil if there are fewer than two.
func groupsOf(r *page.Request, all []test) []group {
	var groups []group
	for _, t := range all {
		i := slices.IndexFunc(groups, func(g group) bool { return g.Name == t.Group })
		if i < 0 {
			i, groups = len(groups), append(groups, group{Name: t.Group})
		}
		g := &groups[i]
		g.Tests, g.Count = append(g.Tests, t), g.Count+1
		g.Score, g.Max = g.Score+t.Score, g.Max+t.MaxScore
		if t.Test.Passed() {
			g.Passed++
		}
	}
	if len(groups) < 2 {
		return nil
	}
	for i := range groups {
		g := &groups[i]
		g.Depth = [...]string{"", "deep", "deeper"}[min(above(groups, g.Name), 2)]
		switch {
		case g.Passed == g.Count:
			g.Outcome, g.Badge = core.ResultFull, r.T("passed")
		case !slices.ContainsFunc(g.Tests, func(t test) bool { return t.Outcome != core.ResultCancelled }):
			g.Outcome, g.Badge = core.ResultCancelled, r.T("skipped")
		case g.Score > 0:
			g.Outcome, g.Badge = core.ResultPartial, r.T("partly")
		default:
			g.Outcome, g.Badge = core.ResultFailed, r.T("failed")
		}
	}
	return groups
}

// above counts the other groups that a group is in, by their names: a/b is in a.
func above(groups []group, name string) (n int) {
	for _, g := range groups {
		if g.Name != "" && strings.HasPrefix(name, g.Name+"/") {
			n++
		}
	}
	return n
}
