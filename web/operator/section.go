package operator

import (
	"embed"
	"slices"

	"drover/core"
	"drover/core/harness"
	"drover/web/page"
	"drover/web/services"
)

//go:embed pages/*.html
var files embed.FS

// pages are made from the site's parts.
type pages struct{ services.Deps }

// Section returns the pages of the cluster.
func Section(p services.Deps) page.Section {
	s := &pages{p}
	view := func(path string, serve func(*page.Request) error) page.Route {
		return page.Route{Pattern: "GET " + path, Action: core.ActClusterView, Serve: serve}
	}
	do := func(path string, serve func(*page.Request) error) page.Route {
		return page.Route{Pattern: "POST " + path, Action: core.ActClusterOperate, Serve: serve}
	}
	plan := func(method, path string, serve func(*page.Request) error) page.Route {
		return page.Route{Pattern: method + " " + path, Action: core.ActSchedule, Serve: serve}
	}
	return page.Section{Name: "operator", Pages: files, Routes: slices.Concat(s.leaseRoutes(), []page.Route{
		view("/cluster", s.cluster),
		view("/cluster/hosts", s.hosts),
		view("/cluster/hosts/{host}", s.host),
		do("/cluster/hosts/{host}/settings", s.setHost),
		do("/cluster/hosts/{host}/drain", s.drain),
		do("/cluster/hosts/{host}/evacuate", s.evacuate),
		do("/cluster/hosts/{host}/undrain", s.undrain),
		do("/cluster/hosts/{host}/trust", s.trust),
		do("/cluster/hosts/{host}/report", s.report),
		do("/cluster/hosts/{host}/forget", s.forget),
		view("/cluster/vms/{vm}", s.vm),
		view("/cluster/pools", s.pools),
		do("/cluster/pools", s.makePool),
		view("/cluster/pools/{pool}", s.pool),
		do("/cluster/pools/{pool}", s.setPool),
		do("/cluster/pools/{pool}/pause", s.pausePool),
		do("/cluster/pools/{pool}/remove", s.removePool),
		view("/cluster/types", s.types),
		do("/cluster/types", s.makeType),
		view("/cluster/types/{type}", s.jobType),
		do("/cluster/types/{type}", s.setType),
		{Pattern: "POST /cluster/types/{type}/harness", Action: core.ActClusterOperate, Body: harness.MaxPackBytes + page.MaxForm, Serve: s.setTypeHarness},
		do("/cluster/types/{type}/harness/remove", s.removeTypeHarness),
		do("/cluster/types/{type}/delete", s.deleteType),
		view("/cluster/instances", s.instances),
		do("/cluster/instances/{instance}/terminate", s.terminateInstance),
		do("/cluster/host-groups/{group}/pause", s.pauseGroup),
		view("/cluster/images", s.images),
		view("/cluster/queues", s.queues),
		view("/cluster/requests/{id}", s.request),
		{Pattern: "POST /cluster/requests/{id}/retry", Action: core.ActRequestControl, Serve: s.retryRequest},
		do("/cluster/requests/{id}/drop", s.dropRequest),
		{Pattern: "POST /cluster/requests/{id}/change", Action: core.ActRequestControl, Serve: s.changeRequest},
		{Pattern: "POST /cluster/requests/{id}/cancel", Action: core.ActRequestControl, Serve: s.cancelRequest},
		view("/cluster/dead", s.dead),
		view("/cluster/parked", s.parked),
		{Pattern: "GET /cluster/tasks", Action: core.ActClusterView, Serve: s.tasks},
		{Pattern: "POST /cluster/tasks/{id}/cancel", Action: core.ActTaskControl, Serve: s.cancelTask},
		{Pattern: "POST /cluster/tasks/{id}/retry", Action: core.ActTaskControl, Serve: s.retryTask},
		plan("GET", "/cluster/schedules", s.schedules),
		plan("POST", "/cluster/schedules", s.setSchedule),
		plan("POST", "/cluster/schedules/{name}/run", s.runSchedule),
		plan("POST", "/cluster/schedules/{name}/remove", s.removeSchedule),
		view("/cluster/stats", s.stats),
		view("/cluster/consistency", s.consistency),
		{Pattern: "GET /cluster/audit", Action: core.ActAuditView, Serve: s.audit},
		view("/cluster/events", s.events),
	})}
}

// mayOperate returns FORBIDDEN for a caller who may not operate the cluster, before the form is read.
func mayOperate(r *page.Request) error {
	return core.Allow(r.Actor(), core.ActClusterOperate, core.Object{})
}

// sure returns FORBIDDEN for a caller who may not operate the cluster, and INVALID unless the form's confirmation was
// ticked.
func sure(r *page.Request) error {
	if err := mayOperate(r); err != nil {
		return err
	}
	if r.FormValue("sure") != "yes" {
		return core.Errorf(core.CodeInvalid, "sure", "%s", r.T("This cannot be undone: tick the box to confirm."))
	}
	return nil
}
