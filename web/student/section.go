package student

import (
	"embed"
	"net/http"

	"drover/core"
	"drover/web/page"
	"drover/web/services"
	"drover/web/transfer"
)

//go:embed pages/*.html
var files embed.FS

// student serves the pages by the site's services.
type student struct {
	deps services.Deps
}

// Section returns the students' pages.
func Section(p services.Deps) page.Section {
	d := &student{p}
	return page.Section{Name: "student", Pages: files, Routes: []page.Route{
		{Pattern: "GET /{$}", Serve: d.home},
		{Pattern: "GET /classes/{class}", Action: core.ActClassView, Serve: d.class},
		{Pattern: "GET /classes/{class}/assignments/{assignment}", Action: core.ActAssignmentView, Serve: d.assignment},
		{Pattern: "GET /classes/{class}/assignments/{assignment}/handout/{path...}", Action: core.ActAssignmentView, Serve: d.handoutFile},
		{Pattern: "GET /classes/{class}/assignments/{assignment}/samples.zip", Action: core.ActAssignmentView, Serve: d.zipSamples},
		{Pattern: "POST /classes/{class}/assignments/{assignment}", Action: core.ActSubmit, Body: transfer.MaxBody, Serve: d.submitTo},
		{Pattern: "POST /classes/{class}/assignments/{assignment}/git", Action: core.ActSubmit, Serve: d.submitGit},
		{Pattern: "GET /submissions/{id}", Action: core.ActSubmissionView, Serve: d.submission},
		{Pattern: "POST /submissions/{id}/resubmit", Action: core.ActSubmissionRerun, Serve: d.resubmit},
		{Pattern: "POST /submissions/{id}/cancel", Action: core.ActSubmissionRerun, Serve: d.cancel},
		{Pattern: "GET /submissions/{id}/zip", Action: core.ActSubmissionView, Serve: d.zip},
		{Pattern: "GET /submissions/{id}/code", Action: core.ActSubmissionView, Serve: d.code},
		{Pattern: "GET /submissions/{id}/compare", Action: core.ActSubmissionView, Serve: d.compare},
		{Pattern: "GET /submissions/{id}/comments", Action: core.ActSubmissionView, Serve: d.comments},
		{Pattern: "POST /submissions/{id}/comments", Action: core.ActComment, Serve: d.addComment},
		{Pattern: "POST /submissions/{id}/comments/{comment}", Action: core.ActComment, Serve: d.editComment},
		{Pattern: "POST /submissions/{id}/comments/{comment}/delete", Action: core.ActComment, Serve: d.deleteComment},
		{Pattern: "POST /submissions/{id}/ask", Action: core.ActAsk, Serve: d.askAbout},
		{Pattern: "POST /submissions/{id}/answer", Action: core.ActComment, Serve: d.answer},
		{Pattern: "POST /submissions/{id}/release", Action: core.ActComment, Serve: d.release},
		{Pattern: "POST /classes/{class}/assignments/{assignment}/release-comments", Action: core.ActGradeChange, Serve: d.releaseAll},
		{Pattern: "GET /submissions/{id}/files/{path...}", Action: core.ActSubmissionView, Serve: d.codeFile},
		{Pattern: "GET /requests", Serve: d.requests},
		{Pattern: "GET /requests/new", Action: core.ActRequestCreate, Serve: d.ask},
		{Pattern: "POST /requests", Action: core.ActRequestCreate, Body: transfer.MaxBody, Serve: d.askFor},
		{Pattern: "GET /requests/{id}", Action: core.ActRequestView, Serve: d.request},
		{Pattern: "GET /requests/{id}/files/{path...}", Action: core.ActRequestView, Serve: d.requestFile},
		{Pattern: "POST /requests/{id}/cancel", Action: core.ActRequestControl, Serve: d.cancelRequest},
		{Pattern: "POST /requests/{id}/rerun", Action: core.ActRequestControl, Serve: d.rerunRequest},
		{Pattern: "POST /requests/{id}/replay", Action: core.ActRequestView, Serve: d.replayRequest},
		{Pattern: "GET /batches", Serve: d.batches},
		{Pattern: "GET /batches/{id}", Action: core.ActRequestView, Serve: d.batch},
		{Pattern: "GET /batches/{id}/results.json", Action: core.ActRequestView, Serve: d.batchJSON},
		{Pattern: "GET /batches/{id}/results.csv", Action: core.ActRequestView, Serve: d.batchCSV},
		{Pattern: "POST /batches/{id}/cancel", Action: core.ActRequestControl, Serve: d.cancelBatch},
		{Pattern: "POST /batches/{id}/rerun", Action: core.ActRequestControl, Serve: d.rerunBatch},
		{Pattern: "GET /tasks", Serve: d.tasks},
		{Pattern: "GET /tasks/{id}", Action: core.ActTaskView, Serve: d.task},
		{Pattern: "POST /tasks/{id}/cancel", Action: core.ActTaskControl, Serve: d.cancelTask},
		{Pattern: "POST /tasks/{id}/retry", Action: core.ActTaskControl, Serve: d.retryTask},
		{Pattern: "GET /tasks/{id}/download", Action: core.ActTaskDownload, Serve: d.download},
		{Pattern: "POST /classes/{class}/assignments/{assignment}/own-archive", Action: core.ActSubmissionView, Serve: d.archive},
	}}
}

// path joins parts of a path: handles and ids need no escaping.
func path(parts ...string) string {
	p := ""
	for _, part := range parts {
		p += "/" + part
	}
	return p
}

// more returns the page's URL with a changed value in its query.
func more(r *http.Request, name, value string) string {
	q := r.URL.Query()
	q.Set(name, value)
	return r.URL.Path + "?" + q.Encode()
}
