package lease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/lease"
)

func requireCode(t *testing.T, want core.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, core.CodeOf(err), "%v", err)
}

func TestCreate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	d := s.draft(6, 1, 3)
	d.BeforeEnd = 10 * time.Minute
	seen, err := s.Preview(t.Context(), operator, d)
	require.NoError(t, err)
	require.Equal(t, 6, seen.Reservations[0].Held())
	require.Empty(t, s.leases, "a preview makes nothing")

	l, err := s.Create(t.Context(), operator, d)
	require.NoError(t, err)
	require.Equal(t, core.LeasePending, l.State)
	require.Equal(t, "olga", l.By)
	require.Equal(t, []string{"its-hook"}, l.Notify, "those of its class are told")
	require.Equal(t, 6, l.Reservations[0].Held())
	require.Len(t, l.Events, 3)
	require.Equal(t, core.EventLeaseCreated, l.Log[0].Event)
	require.Equal(t, l, s.leases[l.ID])
	require.Len(t, s.entries, 1)
	require.Equal(t, core.ActLeaseManage, s.entries[0].Action)
	require.Equal(t, "reserves 6 of pool py for class cs1 from 2026-12-01 13:00 UTC to 2026-12-01 15:00 UTC", s.entries[0].Text)

	_, err = s.Create(t.Context(), operator, s.draft(7, 2, 4))
	requireCode(t, core.CodeFull, err)
	require.ErrorContains(t, err, "there may be 7 from 15:00", "it says when there is room")
	_, err = s.Create(t.Context(), operator, s.draft(12, 3, 4))
	require.NoError(t, err, "back to back")
	require.Len(t, s.leases, 2)
}

// A decision by a calendar that somebody else has changed is made again.
func TestTwoWhoCreateAtOnceSellNothingTwice(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.before = func() {
		_, err := s.Create(t.Context(), operator, s.draft(8, 1, 3))
		require.NoError(t, err)
	}
	_, err := s.Create(t.Context(), operator, s.draft(8, 2, 4))
	requireCode(t, core.CodeFull, err)
	s.before = func() {
		_, err := s.Create(t.Context(), operator, s.draft(2, 1, 3))
		require.NoError(t, err)
	}
	l, err := s.Create(t.Context(), operator, s.draft(2, 1, 3))
	require.NoError(t, err)
	require.Equal(t, 2, l.Reservations[0].Held())
	require.Len(t, s.leases, 3)
}

func TestDraftsThatCannotBe(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Rules.Longest = 4 * time.Hour
	for name, one := range map[string]struct {
		change func(d *lease.Draft)
		code   core.Code
		says   string
	}{
		"no name":        {func(d *lease.Draft) { d.Name = " " }, core.CodeInvalid, "name"},
		"in the past":    {func(d *lease.Draft) { d.Start = s.in(-time.Hour) }, core.CodeInvalid, "in the past"},
		"ends first":     {func(d *lease.Draft) { d.End = d.Start }, core.CodeInvalid, ""},
		"nobody":         {func(d *lease.Draft) { d.Class = "" }, core.CodeInvalid, ""},
		"nothing":        {func(d *lease.Draft) { d.Reservations = nil }, core.CodeInvalid, ""},
		"no class":       {func(d *lease.Draft) { d.Class = "cs9" }, core.CodeNotFound, "cs9"},
		"no pool":        {func(d *lease.Draft) { d.Reservations[0].Pools[0] = "rust" }, core.CodeInvalid, "rust"},
		"no hook":        {func(d *lease.Draft) { d.Notify = []string{"none"} }, core.CodeNotFound, "none"},
		"another's hook": {func(d *lease.Draft) { d.Notify = []string{"other-hook"} }, core.CodeInvalid, "cs2"},
		"too long":       {func(d *lease.Draft) { d.End = s.in(6 * time.Hour) }, core.CodeInvalid, "longest"},
		"too many":       {func(d *lease.Draft) { d.Reservations[0].Units = 13 }, core.CodeInvalid, ""},
		"no such host":   {func(d *lease.Draft) { d.Reservations[0].Requires = "zone=c" }, core.CodeInvalid, "zone"},
	} {
		d := s.draft(1, 1, 2)
		one.change(&d)
		_, err := s.Create(t.Context(), operator, d)
		require.Error(t, err, name)
		require.Equal(t, one.code, core.CodeOf(err), "%s: %v", name, err)
		require.ErrorContains(t, err, one.says, name)
	}
	require.Empty(t, s.leases)
	d := s.draft(1, 1, 9)
	_, err := s.Create(t.Context(), admin, d)
	require.NoError(t, err, "an administrator may")
	d.Start, d.End = 0, s.in(time.Hour)
	l, err := s.Create(t.Context(), operator, d)
	require.NoError(t, err)
	require.Equal(t, s.now.UnixMilli(), l.Start, "now")
}

