// Package staff has the pages of those who teach: classes, rosters, assignments and
// their harnesses, grades, extensions and reruns. What a page may show or do is the
// the service's to say; a page only leaves out what its reader would be refused.
package staff

import (
	"embed"
	"net/url"
	"slices"

	"drover/core"
	"drover/web/page"
	"drover/web/services"
)

//go:embed pages/*.html
var files embed.FS

// staff are the pages with what they are made from.
type staff struct {
	services.Deps
	room chan struct{} // for harnesses on their way in
}

// Section returns the staff's pages.
func Section(p services.Deps) page.Section {
	s := &staff{Deps: p, room: make(chan struct{}, uploads)}
	return page.Section{Name: "staff", Pages: files, Routes: slices.Concat(
		s.classRoutes(), s.rosterRoutes(), s.studentRoutes(), s.auditRoutes(), s.webhookRoutes(),
		s.assignmentRoutes(), s.harnessRoutes(), s.experimentRoutes(), s.progressRoutes(), s.reportRoutes(),
		s.submissionRoutes(), s.gradeRoutes(), s.deadlineRoutes(), s.exportRoutes(),
	)}
}

// classPath is where a class's pages are.
func classPath(class string) string { return "/classes/" + url.PathEscape(class) }

// assignmentPath is where an assignment's pages are.
func assignmentPath(class, assignment string) string {
	return classPath(class) + "/assignments/" + url.PathEscape(assignment)
}

// taskPath is where a task's page is.
func taskPath(id string) string { return "/tasks/" + url.PathEscape(id) }

// may returns FORBIDDEN where the reader has no right to what a form is for.
func may(r *page.Request, action core.Action, class string) error {
	return core.Allow(r.Actor(), action, core.Object{Class: class})
}
