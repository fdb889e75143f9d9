package mongo

import (
	"context"
	"encoding/json"
	"testing"

	"drover/core"
	"drover/core/coretest/tier"
	"drover/core/store/mongo/mongotest"
	"drover/core/store/storetest"

	"github.com/stretchr/testify/require"
)

// documentOf makes the document of a lease.
func documentOf(t *testing.T, l *core.Lease) leased {
	t.Helper()
	text, err := json.Marshal(l)
	require.NoError(t, err)
	return leasedOf(l, text)
}

func TestLeasesLimit(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Mongo)
	s := openHere(t, mongotest.Database(t), Options{})
	storetest.LeasesLimit(t, s, func(all []core.Lease) {
		docs := make([]any, len(all))
		for i := range all {
			docs[i] = documentOf(t, &all[i])
		}
		_, err := s.in(leases).InsertMany(t.Context(), docs)
		require.NoError(t, err)
	})
}

// half writes a lease as a call does that dies after it has decided on that, or after it has made it.
func half(t *testing.T, s *Store, l *core.Lease, made bool) {
	t.Helper()
	now, err := s.calendarRevision(t.Context())
	require.NoError(t, err)
	was, _, err := s.anyLease(t.Context(), l.ID)
	require.NoError(t, err)
	w := leasedWrite{Lease: documentOf(t, l), Fresh: was == nil, Notes: untold(l, l.Log[len(l.Log)-1:]), Since: "1"}
	c := calendar{ID: calendarID, Revision: now + 1, Pending: &w}
	is, err := s.change(t.Context(), meta, m{"_id": calendarID, "revision": now, "pending": absent}, m{"$set": m{"revision": c.Revision, "pending": w}})
	require.NoError(t, err)
	require.True(t, is)
	if made {
		require.NoError(t, s.makeWrite(t.Context(), &c))
	}
}

// The first reader after a crash makes the write that was decided on, once.
func TestLeaseThatIsHalfWritten(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Mongo)
	s := openHere(t, mongotest.Database(t), Options{})
	for name, look := range map[string]func(ctx context.Context, l *core.Lease) (there bool, err error){
		"calendar": func(ctx context.Context, l *core.Lease) (bool, error) {
			c, err := s.Calendar(ctx, 0)
			return c.Leases[len(c.Leases)-1].LastNote() == l.LastNote(), err
		},
		"get": func(ctx context.Context, l *core.Lease) (bool, error) {
			got, err := s.GetLease(ctx, l.ID)
			return got.LastNote() == l.LastNote(), err
		},
		"told": func(ctx context.Context, l *core.Lease) (bool, error) {
			got, err := s.ToldLease(ctx, l.ID)
			return got.LastNote() == l.LastNote(), err
		},
		"list": func(ctx context.Context, l *core.Lease) (bool, error) {
			all, err := s.ListLeases(ctx, core.LeaseFilter{Limit: 1})
			return all[0].LastNote() == l.LastNote(), err
		},
		"outbox": func(ctx context.Context, l *core.Lease) (bool, error) {
			all, err := s.Outbox(ctx, 1)
			return len(all) == 1 && all[0].Key == core.Key(l.ID, l.LastNote()), err
		},
		"stale write": func(ctx context.Context, l *core.Lease) (bool, error) {
			_, err := s.PutLease(ctx, 1, *l)
			got, _, failed := s.anyLease(ctx, l.ID)
			return core.Is(err, core.CodeConflict) && got.LastNote() == l.LastNote(), failed
		},
		"stale deletion": func(ctx context.Context, l *core.Lease) (bool, error) {
			_, err := s.DeleteLease(ctx, 1, l.ID, core.LeaseNote{})
			got, _, failed := s.anyLease(ctx, l.ID)
			return core.Is(err, core.CodeConflict) && got.LastNote() == l.LastNote(), failed
		},
	} {
		l := storetest.Lease("cs101")
		l.Notify = []string{"w"}
		for n, made := range []bool{false, true, false, true} { // the first time it is new
			l.Log = append(l.Log, core.LeaseNote{Number: n + 2, Event: core.EventLeaseUpdated})
			half(t, s, &l, made)
			there, err := look(t.Context(), &l)
			require.NoError(t, err, name)
			require.True(t, there, "%s, made: %v", name, made)
			c, err := s.Calendar(t.Context(), 0)
			require.NoError(t, err)
			left, _, err := one[calendar](t.Context(), s, meta, m{"_id": calendarID})
			require.NoError(t, err)
			require.Equal(t, calendar{ID: calendarID, Revision: c.Revision}, left, "nothing is left to make")
			told, err := s.Outbox(t.Context(), 10)
			require.NoError(t, err)
			require.Equal(t, []core.Notice{{Event: core.EventLeaseUpdated, Key: core.Key(l.ID, l.LastNote())}}, told, name)
			require.NoError(t, s.Sent(t.Context(), told))
		}
	}
}

// A call that stops after it has decided on a write, and goes on when others have made that and written since, changes
// nothing.
func TestLeaseThatIsWrittenLate(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Mongo)
	ctx := t.Context()
	s := openHere(t, mongotest.Database(t), Options{})
	l := storetest.Lease("cs101")
	l.Notify = []string{"w"}
	late := func() *calendar {
		half(t, s, &l, false)
		c, _, err := one[calendar](ctx, s, meta, m{"_id": calendarID})
		require.NoError(t, err)
		return &c
	}
	first := late()
	l.Log = append(l.Log, core.LeaseNote{Number: 2, Event: core.EventLeaseUpdated})
	_, err := s.calendarRevision(ctx)
	require.NoError(t, err)
	second := late()
	revision, err := s.calendarRevision(ctx)
	require.NoError(t, err)
	told, err := s.Outbox(ctx, 10)
	require.NoError(t, err)
	require.Len(t, told, 2)
	require.NoError(t, s.Sent(ctx, told))
	_, err = s.DeleteLease(ctx, revision, l.ID, core.LeaseNote{Event: core.EventLeaseDeleted})
	require.NoError(t, err)
	for _, c := range []*calendar{first, second} {
		require.NoError(t, s.forward(ctx, c))
	}
	_, err = s.GetLease(ctx, l.ID)
	require.True(t, core.Is(err, core.CodeNotFound))
	got, err := s.ToldLease(ctx, l.ID)
	require.NoError(t, err)
	require.Equal(t, 3, got.LastNote())
	told, err = s.Outbox(ctx, 10)
	require.NoError(t, err)
	require.Equal(t, []core.Notice{{Event: core.EventLeaseDeleted, Key: core.Key(l.ID, 3)}}, told)
}
