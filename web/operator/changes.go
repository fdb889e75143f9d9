package operator

import (
	"net/url"

	"drover/core"
	"drover/web/page"
)

// changesRows is how many changes of state a page shows.
const changesRows = 50

// changes is a page of changes of state.
type changes struct {
	Rows  []changeRow
	Older bool   // it is not the newest
	Next  string // URL of the next page
}

type changeRow struct {
	core.StateChange

	URL string // of the page of what it changed with: a request's VM, a VM's request; "" if there is none
}

// rowOf returns a change with what it leads to.
func rowOf(c core.StateChange) changeRow {
	row := changeRow{StateChange: c}
	if c.Kind == core.EntityRequest && c.With != "" {
		row.URL = "/cluster/vms/" + c.With
	} else if id, _, err := core.ParseKey(c.With); c.Kind == core.EntityVM && err == nil {
		row.URL = "/cluster/requests/" + id
	}
	return row
}

// changesOf returns the page of changes that was asked for.
func changesOf(r *page.Request, read func(before string) ([]core.StateChange, error)) (changes, error) {
	before := r.URL.Query().Get("before")
	rows, err := read(before)
	c := changes{Older: before != ""}
	for i := range rows {
		c.Rows = append(c.Rows, rowOf(rows[i]))
	}
	if len(rows) == changesRows {
		c.Next = "?" + url.Values{"before": {rows[changesRows-1].Place()}}.Encode() + "#changes"
	}
	return c, err
}

// changesOfThing returns the page of changes of a VM or host.
func (s *pages) changesOfThing(r *page.Request, kind core.Entity, thing string) (changes, error) {
	return changesOf(r, func(before string) ([]core.StateChange, error) {
		return s.Cluster.Changes(r.Context(), r.Actor(), core.StateChangeFilter{Kind: kind, Thing: thing, Before: before, Limit: changesRows})
	})
}

// vmData is what a VM's page shows.
type vmData struct {
	VM      string
	Changes changes
}

// vm shows what happened to a VM, also after it is gone.
func (s *pages) vm(r *page.Request) error {
	d := vmData{VM: r.PathValue("vm")}
	if err := s.Cluster.Watch(r.Actor()); err != nil {
		return err
	}
	if err := core.CheckName("vm", d.VM); err != nil {
		return err
	}
	var err error
	if d.Changes, err = s.changesOfThing(r, core.EntityVM, d.VM); err != nil {
		return err
	}
	return r.Render("operator/vm", d)
}
