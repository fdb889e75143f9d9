package staff_test

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// evil is what nothing may run.
const evil = `"><script>alert(1)</script>`

func TestClassIsMadeChangedAndDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.Contains(t, w.shows("root", "/classes/new"), `name="handle"`)
	require.Equal(t, "/classes/cs303/roster", leads(t, w.post("root", "/classes", "handle", " cs303 ", "title", "Compilers", "term", "2026")))
	c, err := w.reg.Store.GetClass(t.Context(), "cs303")
	require.NoError(t, err)
	require.Equal(t, "Compilers", c.Title)

	require.Contains(t, w.shows("root", "/classes/cs303/edit"), `value="Compilers"`)
	rev := strconv.FormatInt(c.Revision, 10)
	require.Equal(t, "/classes/cs303", leads(t, w.post("root", "/classes/cs303/edit", "title", evil, "term", "2027", "revision", rev)))
	text := w.shows("root", "/classes/cs303/edit")
	require.NotContains(t, text, "<script>alert")
	require.Contains(t, text, "&lt;script&gt;alert")
	again(t, w.post("root", "/classes/cs303/edit", "title", "Late", "revision", rev), "changed")
	again(t, w.post("root", "/classes/cs303/edit", "title", "Late", "revision", "x"), "no whole number")

	again(t, w.post("root", "/classes/cs303/delete", "name", "cs30"), "Type cs303")
	require.Contains(t, leads(t, w.post("root", "/classes/cs303/delete", "name", "cs303")), "/tasks/")
	c, err = w.reg.Store.GetClass(t.Context(), "cs303")
	require.NoError(t, err)
	require.True(t, c.Deleting)
}

func TestAWrongClassComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := again(t, w.post("root", "/classes", "handle", "Not A Handle", "title", "My title "+evil, "term", "my term"), "class")
	require.Contains(t, text, `value="Not A Handle"`)
	require.Contains(t, text, `value="My title `)
	require.Contains(t, text, `value="my term"`)
	require.NotContains(t, text, "<script>alert")
	again(t, w.post("root", "/classes", "handle", "cs101", "title", "Taken"), "cs101")
}

// Each page and form, for each kind of user: what one may not know of is not there.
func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.assignment("hw1")
	const ok, no, gone = http.StatusOK, http.StatusForbidden, http.StatusNotFound
	people := []string{"root", "tess", "tina", "ann", "theo", "eve", "nick", "olga"}
	for path, want := range map[string][]int{
		"GET /classes/new":                           {ok, no, no, no, no, no, no, no},
		"POST /classes":                              {ok, no, no, no, no, no, no, no},
		"GET /classes/cs101/edit":                    {ok, ok, no, no, gone, gone, gone, gone},
		"POST /classes/cs101/edit":                   {ok, ok, no, no, gone, gone, gone, gone},
		"POST /classes/cs101/delete":                 {ok, no, no, no, gone, gone, gone, gone},
		"GET /classes/cs101/roster":                  {ok, ok, ok, no, gone, gone, gone, gone},
		"POST /classes/cs101/roster":                 {ok, ok, ok, no, gone, gone, gone, gone},
		"POST /classes/cs101/roster/change":          {ok, ok, ok, no, gone, gone, gone, gone},
		"GET /classes/cs101/roster/import":           {ok, ok, ok, no, gone, gone, gone, gone},
		"POST /classes/cs101/roster/import":          {ok, ok, ok, no, gone, gone, gone, gone},
		"GET /classes/cs101/assignments/new":         {ok, ok, ok, no, gone, gone, gone, gone},
		"POST /classes/cs101/assignments/new":        {ok, ok, ok, no, gone, gone, gone, gone},
		"GET /classes/cs101/assignments/hw1/edit":    {ok, ok, ok, no, gone, gone, gone, gone},
		"POST /classes/cs101/assignments/hw1/edit":   {ok, ok, ok, no, gone, gone, gone, gone},
		"POST /classes/cs101/assignments/hw1/delete": {ok, ok, ok, no, gone, gone, gone, gone},
		"GET /classes/cs101/assignments/none/edit":   {gone, gone, gone, gone, gone, gone, gone, gone},
		"GET /classes/none/roster":                   {gone, gone, gone, gone, gone, gone, gone, gone},
	} {
		method, at := path[:3], path[4:]
		if method == "POS" {
			at = path[5:]
		}
		for i, who := range people {
			var code int
			if method == "GET" {
				code = w.get(who, at).Code
			} else { // an empty form is a wrong one
				code = w.post(who, at).Code
				if code == http.StatusUnprocessableEntity {
					code = ok
				}
			}
			require.Equal(t, want[i], code, "%s as %s", path, who)
		}
	}
	require.Equal(t, http.StatusSeeOther, w.get("", "/classes/cs101/roster").Code, "who has not signed in is asked to")
}
