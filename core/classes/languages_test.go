package classes_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
)

// Students see which versions their programs meet: those of the pool's image.
func TestLanguages(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	found := func() []core.ImageLanguage {
		t.Helper()
		all, err := w.reg.Languages(t.Context(), w.as("ann"), "cs101", "hw1")
		require.NoError(t, err)
		return all
	}
	require.Empty(t, found(), "the pool has no image")
	as, err := w.reg.EditableAssignment(t.Context(), w.as("tina"), "cs101", "hw1")
	require.NoError(t, err)
	p := core.DefaultPool(pool)
	p.Provider, p.Image = "lxc", "judge"
	require.NoError(t, w.in.SetPool(t.Context(), p))
	require.Empty(t, found(), "there is no such image")
	c, python := core.ImageLanguage{Code: "c", Name: "C (GCC)", Version: "12.2.0"}, core.ImageLanguage{Code: "python3", Name: "Python", Version: "3.11.2"}
	require.NoError(t, w.store.PutImage(t.Context(), core.Image{
		Name: "judge", Digest: fmt.Sprintf("sha256:%064x", 1), Size: 1, Languages: []core.ImageLanguage{c, python},
	}))
	require.Equal(t, []core.ImageLanguage{c, python}, found())
	as.Required = []string{"src/solve.py", "README"}
	_, err = w.reg.EditAssignment(t.Context(), w.as("tina"), as)
	require.NoError(t, err)
	require.Equal(t, []core.ImageLanguage{python}, found())
}
