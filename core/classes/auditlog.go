package classes

import (
	"context"

	"drover/core"
)

// AuditEntries lists entries of the audit log, newest first: those of one class for its teachers, all for admins.
// Returns NOTFOUND, FORBIDDEN, INVALID.
func (r *Service) AuditEntries(ctx context.Context, a core.Actor, f core.AuditFilter) ([]core.AuditEntry, error) {
	if err := r.mayReadAuditLog(ctx, a, f.Class); err != nil {
		return nil, err
	}
	return r.Store.ListAuditEntries(ctx, f)
}

// mayReadAuditLog checks the right to a class's entries. They outlive the class, but then only for admins.
func (r *Service) mayReadAuditLog(ctx context.Context, a core.Actor, class string) error {
	if class == "" || core.Allow(a, core.ActAuditView, core.Object{}) == nil {
		return core.Allow(a, core.ActAuditView, core.Object{})
	}
	_, err := r.class(ctx, a, class, core.ActAuditView)
	return err
}
