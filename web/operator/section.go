package operator

import (
	"embed"
	"io/fs"

	"drover/core"
	"drover/web/page"
	"drover/web/parts"
)

//go:embed templates/*.html
var templates embed.FS

// pages are made from the site's parts.
type pages struct{ parts.Parts }

// Section returns the pages of the herd.
func Section(p parts.Parts) page.Section {
	own, err := fs.Sub(templates, "templates")
	if err != nil {
		panic(err) // embedded: cannot be missing
	}
	s := &pages{p}
	view := func(path string, serve func(*page.Request) error) page.Route {
		return page.Route{Pattern: "GET " + path, Action: core.ActHerdView, Serve: serve}
	}
	do := func(path string, serve func(*page.Request) error) page.Route {
		return page.Route{Pattern: "POST " + path, Action: core.ActHerdOperate, Serve: serve}
	}
	plan := func(method, path string, serve func(*page.Request) error) page.Route {
		return page.Route{Pattern: method + " " + path, Action: core.ActSchedule, Serve: serve}
	}
	return page.Section{Name: "operator", Pages: own, Routes: []page.Route{
		view("/herd", s.herd),
		view("/herd/hosts/{host}", s.host),
		do("/herd/hosts/{host}/drain", s.drain),
		do("/herd/hosts/{host}/evacuate", s.evacuate),
		do("/herd/hosts/{host}/undrain", s.undrain),
		do("/herd/hosts/{host}/trust", s.trust),
		do("/herd/hosts/{host}/report", s.report),
		do("/herd/hosts/{host}/forget", s.forget),
		view("/herd/pools", s.pools),
		do("/herd/pools", s.makePool),
		view("/herd/pools/{pool}", s.pool),
		do("/herd/pools/{pool}", s.setPool),
		do("/herd/pools/{pool}/pause", s.pausePool),
		view("/herd/images", s.images),
		view("/herd/queues", s.queues),
		view("/herd/requests/{id}", s.request),
		{Pattern: "POST /herd/requests/{id}/retry", Action: core.ActRequestControl, Serve: s.retryRequest},
		do("/herd/requests/{id}/drop", s.dropRequest),
		{Pattern: "POST /herd/requests/{id}/cancel", Action: core.ActRequestControl, Serve: s.cancelRequest},
		view("/herd/dead", s.dead),
		view("/herd/parked", s.parked),
		view("/herd/leases", s.leases),
		{Pattern: "GET /herd/tasks", Action: core.ActHerdView, Serve: s.tasks},
		{Pattern: "POST /herd/tasks/{id}/cancel", Action: core.ActTaskControl, Serve: s.cancelTask},
		{Pattern: "POST /herd/tasks/{id}/retry", Action: core.ActTaskControl, Serve: s.retryTask},
		plan("GET", "/herd/schedules", s.schedules),
		plan("POST", "/herd/schedules", s.setSchedule),
		plan("POST", "/herd/schedules/{name}/run", s.runSchedule),
		plan("POST", "/herd/schedules/{name}/remove", s.removeSchedule),
		view("/herd/audit", s.audit),
		{Pattern: "GET /herd/trail", Action: core.ActTrailView, Serve: s.trail},
		view("/herd/events", s.events),
	}}
}

// mayOperate returns FORBIDDEN to who may not operate the herd, before a form is looked at.
func mayOperate(r *page.Request) error {
	return core.Allow(r.Actor(), core.ActHerdOperate, core.Object{})
}

// sure returns FORBIDDEN to who may not operate the herd, and INVALID unless the form's
// box that says so was ticked.
func sure(r *page.Request) error {
	if err := mayOperate(r); err != nil {
		return err
	}
	if r.FormValue("sure") != "yes" {
		return core.Errorf(core.CodeInvalid, "sure", "%s", r.T("This cannot be taken back: tick the box that says that you mean it."))
	}
	return nil
}
