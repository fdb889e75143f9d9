package browsertest_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/fstest"

	"github.com/alexedwards/scs/v2"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest/tier"
	"drover/web/browsertest"
	"drover/web/page"
)

// The layout, its script and its sheet, in the browser that the other tests use.
func TestTheLayout(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	sessions := scs.New()
	site, err := page.New(page.Config{Name: "Test school", Sessions: sessions, Announcement: "The machines rest on Sunday."}, page.Section{
		Name: "some", Pages: fstest.MapFS{"pages/thing.html": {Data: []byte(`{{define "title"}}Thing{{end}}{{define "main"}}<h1>Thing</h1>
<p>Due {{when .Data}}</p><form method="post" action="/thing" data-confirm="Really?"><button>Delete</button></form>{{end}}`)}},
		Routes: []page.Route{
			{Pattern: "GET /thing", Public: true, Serve: func(r *page.Request) error { return r.Render("some/thing", r.Now().UnixMilli()+7_300_000) }},
			{Pattern: "POST /thing", Public: true, Serve: func(r *page.Request) error { return r.Redirect("/thing", "It is gone.") }},
			{Pattern: "GET /broken", Public: true, Serve: func(*page.Request) error { return core.Errorf(core.CodeInternal, "", "x") }},
		},
	})
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(sessions.LoadAndSave(site).ServeHTTP))
	t.Cleanup(server.Close)
	browsertest.Everywhere(t, func(t *testing.T, p browsertest.Person) {
		p.Goto(server.URL + "/thing")
		p.Width(360)
		p.Await("in 2 hours")
		require.LessOrEqual(t, p.Overflow(), 0)
		p.Press("Delete")
		p.Await("Really?")
		p.Press("Cancel")
		p.Press("Delete")
		p.Await("Really?")
		p.Click("dialog button.danger")
		p.Await("It is gone.")
		p.Absent("Really?")
		require.Equal(t, "/thing", p.Path())
	})

	tab := browsertest.Start(t).Tab(t)
	for _, dark := range []bool{false, true} {
		for _, width := range []int64{1280, 360} {
			tab.Screen(width, 800, dark)
			tab.Goto(server.URL + "/thing")
			tab.Await("in 2 hours")
			require.Empty(t, tab.Axe())
			require.LessOrEqual(t, tab.Overflow(), 0, "at %d pixels", width)
		}
	}
	tab.Goto(server.URL + "/broken")
	tab.Await("A fault of this site")
	tab.Script(false)
	tab.Goto(server.URL + "/thing")
	require.Contains(t, tab.Text("main"), "in 2 hours")
}
