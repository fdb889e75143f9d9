package staff_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// evil is what nothing may run.
const evil = `"><script>alert(1)</script>`

func TestClassIsMadeChangedAndDeleted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
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
	again(t, w.post("root", "/classes/cs303/edit", "title", "Late", "revision", "x"), "not a whole number")

	again(t, w.post("root", "/classes/cs303/delete", "name", "cs30"), "Type cs303")
	require.Contains(t, leads(t, w.post("root", "/classes/cs303/delete", "name", "cs303")), "/tasks/")
	c, err = w.reg.Store.GetClass(t.Context(), "cs303")
	require.NoError(t, err)
	require.True(t, c.Deleting)
}

func TestAWrongClassComesBack(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	text := again(t, w.post("root", "/classes", "handle", "Not A Handle", "title", "My title "+evil, "term", "my term"), "class")
	require.Contains(t, text, `value="Not A Handle"`)
	require.Contains(t, text, `value="My title `)
	require.Contains(t, text, `value="my term"`)
	require.NotContains(t, text, "<script>alert")
	again(t, w.post("root", "/classes", "handle", "cs101", "title", "Taken"), "cs101")
}
