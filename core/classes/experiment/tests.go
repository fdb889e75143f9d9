package experiment

import (
	"cmp"
	"slices"

	"drover/core"
)

// Move is what became of one test of one submission.
type Move string

// The moves of a test.
const (
	Stays  Move = "passed"  // passed before and after
	Fails  Move = "failed"  // passed neither before nor after
	Gained Move = "gained"  // passed now only
	Lost   Move = "lost"    // passed before only
	Added  Move = "added"   // a new test, not passed
	Won    Move = "won"     // a new test, passed
	Gone   Move = "removed" // not among the new tests
)

// mark is a test of a run: what the comparison needs of it.
type mark struct {
	group, name string
	passed      bool
}

func marksOf(r *core.Result) []mark {
	all := make([]mark, 0, len(r.Tests))
	for i := range r.Tests {
		all = append(all, mark{r.Tests[i].Group, r.Tests[i].Name, r.Tests[i].Passed()})
	}
	return all
}

// TestChange sums up what became of one test in all submissions.
type TestChange struct {
	Group   string `json:"group,omitempty"`
	Name    string `json:"name"`
	Old     int    `json:"old"`    // submissions that had it
	Before  int    `json:"before"` // of those, that passed it
	New     int    `json:"new"`    // submissions that have it now
	After   int    `json:"after"`  // of those, that pass it
	Gained  int    `json:"gained"` // that pass it now only
	Lost    int    `json:"lost"`   // that passed it before only
	ordinal int
}

// testMove is what became of a test, by its name.
type testMove struct {
	group, name string
	move        Move
	before      bool // it was passed before
}

// moves compares the tests of the run that counts with the old ones: in the order of the new ones, and then those that
// are gone.
func (o *Outcome) moves() []testMove {
	now := o.Counts()
	if now == nil {
		return nil
	}
	old := make(map[[2]string]bool, len(o.Old.marks))
	for _, m := range o.Old.marks {
		old[[2]string{m.group, m.name}] = m.passed
	}
	var all []testMove
	for _, m := range now.marks {
		key := [2]string{m.group, m.name}
		before, had := old[key]
		delete(old, key)
		all = append(all, testMove{m.group, m.name, moveOf(had, before, m.passed), before})
	}
	for _, m := range o.Old.marks {
		key := [2]string{m.group, m.name}
		if _, left := old[key]; left {
			delete(old, key)
			all = append(all, testMove{m.group, m.name, Gone, m.passed})
		}
	}
	return all
}

func moveOf(had, before, after bool) Move {
	switch {
	case !had && after:
		return Won
	case !had:
		return Added
	case before && after:
		return Stays
	case after:
		return Gained
	case before:
		return Lost
	}
	return Fails
}

// MostTests bounds the tests of a summary; a harness has fewer, but reports of many harnesses may differ.
const MostTests = 1000

// sumTests counts by test. Tests are in the order in which submissions report them.
func sumTests(all []Outcome) []TestChange {
	by := map[[2]string]*TestChange{}
	for i := range all {
		for _, m := range all[i].moves() {
			key := [2]string{m.group, m.name}
			c := by[key]
			if c == nil {
				if len(by) == MostTests {
					continue
				}
				c = &TestChange{Group: m.group, Name: m.name, ordinal: len(by)}
				by[key] = c
			}
			c.count(m)
		}
	}
	list := make([]TestChange, 0, len(by))
	for _, c := range by {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b TestChange) int { return cmp.Compare(a.ordinal, b.ordinal) })
	return list
}

func (c *TestChange) count(m testMove) {
	is := func(moves ...Move) int { return count(slices.Contains(moves, m.move)) }
	c.Old += is(Stays, Fails, Gained, Lost, Gone)
	c.Before += count(m.before)
	c.New += is(Stays, Fails, Gained, Lost, Added, Won)
	c.After += is(Stays, Gained, Won)
	c.Gained += is(Gained)
	c.Lost += is(Lost)
}

// Cells returns what became of each of some tests, in their order; "" for a test that the submission does not have.
func (o *Outcome) Cells(tests []TestChange) []Move {
	by := map[[2]string]Move{}
	for _, m := range o.moves() {
		by[[2]string{m.group, m.name}] = m.move
	}
	cells := make([]Move, len(tests))
	for i, t := range tests {
		cells[i] = by[[2]string{t.Group, t.Name}]
	}
	return cells
}
