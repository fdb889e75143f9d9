package staff_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/school"
)

// The way to a page, and its heads, are in titles and names; handles are for addresses.
func TestTitlesInsteadOfHandles(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1", func(as *school.Assignment) { as.Title = "The ledger" })
	c, err := w.reg.Store.GetClass(t.Context(), "cs101")
	require.NoError(t, err)
	c.Title = "Programming"
	_, err = w.reg.Store.PutClass(t.Context(), c)
	require.NoError(t, err)
	u, err := w.reg.Store.GetUser(t.Context(), "ann")
	require.NoError(t, err)
	u.Name = "Ann Archer"
	_, err = w.reg.Store.PutUser(t.Context(), u)
	require.NoError(t, err)
	s := w.submit("ann", "hw1")
	const class, assignment = "/classes/cs101", "/classes/cs101/assignments/hw1"
	handle := regexp.MustCompile(`\b(cs101|hw1|ann)\b`)
	heads := regexp.MustCompile(`(?s)<title>(.*?)</title>.*<ol class="crumbs">(.*?)</ol>.*<h1>(.*?)</h1>`)
	texts := regexp.MustCompile(`<[^>]*>`)
	for _, path := range []string{
		class + "/roster", class + "/gradebook", class + "/invitations", class + "/stats", class + "/leases", class + "/webhooks", class + "/audit", class + "/edit",
		class + "/roster/import", class + "/students/ann", class + "/students/ann/assignments/hw1", class + "/assignments/new", class + "/assignments/problem",
		assignment + "/edit", assignment + "/submissions", assignment + "/submissions/all", assignment + "/progress", assignment + "/deadlines",
		assignment + "/report", assignment + "/harness", assignment + "/harness/new", assignment + "/experiments",
		"/submissions/" + s.ID + "/grade", "/submissions/" + s.ID + "/preview",
	} {
		found := heads.FindStringSubmatch(w.shows("tess", path))
		require.NotNil(t, found, path)
		for _, head := range found[1:] {
			require.NotRegexp(t, handle, texts.ReplaceAllString(head, ""), path)
		}
	}
	page := w.shows("tess", "/submissions/"+s.ID+"/grade")
	require.Contains(t, page, "<h1>Grade of Ann Archer for The ledger</h1>")
	require.Contains(t, page, `<a href="/classes/cs101/students/ann">Ann Archer</a> <small class="soft">ann</small>`)
}
