package student

import (
	"embed"
	"net/http"

	"drover/core"
	"drover/web/page"
	"drover/web/parts"
	"drover/web/transfer"
)

//go:embed *.html
var pages embed.FS

// desk answers from the parts of the site.
type desk struct {
	parts parts.Parts
}

// Section returns the students' pages.
func Section(p parts.Parts) page.Section {
	d := &desk{p}
	return page.Section{Name: "student", Pages: pages, Routes: []page.Route{
		{Pattern: "GET /{$}", Serve: d.home},
		{Pattern: "GET /classes/{class}", Action: core.ActClassView, Serve: d.class},
		{Pattern: "GET /classes/{class}/assignments/{assignment}", Action: core.ActAssignmentView, Serve: d.assignment},
		{Pattern: "POST /classes/{class}/assignments/{assignment}", Action: core.ActSubmit, Body: transfer.MaxBody, Serve: d.handIn},
		{Pattern: "GET /submissions/{id}", Action: core.ActSubmissionView, Serve: d.submission},
		{Pattern: "POST /submissions/{id}/resubmit", Action: core.ActSubmissionRerun, Serve: d.resubmit},
		{Pattern: "POST /submissions/{id}/cancel", Action: core.ActSubmissionRerun, Serve: d.cancel},
		{Pattern: "GET /submissions/{id}/zip", Action: core.ActSubmissionView, Serve: d.zip},
		{Pattern: "GET /submissions/{id}/files/{path...}", Action: core.ActSubmissionView, Serve: d.file},
	}}
}

// path joins what names a page: handles and ids need no escaping.
func path(parts ...string) string {
	p := ""
	for _, part := range parts {
		p += "/" + part
	}
	return p
}

// more is the page's own URL with other values of its query.
func more(r *http.Request, pairs ...string) string {
	q := r.URL.Query()
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return r.URL.Path + "?" + q.Encode()
}
