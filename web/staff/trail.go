package staff

import (
	"net/url"

	"drover/core"
	"drover/core/coursework"
	"drover/web/page"
)

func (s *staff) trailRoutes() []page.Route {
	return []page.Route{{Pattern: "GET /classes/{class}/trail", Action: core.ActTrailView, Serve: s.trail}}
}

// trailRows is how many entries a page has.
const trailRows = 100

// trailPage says who did what in a class.
type trailPage struct {
	Class coursework.ClassEntry
	Deeds []core.Deed
	Next  string
	Typed url.Values
}

func (s *staff) trail(r *page.Request) error {
	p := trailPage{Typed: r.URL.Query()}
	var err error
	if p.Class, err = s.Registrar.ViewClass(r.Context(), r.Actor(), r.PathValue("class")); err != nil {
		return err
	}
	p.Deeds, err = s.Registrar.Deeds(r.Context(), r.Actor(), core.TrailFilter{
		Class: p.Class.Handle, Actor: p.Typed.Get("actor"), Subject: p.Typed.Get("subject"), Before: p.Typed.Get("before"), Limit: trailRows,
	})
	if err != nil {
		return r.Again(err, "staff/trail", p)
	}
	if len(p.Deeds) == trailRows {
		p.Typed.Set("before", p.Deeds[trailRows-1].ID)
		p.Next = "?" + p.Typed.Encode()
	}
	return r.Render("staff/trail", p)
}
