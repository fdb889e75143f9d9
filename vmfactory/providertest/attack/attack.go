// Package attack is the list of attacks that every VM provider is put to, with
// what a good sandbox does about each, and what each of drover's providers does.
// The table in docs/security.md is made from it.
//
// What the conformance suite tries already is named here, not done twice. The
// rest is tried by Run on VMs of the provider, each on its own; then the host and
// another VM are looked at for harm.
package attack

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/vmfactory/cgroup"
	"drover/vmfactory/providertest"
)

// Probe is one attack.
type Probe struct {
	Number int
	Name   string
	Good   string   // what a good sandbox does
	Covers []string // tests of the conformance suite, or of other packages, that try it: "isolation/mounts"
	try    func(t *testing.T, s *scene) []string
}

// Column is one provider in one of its ways to make VMs.
type Column struct {
	Title  string // in the table
	except map[int]exception
}

// exception is an attack that a provider does not hold, or does not hold firmly.
type exception struct {
	weak      bool     // held by a watchdog, which comes a moment late
	partly    bool     // most of it is held
	why       string   // in one sentence or two
	leaks     []string // what may get out; none for a weak one
	sometimes bool     // it depends on the machine whether something does
}

// Columns lists what the table has.
func Columns() []Column { return []Column{LXC, LocalRoot, LocalLent, LocalUser} }

// Run puts a provider to every attack and compares what becomes of it with what
// the column says: a hole that it does not name fails, and so does one that is
// not there any more.
func Run(t *testing.T, make providertest.New, column Column) {
	t.Helper()
	t.Log(cgroups(cgroup.Root))
	at := providertest.NewScene(t, make)
	s := &scene{Scene: at, column: column, host: lookAtHost(t)}
	s.other = at.Clean(t, providertest.Pool())
	t.Run("attacks", func(t *testing.T) {
		for _, p := range Probes() {
			if p.try == nil {
				continue
			}
			t.Run(fmt.Sprintf("%d %s", p.Number, p.Name), func(t *testing.T) {
				t.Parallel()
				column.judge(t, p, p.try(t, s))
			})
		}
	})
	// What all of that has left of the others.
	require.NoError(t, at.Provider.Check(t.Context(), s.other.ID), "the VM that nobody used is clean")
	require.NoError(t, s.other.Assign(t.Context(), "work"))
	s.other.Alive(t)
	s.other.Destroy(t)
	s.host.unharmed(t)
}

// judge compares what got out of a VM with what is known to.
func (c Column) judge(t *testing.T, p Probe, leaks []string) {
	t.Helper()
	known, excepted := c.except[p.Number]
	if !excepted || known.weak {
		assert.Empty(t, leaks, "not held: %s", p.Good)
		return
	}
	assert.True(t, known.sometimes || len(leaks) > 0, "it is held now: %s has an exception to remove", c.Title)
	for _, leak := range leaks {
		assert.True(t, slices.ContainsFunc(known.leaks, func(k string) bool { return strings.Contains(leak, k) }), "not held, and no known exception: %s", leak)
	}
}
