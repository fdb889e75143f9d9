package sqlite

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
	_, err = commit(ctx, s.committer, d.ID, len(doc), func(t *tx) (int, error) {
		return t.exec("INSERT INTO audit_log (id, class, actor, subject, doc) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", d.ID, d.Class, d.Actor, d.Subject, doc)
	})
	return err
}

// ListAuditEntries returns a page of the audit log, see core.AuditLog.
func (s *Store) ListAuditEntries(ctx context.Context, f core.AuditFilter) ([]core.AuditEntry, error) {
	limit, err := bounds.AuditEntries(f)
	if err != nil {
		return nil, err
	}
	query, args := selection("SELECT doc FROM audit_log", []condition{
		{"class = ?", f.Class}, {"actor = ?", f.Actor}, {"subject = ?", f.Subject}, {"id < ?", f.Before},
	})
	return documents[core.AuditEntry](ctx, s, query+" ORDER BY id DESC LIMIT ?", append(args, limit)...)
}
