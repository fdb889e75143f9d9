package harness

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"drover/core"
	"drover/core/agent/boxrun"
	"drover/core/harness/cases"
)

// Warning is advice to the author of a harness that is valid, and perhaps not what its author means.
type Warning struct {
	Sentence string // one of Warnings, with verbs for Args
	Args     []any  // a time.Duration is a span of time
}

// String returns the warning in English.
func (w Warning) String() string { return fmt.Sprintf(w.Sentence, w.Args...) }

// The sentences of warnings.
const (
	warnLate      = "build and tests may take %s, and the whole grading has %s: what is late is not run; set timeout (and the pool's), or stop for groups"
	warnCapped    = "timeout is %s, and the pool allows %s for the whole grading: that counts"
	warnMemory    = "it gives programs up to %s of memory, and VMs of the pool have %s: that counts"
	warnPointless = "no test has points"
	warnPublic    = "no test is hidden: a program that knows the outputs by heart wins all points"
	warnNameless  = "hidden tests without names: %s; a student who fails one reads nothing but its number"
	warnPeerless  = "it needs a second VM beside each, and VMs of the pool have no peer: choose another pool, or have an operator give them one"
	warnUnboxed   = "nothing in it calls %s: only pools that are set to unboxed grade by it, since a submission that it starts itself has its user, and can read its answers, write modules beside it and forge its report"
)

// WarningSentences returns the sentences of all warnings, for their translation.
func WarningSentences() []string {
	return []string{warnLate, warnCapped, warnMemory, warnPointless, warnPublic, warnNameless, warnPeerless, warnUnboxed}
}

// Warnings returns advice about a harness that grades within limits, in VMs that have a peer or not.
func (p *Package) Warnings(limits core.Limits, peer bool) []Warning {
	var all []Warning
	if p.Peer() && !peer {
		all = append(all, Warning{Sentence: warnPeerless})
	}
	if p.Cases == nil {
		if whole, err := io.ReadAll(p.Tar()); err == nil && !bytes.Contains(whole, []byte(boxrun.Name)) { // it is bounded by MaxProgramBytes
			all = append(all, Warning{warnUnboxed, []any{boxrun.Name}})
		}
		return all
	}
	warn := func(sentence string, args ...any) { all = append(all, Warning{sentence, args}) }
	whole, longest := limits.Timeout, time.Duration(len(p.Cases.Build))*p.Cases.BuildLimits.Time
	if set := p.Cases.Timeout; set > 0 && whole > 0 && set > whole {
		warn(warnCapped, set, whole)
	} else if set > 0 {
		whole = set
	}
	points, tests := 0.0, p.Cases.Tests()
	for _, t := range tests {
		longest += t.Limits.Time
		points += t.Points
	}
	if longest > whole {
		warn(warnLate, longest, whole)
	}
	all = append(all, p.Lacks(limits)...)
	if points == 0 {
		warn(warnPointless)
	}
	if !slices.ContainsFunc(tests, func(t *cases.Test) bool { return t.Hidden }) {
		warn(warnPublic)
	}
	if nameless := namelessTests(tests); len(nameless) > 0 {
		warn(warnNameless, strings.Join(nameless, ", "))
	}
	return all
}

// Peer reports whether a harness needs VMs with a peer: for its interactor, or for itself.
func (p *Package) Peer() bool {
	if p.Cases == nil {
		return p.Config.Peer
	}
	return p.Cases.Interactor != nil
}

// Lacks returns what a harness with cases asks for and VMs with these limits do not have.
func (p *Package) Lacks(limits core.Limits) []Warning {
	var all []Warning
	memory := p.Cases.BuildLimits.Memory
	for _, c := range []*cases.Checker{p.Cases.Checker, p.Cases.Interactor, p.Cases.Grader} {
		if c != nil {
			memory = max(memory, c.Limits.Memory)
		}
	}
	for _, t := range p.Cases.Tests() {
		memory = max(memory, t.Limits.Memory)
	}
	if limits.Memory > 0 && memory > limits.Memory {
		all = append(all, Warning{warnMemory, []any{core.SizeText(memory), core.SizeText(limits.Memory)}})
	}
	return all
}

// namelessTests returns the first hidden tests that have the name that a test without one gets.
func namelessTests(tests []*cases.Test) []string {
	const most = 5
	var all []string
	for _, t := range tests {
		var n int
		if count, err := fmt.Sscanf(t.Name, "test %d", &n); !t.Hidden || err != nil || count != 1 {
			continue
		}
		if len(all) == most {
			return append(all, "…")
		}
		all = append(all, t.Title())
	}
	return all
}
