package coursework

import (
	"context"

	"drover/core"
)

// Deeds lists entries of the audit trail, newest first: of one class for its
// teachers, all for admins. Returns NOTFOUND, FORBIDDEN, INVALID.
func (r *Registrar) Deeds(ctx context.Context, a core.Actor, f core.TrailFilter) ([]core.Deed, error) {
	if err := r.mayReadTrail(ctx, a, f.Class); err != nil {
		return nil, err
	}
	return r.Store.ListDeeds(ctx, f)
}

// mayReadTrail: that of a class outlives the class, but then only for admins.
func (r *Registrar) mayReadTrail(ctx context.Context, a core.Actor, class string) error {
	if class == "" || core.Allow(a, core.ActTrailView, core.Object{}) == nil {
		return core.Allow(a, core.ActTrailView, core.Object{})
	}
	_, err := r.class(ctx, a, class, core.ActTrailView)
	return err
}
