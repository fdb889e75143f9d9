package mongo

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"drover/core"
	"drover/core/store/bounds"
)

// leased is the document of a lease. Those of a deleted one are kept for those who are still to be told of it.
type leased struct {
	ID       string          `bson:"_id"`
	Class    string          `bson:"class"`
	State    core.LeaseState `bson:"state"`
	Start    int64           `bson:"start"`
	End      int64           `bson:"end"`
	Ended    int64           `bson:"ended"`              // when it ended or was deleted
	Open     bool            `bson:"open"`               // it is in the calendar
	Gone     bool            `bson:"gone"`               // it was deleted
	Revision int64           `bson:"revision,omitempty"` // of the calendar, after its last write
	JSON     string          `bson:"json"`
	Untold   []string        `bson:"outbox,omitempty"`    // notes of which somebody is still to be notified, see untold
	Since    string          `bson:"outbox_at,omitempty"` // as of requests and tasks
}

func leasedOf(l *core.Lease, doc []byte) leased {
	return leased{ID: l.ID, Class: l.Class, State: l.State, Start: l.Start, End: l.End, Ended: l.Ended, Open: l.State.Open(), JSON: string(doc)}
}

// untold is how the outbox names notes of a lease that names webhooks.
func untold(l *core.Lease, notes []core.LeaseNote) []string {
	if len(l.Notify) == 0 {
		return nil
	}
	all := make([]string, len(notes))
	for i, n := range notes {
		all[i] = untoldNote(n.Event, n.Number)
	}
	return all
}

func untoldNote(event string, number int) string { return fmt.Sprintf("%s %d", event, number) }

// noticeOf is the reverse of untold.
func noticeOf(lease, text string) core.Notice {
	event, number, _ := strings.Cut(text, " ")
	n, _ := strconv.Atoi(number) // untold wrote it
	return core.Notice{Event: event, Key: core.Key(lease, n)}
}

// Calendar returns the open leases, see core.Leases.
func (s *Store) Calendar(ctx context.Context, known int64) (core.Calendar, error) {
	for {
		revision, err := s.calendarRevision(ctx)
		if err != nil || revision == known {
			return core.Calendar{Revision: revision}, err
		}
		docs, err := some[leased](ctx, s, leases, m{"open": true}, by("start", "_id"), 0, "json")
		if err != nil {
			return core.Calendar{}, err
		}
		now, _, err := one[calendar](ctx, s, meta, m{"_id": calendarID}, "revision")
		if err != nil {
			return core.Calendar{}, err
		}
		if now.Revision != revision {
			continue // some may have been read after a write, and some before it
		}
		all, err := readLeases(docs)
		return core.Calendar{Revision: revision, Leases: all}, err
	}
}

