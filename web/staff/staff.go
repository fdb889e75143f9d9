// Package staff has the pages of teachers and assistants: classes, rosters, assignments and their harnesses, grades,
// extensions and reruns. The services decide what a page may show or do; a page only leaves out what its reader would
// be refused.
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
	room chan struct{} // bounds the harnesses being received
}

// Section returns the staff's pages.
func Section(p services.Deps) page.Section {
	s := &staff{Deps: p, room: make(chan struct{}, uploads)}
	return page.Section{Name: "staff", Pages: files, Routes: slices.Concat(
		s.classRoutes(), s.rosterRoutes(), s.invitationRoutes(), s.studentRoutes(), s.auditRoutes(), s.statsRoutes(), s.leaseRoutes(), s.webhookRoutes(),
		s.assignmentRoutes(), s.problemRoutes(), s.harnessRoutes(), s.experimentRoutes(), s.progressRoutes(), s.reportRoutes(),
		s.submissionRoutes(), s.gradeRoutes(), s.deadlineRoutes(), s.exportRoutes(), s.gradebookRoutes(),
	)}
}

// classPath returns the path of a class's pages.
func classPath(class string) string { return "/classes/" + url.PathEscape(class) }

// assignmentPath returns the path of an assignment's pages.
func assignmentPath(class, assignment string) string {
	return classPath(class) + "/assignments/" + url.PathEscape(assignment)
}

// taskPath returns the path of a task's page.
func taskPath(id string) string { return "/tasks/" + url.PathEscape(id) }

// may returns FORBIDDEN if the reader has no right to what a form does.
func may(r *page.Request, action core.Action, class string) error {
	return core.Allow(r.Actor(), action, core.Object{Class: class})
}
