package classes_test

import (
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFind(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	for handle, title := range map[string]string{"cs1011": "Advanced", "math": "Calculus of CS"} {
		require.NoError(t, done(w.reg.Store.PutClass(ctx, school.Class{Handle: handle, Title: title, Created: start})))
	}
	for _, as := range [][3]string{
		{"cs101", "hw1", "Sorting"}, {"cs101", "hw10", "Graphs"}, {"cs1011", "hw1", "Types"}, {"math", "sums", "Sorting out"},
	} {
		require.NoError(t, done(w.reg.Store.PutAssignment(ctx, school.Assignment{Class: as[0], Handle: as[1], Title: as[2], Priority: core.PriorityNormal, Created: start})))
	}
	w.assignment("exam", concealed)
	for _, c := range []struct {
		who, query, found string
		code              core.Code
		says              string
	}{
		{"root", "cs101/hw1", "cs101/hw1", "", ""},
		{"root", "CS101/SORT", "cs101/hw1", "", ""},
		{"root", "advanced/types", "cs1011/hw1", "", ""},
		{"root", "calculus/sorting", "math/sums", "", ""},
		{"root", "math/", "math/sums", "", ""},
		{"root", "cs101/hw", "", core.CodeInvalid, "cs101/hw1, cs101/hw10"},
		{"root", "s10/hw1", "", core.CodeInvalid, "cs101/hw1, cs1011/hw1"},
		{"root", "/sort", "", core.CodeInvalid, "cs101/hw1, math/sums"},
		{"root", "cs101/none", "", core.CodeNotFound, "cs101/none"},
		{"root", "mine/hw1", "", core.CodeNotFound, "mine/hw1"},
		{"root", "hw1", "", core.CodeInvalid, "class/assignment"},
		{"ann", "mine/hw1", "cs101/hw1", "", ""},
		{"ann", "mine/GRAPH", "cs101/hw10", "", ""},
		{"ann", "/sort", "cs101/hw1", "", ""},
		{"ann", "cs1011/hw1", "", core.CodeNotFound, "cs1011/hw1"},
		{"ann", "mine/exam", "", core.CodeNotFound, "mine/exam"},
		{"tina", "mine/exam", "cs101/exam", "", ""},
		{"nick", "/", "", core.CodeNotFound, "/"},
	} {
		as, err := w.reg.FindAssignment(ctx, w.as(c.who), c.query)
		assert.Equal(t, c.code, core.CodeOf(err), "%s by %s: %v", c.query, c.who, err)
		if c.code == "" {
			assert.Equal(t, c.found, as.Name(), c.query)
		} else {
			assert.Contains(t, err.Error(), c.says)
		}
	}
	c, err := w.reg.FindClass(ctx, w.as("ann"), "mine")
	require.NoError(t, err)
	assert.Equal(t, "cs101", c.Handle)
	_, err = w.reg.FindClass(ctx, w.as("root"), "cs")
	requireCode(t, core.CodeInvalid, err)
	assert.Contains(t, err.Error(), "cs101, cs1011, cs202, math")
}