func readLeases(docs []leased) ([]core.Lease, error) {
	all := make([]core.Lease, len(docs))
	for i, doc := range docs {
		if err := decode(doc.JSON, &all[i], doc.ID); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// PutLease creates or replaces a lease, see core.Leases.
func (s *Store) PutLease(ctx context.Context, revision int64, l core.Lease) (int64, error) {
	doc, err := bounds.Lease(&l)
	if err != nil {
		return 0, err
	}
	if err := s.current(ctx, l.ID, revision); err != nil {
		return 0, err
	}
	was, gone, err := s.anyLease(ctx, l.ID)
	if err == nil && gone {
		err = core.LeaseTaken(l.ID)
	}
	if err != nil {
		return 0, err
	}
	if err := l.CheckMove(was); err != nil {
		return 0, err
	}
	notes := l.Log
	if was != nil {
		notes = l.NotesAfter(was.LastNote())
	} else if err := s.room(ctx, core.LeaseQuota, l.ID, leases, m{"open": true}); err != nil {
		return 0, err
	}
	return s.writeLease(ctx, revision, leasedWrite{Lease: leasedOf(&l, doc), Fresh: was == nil, Notes: untold(&l, notes)})
}

// DeleteLease removes a lease, see core.Leases.
func (s *Store) DeleteLease(ctx context.Context, revision int64, id string, note core.LeaseNote) (int64, error) {
	if err := s.current(ctx, id, revision); err != nil {
		return 0, err
	}
	was, gone, err := s.anyLease(ctx, id)
	if err == nil && (was == nil || gone) {
		err = core.NoLease(id)
	}
	if err != nil {
		return 0, err
	}
	l, doc, err := bounds.Deleted(*was, note)
	if err != nil {
		return 0, err
	}
	w := leasedWrite{Lease: leasedOf(&l, doc), Notes: untold(&l, l.Log[len(l.Log)-1:])}
	w.Lease.Open, w.Lease.Gone, w.Lease.Ended = false, true, max(1, l.Ended, note.At)
	return s.writeLease(ctx, revision, w)
}

// current returns CONFLICT if the calendar has another revision.
func (s *Store) current(ctx context.Context, id string, revision int64) error {
	now, err := s.calendarRevision(ctx)
	if err == nil && now != revision {
		err = core.StaleCalendar(id)
	}
	return err
}

// anyLease returns a lease, nil if there is none, and whether it was deleted.
func (s *Store) anyLease(ctx context.Context, id string) (l *core.Lease, gone bool, err error) {
	doc, found, err := one[leased](ctx, s, leases, m{"_id": id}, "json", "gone")
	if err != nil || !found {
		return nil, false, err
	}
	l = &core.Lease{}
	return l, doc.Gone, decode(doc.JSON, l, id)
}

// GetLease returns a lease, see core.Leases.
func (s *Store) GetLease(ctx context.Context, id string) (core.Lease, error) {
	return s.readLease(ctx, id, false)
}

// ToldLease returns a lease even if it was deleted, see core.Webhooks.
func (s *Store) ToldLease(ctx context.Context, id string) (core.Lease, error) {
	return s.readLease(ctx, id, true)
}

func (s *Store) readLease(ctx context.Context, id string, deleted bool) (core.Lease, error) {
	if _, err := s.calendarRevision(ctx); err != nil {
		return core.Lease{}, err
	}
	l, gone, err := s.anyLease(ctx, id)
	if err == nil && (l == nil || gone && !deleted) {
		err = core.NoLease(id)
	}
	if err != nil {
		return core.Lease{}, err
	}
	return *l, nil
}

// ListLeases lists leases, see core.Leases.
func (s *Store) ListLeases(ctx context.Context, f core.LeaseFilter) ([]core.Lease, error) {
	limit, err := bounds.Leases(f)
	if err != nil {
		return nil, err
	}
	if _, err := s.calendarRevision(ctx); err != nil {
		return nil, err
	}
	which := selection(map[string]string{"class": f.Class})
	which["gone"] = false
	if len(f.States) > 0 {
		which["state"] = m{"$in": f.States}
	}
	if f.From != 0 {
		which["end"] = m{"$gt": f.From}
	}
	if f.To != 0 {
		which["start"] = m{"$lt": f.To}
	}
	if f.Before != "" {
		which["_id"] = m{"$lt": f.Before}
	}
	docs, err := some[leased](ctx, s, leases, which, by("-_id"), limit, "json")
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	return readLeases(docs)
}

// textNotices returns the notices of leases or comments in the outbox, oldest first.
func (s *Store) textNotices(ctx context.Context, in string, limit int) ([]dated, error) {
	docs, err := some[leased](ctx, s, in, m{"outbox_at": m{"$gt": ""}}, by("outbox_at"), limit, "outbox", "outbox_at")
	if err != nil {
		return nil, err
	}
	var all []dated
	for _, doc := range docs {
		for _, text := range doc.Untold {
			all = append(all, dated{doc.Since, noticeOf(doc.ID, text)})
		}
	}
	return all, nil
}

// purgeLeases deletes at most limit leases that ended, or were deleted, before a time.
func (s *Store) purgeLeases(ctx context.Context, before int64, limit int) (int, error) {
	old := m{"ended": m{"$gt": 0, "$lt": before}, "outbox_at": absent}
	docs, err := some[leased](ctx, s, leases, old, by("ended", "_id"), limit, "_id")
	if err != nil || len(docs) == 0 {
		return 0, err
	}
	ids := make([]string, len(docs))
	for i := range docs {
		ids[i] = docs[i].ID
	}
	old["_id"] = m{"$in": ids}
	return s.remove(ctx, leases, old)
}
