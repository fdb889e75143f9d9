package staff

import (
	"net/url"

	"drover/core"
	"drover/core/classes"
	"drover/web/page"
)

func (s *staff) auditRoutes() []page.Route {
	return []page.Route{{Pattern: "GET /classes/{class}/audit", Action: core.ActAuditView, Serve: s.audit}}
}

// auditRows is how many entries a page has.
const auditRows = 100

// auditPage lists entries of a class's audit log.
type auditPage struct {
	Class        classes.ClassEntry
	AuditEntries []core.AuditEntry
	Next         string
	Typed        url.Values
}

func (s *staff) audit(r *page.Request) error {
	p := auditPage{Typed: r.URL.Query()}
	var err error
	if p.Class, err = s.Classes.ViewClass(r.Context(), r.Actor(), r.PathValue("class")); err != nil {
		return err
	}
	p.AuditEntries, err = s.Classes.AuditEntries(r.Context(), r.Actor(), core.AuditFilter{
		Class: p.Class.Handle, Actor: p.Typed.Get("actor"), Subject: p.Typed.Get("subject"), Before: p.Typed.Get("before"), Limit: auditRows,
	})
	if err != nil {
		return r.Again(err, "staff/audit", p)
	}
	if len(p.AuditEntries) == auditRows {
		p.Typed.Set("before", p.AuditEntries[auditRows-1].ID)
		p.Next = "?" + p.Typed.Encode()
	}
	return r.Render("staff/audit", p)
}
