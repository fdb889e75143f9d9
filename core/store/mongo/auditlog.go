package mongo

import (
	"context"

	"drover/core"
	"drover/core/store/bounds"
)

// AddAuditEntry adds an entry to the audit log, see core.AuditLog.
func (s *Store) AddAuditEntry(ctx context.Context, d core.AuditEntry) error {
	if err := core.CheckName("id of an entry", d.ID); err != nil {
		return err
	}
	doc, err := encode(d, d.ID)
	if err != nil {
		return err
	}
	_, err = s.insert(ctx, entries, m{"_id": d.ID, "class": d.Class, "actor": d.Actor, "subject": d.Subject, "json": doc})
	return err
}

// ListAuditEntries returns a page of the audit log, see core.AuditLog.
func (s *Store) ListAuditEntries(ctx context.Context, f core.AuditFilter) ([]core.AuditEntry, error) {
	limit, err := bounds.AuditEntries(f)
	if err != nil {
		return nil, err
	}
	which := selection(map[string]string{"class": f.Class, "actor": f.Actor, "subject": f.Subject})
	if f.Before != "" {
		which["_id"] = m{"$lt": f.Before}
	}
	return documents[core.AuditEntry](ctx, s, entries, which, by("-_id"), limit)
}
