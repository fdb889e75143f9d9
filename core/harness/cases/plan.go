package cases

import (
	"regexp"
	"slices"
	"time"
)

// Plan is a parsed cases.yaml with all defaults filled in.
type Plan struct {
	Timeout time.Duration // of the whole grading; 0 where the author set none
	Files   []string      // of the harness folder, copied over the submission before it is built
	Build   []Command
	// BuildCache keeps what the build makes, for the same files of the same submitter.
	BuildCache bool
	// BuildLimits bound each command of the build.
	BuildLimits Limits
	Factors     map[string]Factor // of the limits of tests, by language; For applies them
	Checker     *Checker          // nil where no test has one
	Interactor  *Checker          // talks with the submission while it judges it; nil where no test has one
	Grader      *Checker          // computes the points of all tests together; nil where groups have them
	Groups      []Group
}

// Tests are all tests, in the order in which they run and are shown.
func (p *Plan) Tests() []*Test {
	var all []*Test
	for i := range p.Groups {
		for k := range p.Groups[i].Tests {
			all = append(all, &p.Groups[i].Tests[k])
		}
	}
	return all
}

// HasFinal reports whether some tests are for final submissions only.
func (p *Plan) HasFinal() bool {
	return slices.ContainsFunc(p.Tests(), func(t *Test) bool { return t.Final })
}

// Public is the plan for public submissions: without the tests that are for final ones only, and without groups that
// have no others.
func (p *Plan) Public() *Plan {
	public := *p
	public.Groups = nil
	for _, g := range p.Groups {
		g.Tests = slices.DeleteFunc(slices.Clone(g.Tests), func(t Test) bool { return t.Final })
		g.Needs = slices.DeleteFunc(slices.Clone(g.Needs), func(name string) bool {
			return !slices.ContainsFunc(public.Groups, func(other Group) bool { return other.Name == name })
		})
		if len(g.Tests) > 0 {
			public.Groups = append(public.Groups, g)
		}
	}
	return &public
}

// Group is tests that belong together. Tests outside of any group are one without a name.
type Group struct {
	Name string
	// Points are won if every test of the group is passed, or, with Least, in part; nil if its tests have their own.
	Points *float64
	Least  bool     // Points times the least share that a test has
	Stop   bool     // after the first test that is not passed the others are skipped
	Needs  []string // groups all of whose tests must be passed, or this one is skipped
	Tests  []Test
}

// Test is one run of what was built.
type Test struct {
	Group, Name string
	Run         Command
	Input       Content
	Files       []Placed
	Env         []string // NAME=value
	Output      *Content // nil if what it prints does not matter
	Compare     Compare
	CheckerArgs Command // more arguments of the checker or the interactor
	Exit        *int    // nil if how it exits does not matter
	Limits      Limits
	Points      float64 // to be won; a share of its group's where the group has points
	OutOf       float64 // to be won by the test, or by its group where the group has points
	Hidden      bool
	Final       bool   // it is for final submissions only
	Message     string // the author's hint, shown if the answer is wrong
}

// Title names a test among all.
func (t *Test) Title() string {
	if t.Group == "" {
		return t.Name
	}
	return t.Group + "/" + t.Name
}

// Command is a program with its arguments. A text of the file is for the shell.
type Command []string

// Content is a text of the file itself, or a file of the harness folder.
type Content struct {
	Text string
	Path string // "" for a text
}

// Placed is a file that lies beside what was built while a test runs.
type Placed struct {
	At string
	Content
}

// Limits of one command; 0 is the VM's limit.
type Limits struct {
	Time   time.Duration // of computing, all processes together
	Wall   time.Duration // by the clock
	Memory int64         // bytes
	Output int64         // bytes of each stream
	Pids   int
}

// Checker is the author's program that judges outputs, or that talks with the submission and judges what it says.
type Checker struct {
	Word   string   // what it is: checker or interactor
	Files  []string // of the harness folder
	Build  []Command
	Run    Command
	After  Command // of an interactor: judges how Run has ended; nil if its own end is the verdict
	Passes int     // how often a submission may run for one test; 0: once
	Limits Limits
	Staff  bool // its standard error is for staff alone

	Testlib bool // it is written with testlib, and ends and speaks as programs with it do

	Points float64 // the most that a grader gives
}

// The ways to compare.
const (
	Exact   = "exact"   // byte by byte
	Trimmed = "trimmed" // but for white space at the ends of lines and empty lines at the end
	Tokens  = "tokens"  // words and numbers between white space
	Float   = "float"   // the same, with numbers that may be off by the tolerance
	Regex   = "regex"   // the expected output is a pattern for the whole
	Check   = "checker" // the author's program says

	Interact = "interactor" // the author's program talks with the submission, and says
)

// Compare decides when an output is right.
type Compare struct {
	By         string
	Absolute   float64 // of Float: how far numbers may differ,
	Relative   float64 // or this times the expected number
	IgnoreCase bool

	pattern *regexp.Regexp // of a Regex whose text is in the file itself
}

func (c *Compare) byProgram() bool { return c.By == Check || c.By == Interact }
