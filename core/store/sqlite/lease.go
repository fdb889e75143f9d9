package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"drover/core"
	"drover/core/store/bounds"
)

// calendar reads the revision and the open leases at one moment; no leases if it is the known revision, by looking for
// those of a kind that there is not.
const calendar = `SELECT c.revision, l.doc FROM calendar c LEFT JOIN leases l ON l.open = CASE c.revision WHEN ? THEN 2 ELSE 1 END
	WHERE c.one = 1 ORDER BY l.start, l.id`

// Calendar returns the open leases, see core.Leases.
func (s *Store) Calendar(ctx context.Context, known int64) (core.Calendar, error) {
	var c core.Calendar
	err := s.rows(ctx, calendar, []any{known}, func(rows *sql.Rows) error {
		var doc sql.RawBytes
		if err := rows.Scan(&c.Revision, &doc); err != nil || doc == nil {
			return err
		}
		var l core.Lease
		err := decode(doc, &l, "a lease")
		c.Leases = append(c.Leases, l)
		return err
	})
	if c.Leases == nil && c.Revision != known {
		c.Leases = []core.Lease{}
	}
	return c, err
}

// PutLease creates or replaces a lease, see core.Leases.
func (s *Store) PutLease(ctx context.Context, revision int64, l core.Lease) (int64, error) {
	doc, err := bounds.Lease(&l)
	if err != nil {
		return 0, err
	}
	return commit(ctx, s.committer, l.ID, len(doc), func(t *tx) (int64, error) {
		was, err := t.lease(l.ID, revision)
		if err != nil {
			return 0, err
		}
		if err := l.CheckMove(was); err != nil {
			return 0, err
		}
		if was == nil {
			if err := t.room(core.LeaseQuota, l.ID, "SELECT count(*) FROM leases WHERE open = 1"); err != nil {
				return 0, err
			}
		}
		notes := l.Log
		if was != nil {
			notes = l.NotesAfter(was.LastNote())
		}
		return revision + 1, t.writeLease(revision, &l, doc, notes, 0)
	})
}

// DeleteLease removes a lease, see core.Leases.
func (s *Store) DeleteLease(ctx context.Context, revision int64, id string, note core.LeaseNote) (int64, error) {
	if err := core.CheckName("lease id", id); err != nil {
		return 0, err
	}
	return commit(ctx, s.committer, id, 0, func(t *tx) (int64, error) {
		was, err := t.lease(id, revision)
		if core.Is(err, core.CodeConflict) && was != nil || err == nil && was == nil {
			err = core.NoLease(id)
		}
		if err != nil {
			return 0, err
		}
		l, doc, err := bounds.Deleted(*was, note)
		if err != nil {
			return 0, err
		}
		return revision + 1, t.writeLease(revision, &l, doc, l.Log[len(l.Log)-1:], max(1, note.At))
	})
}

// lease returns a lease as it is, nil for none. Returns CONFLICT if the calendar has another revision, and then with the
// lease if that was deleted.
func (t *tx) lease(id string, revision int64) (*core.Lease, error) {
	var now int64
	if err := t.one("SELECT revision FROM calendar WHERE one = 1", nil, &now); err != nil {
		return nil, err
	}
	if now != revision {
		return nil, core.StaleCalendar(id)
	}
	var doc []byte
	var deleted bool
	err := t.one("SELECT doc, deleted FROM leases WHERE id = ?", []any{id}, &doc, &deleted)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var l core.Lease
	if err := decode(doc, &l, id); err != nil {
		return nil, err
	}
	if deleted {
		return &l, core.LeaseTaken(id)
	}
	return &l, nil
}

// writeLease writes a lease with its new notes. Deleted is when it was deleted, in ms since 1970, or 0.
func (t *tx) writeLease(revision int64, l *core.Lease, doc []byte, notes []core.LeaseNote, deleted int64) error {
	if _, err := t.exec("UPDATE calendar SET revision = ? WHERE one = 1", revision+1); err != nil {
		return err
	}
	open, ended := l.State.Open() && deleted == 0, max(l.Ended, deleted)
	if _, err := t.exec(`INSERT INTO leases (id, class, state, start, finish, ended, open, deleted, doc) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
		ON CONFLICT DO UPDATE SET class = ?2, state = ?3, start = ?4, finish = ?5, ended = ?6, open = ?7, deleted = ?8, doc = ?9`,
		l.ID, l.Class, l.State, l.Start, l.End, ended, open, deleted > 0, doc); err != nil {
		return err
	}
	if len(l.Notify) == 0 {
		return nil
	}
	for _, n := range notes {
		if err := t.tell(n.Event, l.ID, n.Number); err != nil {
			return err
		}
	}
	return nil
}

// GetLease returns a lease, see core.Leases.
func (s *Store) GetLease(ctx context.Context, id string) (core.Lease, error) {
	return single[core.Lease](ctx, s, core.NoLease(id), "SELECT doc FROM leases WHERE id = ? AND deleted = 0", id)
}

// ToldLease returns a lease even if it was deleted, see core.Webhooks.
func (s *Store) ToldLease(ctx context.Context, id string) (core.Lease, error) {
	return single[core.Lease](ctx, s, core.NoLease(id), "SELECT doc FROM leases WHERE id = ?", id)
}

// ListLeases lists leases, see core.Leases.
func (s *Store) ListLeases(ctx context.Context, f core.LeaseFilter) ([]core.Lease, error) {
	limit, err := bounds.Leases(f)
	if err != nil {
		return nil, err
	}
	where, args := []string{"deleted = 0"}, []any{}
	if f.Class != "" {
		where, args = append(where, "class = ? AND class <> ''"), append(args, f.Class)
	}
	if len(f.States) > 0 {
		where, args = append(where, oneOf("state", len(f.States))), appendAll(args, f.States)
	}
	if f.From != 0 {
		where, args = append(where, "finish > ?"), append(args, f.From)
	}
	if f.To != 0 {
		where, args = append(where, "start < ?"), append(args, f.To)
	}
	if f.Before != "" {
		where, args = append(where, "id < ?"), append(args, f.Before)
	}
	return documents[core.Lease](ctx, s, "SELECT doc FROM leases WHERE "+strings.Join(where, " AND ")+" ORDER BY id DESC LIMIT ?", append(args, limit)...)
}

// oneOf is a condition that a column has one of so many values.
func oneOf(column string, values int) string {
	return column + " IN (?" + strings.Repeat(", ?", values-1) + ")"
}

func appendAll[T any](args []any, values []T) []any {
	for _, v := range values {
		args = append(args, v)
	}
	return args
}
