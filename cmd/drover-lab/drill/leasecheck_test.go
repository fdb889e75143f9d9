package drill

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/lease"
)

// reserved is an active lease of two units on one host, which it holds all of.
func reserved() core.Lease {
	return core.Lease{ID: "l", State: core.LeaseActive, Reservations: []core.Reservation{{
		Pools: []string{"exam"}, Units: 2, State: core.ReservationActive,
		Allocations: []core.Allocation{{Host: "h1", Units: 2, State: core.AllocationHeld}},
	}}}
}

func TestALeaseThatLacksUnitsSaysWhy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of    func(l *core.Lease, r *core.Reservation)
		wrong bool
	}{
		"all there":           {func(*core.Lease, *core.Reservation) {}, false},
		"all there, degraded": {func(_ *core.Lease, r *core.Reservation) { r.MissingResources = true }, true},
		"all there, changed":  {func(_ *core.Lease, r *core.Reservation) { r.ResourcesChanged = true }, true},
		"one too few, unsaid": {func(_ *core.Lease, r *core.Reservation) { r.Units = 3 }, true},
		"one too few, no why": {func(_ *core.Lease, r *core.Reservation) { r.Units, r.MissingResources = 3, true }, true},
		"lost, and said so": {func(_ *core.Lease, r *core.Reservation) {
			r.Units, r.MissingResources = 3, true
			r.Allocations = append(r.Allocations, core.Allocation{Host: "h2", Units: 1, State: core.AllocationLost, Why: "h2 is down"})
		}, false},
		"not active": {func(l *core.Lease, r *core.Reservation) { l.State, r.Units = core.LeasePending, 3 }, false},
		"removed":    {func(_ *core.Lease, r *core.Reservation) { r.State, r.Units = core.ReservationDeleted, 3 }, false},
		"more hosts than it needs": {func(_ *core.Lease, r *core.Reservation) {
			r.Units, r.MinHosts, r.MaxHosts = 0, 1, 2
		}, false},
	} {
		l := reserved()
		c.of(&l, &l.Reservations[0])
		require.Equal(t, c.wrong, len(unexplained(&l)) > 0, "%s: %v", name, unexplained(&l))
	}
}

func TestEventsOfLeasesHappenOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state  core.LeaseState
		events []string
		wrong  bool
	}{
		"pending":            {core.LeasePending, []string{core.EventLeaseCreated}, false},
		"active":             {core.LeaseActive, []string{core.EventLeaseCreated, core.EventLeaseStarted}, false},
		"active, not begun":  {core.LeaseActive, []string{core.EventLeaseCreated}, true},
		"started twice":      {core.LeaseActive, []string{core.EventLeaseStarted, core.EventLeaseStarted}, true},
		"over":               {core.LeaseTerminated, []string{core.EventLeaseStarted, core.EventLeaseEnding, core.EventLeaseEnded}, false},
		"over, not ended":    {core.LeaseTerminated, []string{core.EventLeaseStarted}, true},
		"ended twice":        {core.LeaseTerminated, []string{core.EventLeaseStarted, core.EventLeaseEnded, core.EventLeaseEnded}, true},
		"ending twice":       {core.LeaseActive, []string{core.EventLeaseStarted, core.EventLeaseEnding, core.EventLeaseEnding}, true},
		"in error":           {core.LeaseError, []string{core.EventLeaseFailed}, false},
		"in error, not said": {core.LeaseError, []string{core.EventLeaseCreated}, true},
		"healed twice":       {core.LeaseActive, []string{core.EventLeaseStarted, core.EventLeaseDegraded, core.EventLeaseWhole, core.EventLeaseDegraded}, false},
	} {
		l := core.Lease{ID: "l", State: c.state}
		for _, event := range c.events {
			lease.Note(&l, 1, event, "text", "")
		}
		require.Equal(t, c.wrong, len(twice(&l)) > 0, "%s: %v", name, twice(&l))
	}
	l := core.Lease{ID: "l", State: core.LeaseActive}
	lease.Note(&l, 1, core.EventLeaseStarted, "text", "")
	for range core.MaxLeaseNotes {
		lease.Note(&l, 1, core.EventLeaseWhole, "text", "")
	}
	require.Empty(t, twice(&l), "its oldest lines are gone")
	l.Log[5].Number = 1
	require.NotEmpty(t, twice(&l))
}

func TestHostsAreNotPromisedTwiceForLong(t *testing.T) {
	t.Parallel()
	var b books
	at := time.Unix(0, 0)
	h1, h2 := lease.Finding{Host: "h1", Text: "too much of h1"}, lease.Finding{Host: "h2", Text: "too much of h2"}
	look := func(after time.Duration, found ...lease.Finding) {
		at = at.Add(after)
		b.judge(found, at)
	}
	look(0, h1)
	look(overTooLong, h1)
	over, longest := b.result()
	require.Empty(t, over)
	require.Equal(t, overTooLong, longest)
	look(time.Second, h2)
	look(overTooLong, h1, h2)
	over, _ = b.result()
	require.Empty(t, over, "h1 was healed in between")
	look(time.Second, h1, h2)
	look(time.Second, h1, h2)
	over, _ = b.result()
	require.Len(t, over, 1, "once")
	require.Contains(t, over[0], "h2")
}

func TestOnlyHoldersUseALease(t *testing.T) {
	t.Parallel()
	l := newLeasing(Config{}, &cluster{})
	l.known["l"] = &leased{holders: map[string]bool{"s1": true}}
	r := newReport(Config{})
	l.ran(r, "l", core.Spec{Submitter: "s1"})
	require.True(t, r.Sound(), r.Details)
	require.Equal(t, leaseCounts{Held: 1}, r.Leases)
	l.ran(r, "l", core.Spec{Submitter: "s2"})
	require.Equal(t, 1, r.LeaseFaults)
	require.False(t, r.Sound())
}

func TestDraftsOfLeasesCanBe(t *testing.T) {
	t.Parallel()
	dice, now := rand.New(rand.NewPCG(1, 2)), time.UnixMilli(1_000_000)
	whole, chained := 0, 0
	end := core.Lease{End: now.Add(10 * time.Second).UnixMilli()}
	for range 300 {
		d := draftLease(dice, now, []core.Lease{end})
		require.GreaterOrEqual(t, d.Start, now.UnixMilli())
		require.Greater(t, d.End, d.Start+int64(time.Second/time.Millisecond))
		require.LessOrEqual(t, d.End-d.Start, (longestTime + 2*time.Second).Milliseconds())
		if d.Reservations[0].MinHosts > 0 {
			whole++
		}
		if d.Start == end.End {
			chained++
		}
	}
	require.Positive(t, whole)
	require.Positive(t, chained)
}
