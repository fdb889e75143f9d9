package lease_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/lease"
)

// sound is a consistency check that finds nothing.
type sound struct{ mended []core.Violation }

func (s *sound) CheckConsistency(context.Context) ([]core.Violation, error) { return nil, nil }

func (s *sound) Mend(_ context.Context, v core.Violation) (bool, error) {
	s.mended = append(s.mended, v)
	return true, nil
}

// A host that shrinks holds more than it has; what is too much goes elsewhere, also of a lease of another month.
func TestOversoldHostsAreFoundAndMended(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	others := &sound{}
	a := &lease.Audit{Consistency: others, Leases: &s.Service}
	check := func() []core.Violation {
		broken, err := a.CheckConsistency(t.Context())
		require.NoError(t, err)
		return broken
	}
	require.Empty(t, check())
	first, err := s.Create(t.Context(), operator, s.draft(2, 700, 702))
	require.NoError(t, err)
	second, err := s.Create(t.Context(), operator, s.draft(2, 701, 703))
	require.NoError(t, err)
	require.Empty(t, check())
	host := second.Reservations[0].Allocations[0].Host
	for i := range s.hosts {
		if s.hosts[i].Name == host {
			s.hosts[i].Memory /= 2
		}
	}
	broken := check()
	require.Len(t, broken, 1)
	require.Equal(t, core.RuleOversold, broken[0].Rule)
	require.Equal(t, second.ID, broken[0].ID, "the younger one")
	mended, err := a.Mend(t.Context(), broken[0])
	require.NoError(t, err)
	require.True(t, mended)
	require.Empty(t, check())
	require.Equal(t, first, s.leases[first.ID])
	l := s.leases[second.ID]
	require.Equal(t, 2, l.Reservations[0].Held())
	require.False(t, l.Degraded(), "it has not started")
	require.Equal(t, core.EventLeaseUpdated, l.Log[len(l.Log)-1].Event)
	mended, err = a.Mend(t.Context(), broken[0])
	require.NoError(t, err)
	require.False(t, mended, "once")
	_, err = a.Mend(t.Context(), core.Violation{Rule: core.RuleTurns})
	require.NoError(t, err)
	require.Len(t, others.mended, 1)
}
