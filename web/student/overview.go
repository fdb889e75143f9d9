package student

import (
	"drover/core"
	"drover/core/classes"
	"drover/web/page"
)

// overviews is how many classes the home of staff tells more of.
const overviews = 8

// overview returns a class at a glance for its staff; nil for others.
func (d *student) overview(r *page.Request, class string) (*classes.Overview, error) {
	if core.Allow(r.Actor(), core.ActGradeView, core.Object{Class: class}) != nil {
		return nil, nil //nolint:nilnil,nilerr // students have none
	}
	o, err := d.deps.Classes.Overview(r.Context(), r.Actor(), class)
	return &o, err
}

// glances returns the first of the classes that the reader teaches at a glance, by their handles; for an admin also the
// only class that there is.
func (d *student) glances(r *page.Request, all []classes.ClassEntry) (map[string]*classes.Overview, error) {
	some := map[string]*classes.Overview{}
	for _, c := range all {
		alone := len(all) == 1 && core.Allow(r.Actor(), core.ActClassEdit, core.Object{Class: c.Handle}) == nil
		if !c.Role.Staff() && !alone || len(some) == overviews {
			continue
		}
		o, err := d.overview(r, c.Handle)
		if err != nil {
			return nil, err
		}
		if o != nil {
			some[c.Handle] = o
		}
	}
	return some, nil
}
