package staff

import (
	"net/url"

	"drover/core"
	"drover/web/calendar"
	"drover/web/page"
)

func (s *staff) leaseRoutes() []page.Route {
	return []page.Route{{Pattern: "GET /classes/{class}/leases", Action: core.ActLeaseView, Serve: s.leases}}
}

// leasesOnPage is how many leases a page lists.
const leasesOnPage = 50

// leasesPage shows the leases of a class. Operators see it of any class.
type leasesPage struct {
	Class    string
	Calendar *calendar.Calendar // nil if the reader may not see one
	Items    []calendar.Item
	Next     string
}

func (s *staff) leases(r *page.Request) error {
	p := leasesPage{Class: r.PathValue("class")}
	if err := may(r, core.ActLeaseView, p.Class); err != nil {
		if _, hidden := s.Classes.ViewClass(r.Context(), r.Actor(), p.Class); hidden != nil {
			return hidden
		}
		return err
	}
	of, err := s.LeaseService()
	if err != nil {
		return err
	}
	found, err := of.List(r.Context(), r.Actor(), core.LeaseFilter{Class: p.Class, Before: r.FormValue("before"), Limit: leasesOnPage})
	if err != nil {
		return err
	}
	p.Items = calendar.Items(found)
	if len(found) == leasesOnPage {
		p.Next = "?" + url.Values{"before": {found[len(found)-1].ID}}.Encode()
	}
	w, err := calendar.Chosen(r)
	if err != nil {
		return err
	}
	w.Pool = ""
	v, err := of.View(r.Context(), r.Actor(), w.From(), w.To(), "")
	switch {
	case err == nil:
		p.Calendar = calendar.Draw(r, &v, w, classPath(p.Class)+"/leases", nil)
	case !core.Is(err, core.CodeForbidden):
		return err
	}
	return r.Render("staff/leases", p)
}
