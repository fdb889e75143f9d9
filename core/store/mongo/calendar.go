package mongo

import (
	"context"

	"drover/core"
)

// The leases' revision and the last write of one of them are in one document, the calendar, which one conditional change
// decides. Each read and write first makes a write that is still there in the lease's own document:
//
//	a call dies after                  leaves                          healed by
//	the change of the calendar         the write, in the calendar      the next read or write of leases
//	the write of the lease's document  the same, and the document      the same: the write is not made twice, for the
//	                                                                   document has the revision of the calendar
//
// For the same reason a call that stops here for long and then goes on changes nothing that was written since. Only the
// first write of a lease makes a document, and a deleted lease keeps its own until it is purged: so that call does not
// bring back what was deleted since either.

// calendar is the calendar's document.
type calendar struct {
	ID       string       `bson:"_id"`
	Revision int64        `bson:"revision"`
	Pending  *leasedWrite `bson:"pending,omitempty"`
}

const calendarID = "calendar" // in meta

// leasedWrite is a write of a lease.
type leasedWrite struct {
	Lease leased   `bson:"lease"`
	Fresh bool     `bson:"fresh,omitempty"` // it is the first one of the lease
	Notes []string `bson:"notes,omitempty"` // that it adds to the outbox
	Since string   `bson:"since,omitempty"` // orders them among others
}

// foundCalendar makes the calendar's document.
func foundCalendar(ctx context.Context, s *Store) error {
	_, err := s.insert(ctx, meta, calendar{ID: calendarID, Revision: 1})
	return err
}

// calendarRevision returns the calendar's revision, after making its last write.
func (s *Store) calendarRevision(ctx context.Context) (int64, error) {
	c, found, err := one[calendar](ctx, s, meta, m{"_id": calendarID})
	if err == nil && !found {
		err = core.Errorf(core.CodeInvalid, s.name, "result store %s has lost the revision of its leases: restore a backup", s.name)
	}
	if err == nil && c.Pending != nil {
		err = s.forward(ctx, &c)
	}
	return c.Revision, err
}

// forward makes the last write of the calendar, which others may be making at the same time, or have made.
func (s *Store) forward(ctx context.Context, c *calendar) error {
	if err := s.makeWrite(ctx, c); err != nil {
		return err
	}
	_, err := s.change(ctx, meta, m{"_id": calendarID, "revision": c.Revision}, m{"$unset": m{"pending": ""}})
	return err
}

func (s *Store) makeWrite(ctx context.Context, c *calendar) error {
	w := c.Pending
	if w.Fresh {
		doc := w.Lease
		doc.Revision, doc.Untold, doc.Since = c.Revision, w.Notes, w.Since
		_, err := s.insert(ctx, leases, doc) // it may be there
		return err
	}
	how := m{"$set": m{
		"class": w.Lease.Class, "state": w.Lease.State, "start": w.Lease.Start, "end": w.Lease.End, "ended": w.Lease.Ended,
		"open": w.Lease.Open, "gone": w.Lease.Gone, "json": w.Lease.JSON, "revision": c.Revision,
	}}
	if len(w.Notes) > 0 {
		how["$push"], how["$min"] = m{"outbox": m{"$each": w.Notes}}, m{"outbox_at": w.Since}
	}
	_, err := s.change(ctx, leases, m{"_id": w.Lease.ID, "revision": m{"$lt": c.Revision}}, how)
	return err
}

// writeLease decides on a write by changing the calendar from its revision, and makes it. Returns CONFLICT if the
// calendar has another one.
func (s *Store) writeLease(ctx context.Context, revision int64, w leasedWrite) (int64, error) {
	if len(w.Notes) > 0 {
		w.Since = since(s.now())
	}
	c := calendar{ID: calendarID, Revision: revision + 1, Pending: &w}
	is, err := s.change(ctx, meta, m{"_id": calendarID, "revision": revision, "pending": absent}, m{"$set": m{"revision": c.Revision, "pending": w}})
	if err == nil && !is {
		err = core.StaleCalendar(w.Lease.ID)
	}
	if err != nil {
		return 0, err
	}
	_ = s.forward(ctx, &c) // it is decided: who reads next makes it
	return c.Revision, nil
}