func TestWhoMaySeeAndChangeALease(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	d := s.draft(1, 1, 2)
	d.Submitters = []string{"bot"}
	l, err := s.Create(t.Context(), operator, d)
	require.NoError(t, err)
	other := core.Actor{Handle: "otto", In: map[string]core.UserRole{"cs2": core.RoleTeacher}}
	for _, a := range []core.Actor{operator, admin, teacher, runner} {
		_, err := s.Get(t.Context(), a, l.ID)
		require.NoError(t, err, a.Handle)
		all, err := s.List(t.Context(), a, core.LeaseFilter{})
		require.NoError(t, err)
		require.Len(t, all, 1, a.Handle)
	}
	name := "mine"
	for _, a := range []core.Actor{student, other, {}} {
		_, err := s.Get(t.Context(), a, l.ID)
		requireCode(t, core.CodeNotFound, err)
		all, err := s.List(t.Context(), a, core.LeaseFilter{})
		require.NoError(t, err)
		require.Empty(t, all, a.Handle)
	}
	for _, a := range []core.Actor{teacher, runner} {
		_, err := s.Update(t.Context(), a, l.ID, lease.Change{Name: &name})
		requireCode(t, core.CodeForbidden, err)
		requireCode(t, core.CodeForbidden, s.Delete(t.Context(), a, l.ID))
		_, err = s.Create(t.Context(), a, d)
		requireCode(t, core.CodeForbidden, err)
		_, err = s.View(t.Context(), a, 0, 1000, "")
		requireCode(t, core.CodeForbidden, err)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for state, want := range map[core.LeaseState]core.Code{
		core.LeasePending: "", core.LeaseStarting: core.CodeConflict, core.LeaseActive: "", core.LeaseTerminating: core.CodeConflict,
	} {
		l := s.inState(t, state)
		err := s.Delete(t.Context(), operator, l.ID)
		require.Equal(t, want, core.CodeOf(err), state)
		left, there := s.leases[l.ID]
		switch state {
		case core.LeasePending:
			require.False(t, there)
		case core.LeaseActive:
			require.Equal(t, core.LeaseDeleting, left.State, "its VMs go first")
			require.NoError(t, s.Delete(t.Context(), operator, l.ID), "again")
		default:
			require.Equal(t, l, left)
		}
	}
	requireCode(t, core.CodeNotFound, s.Delete(t.Context(), operator, "none"))
	requireCode(t, core.CodeInvalid, s.Delete(t.Context(), operator, "a b"))
}

// inState makes a lease of one unit and brings it to a state.
func (s *site) inState(t *testing.T, state core.LeaseState) core.Lease {
	t.Helper()
	l, err := s.Create(t.Context(), operator, s.draft(1, 1, 2))
	require.NoError(t, err)
	for _, step := range []struct {
		to   core.LeaseState
		kind core.LeaseEventKind
		do   func(core.Lease, core.LeaseEventKind, int64) (core.Lease, error)
	}{
		{core.LeaseStarting, core.EventStart, lease.Begin},
		{core.LeaseActive, core.EventStart, lease.Done},
		{core.LeaseTerminating, core.EventEnd, lease.Begin},
		{core.LeaseTerminated, core.EventEnd, lease.Done},
	} {
		if l.State == state {
			return l
		}
		l, err = step.do(l, step.kind, s.now.UnixMilli())
		require.NoError(t, err)
		_, err = s.PutLease(t.Context(), s.revision, l)
		require.NoError(t, err)
	}
	require.Equal(t, state, l.State)
	return l
}

func TestView(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	l, err := s.Create(t.Context(), operator, s.draft(5, 1, 3))
	require.NoError(t, err)
	v, err := s.View(t.Context(), operator, s.in(0), s.in(4*time.Hour), "py")
	require.NoError(t, err)
	require.Len(t, v.Hosts, 3)
	require.Len(t, v.Leases, 1)
	units := 0
	for _, h := range v.Hosts {
		for _, b := range h.Blocks {
			require.Equal(t, l.ID, b.Lease)
			require.Equal(t, s.in(time.Hour), b.From)
			require.Equal(t, s.in(3*time.Hour), b.To)
			units += b.Units
		}
	}
	require.Equal(t, 5, units)
	free := make([]int, 0, 3)
	for _, f := range v.Free {
		free = append(free, f.Units)
	}
	require.Equal(t, []int{12, 7, 12}, free)
	_, err = s.View(t.Context(), operator, s.in(0), s.in(0), "")
	requireCode(t, core.CodeInvalid, err)
	_, err = s.View(t.Context(), operator, s.in(0), s.in(time.Hour), "rust")
	requireCode(t, core.CodeNotFound, err)
}

// What a lease needs of a host stays (B20).
func TestLabelsThatALeaseNeeds(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	d := s.draft(1, 1, 2)
	d.Reservations[0].Requires = "zone=b"
	l, err := s.Create(t.Context(), operator, d)
	require.NoError(t, err)
	require.Equal(t, "h3", l.Reservations[0].Allocations[0].Host)
	requireCode(t, core.CodeConflict, s.AllowsLabels(t.Context(), "h3", nil))
	require.NoError(t, s.AllowsLabels(t.Context(), "h3", map[string]string{"zone": "b", "gpu": "yes"}))
	require.NoError(t, s.AllowsLabels(t.Context(), "h1", nil))
	require.NoError(t, s.Delete(t.Context(), operator, l.ID))
	require.NoError(t, s.AllowsLabels(t.Context(), "h3", nil))
}
