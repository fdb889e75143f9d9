package classes_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Titles are told to those who may see what they name; all others get back what they asked with.
func TestTitles(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	for _, handle := range []string{"ann", "eve"} {
		u, err := w.reg.Store.GetUser(ctx, handle)
		require.NoError(t, err)
		u.Name = "Name of " + handle
		require.NoError(t, done(w.reg.Store.PutUser(ctx, u)))
	}
	w.assignment("hw1")
	w.assignment("secret", concealed)
	all := map[string][]string{}
	for _, who := range []string{"tess", "ann", "cleo", "theo", "root"} {
		a := w.as(who)
		all[who] = []string{
			w.reg.ClassTitle(ctx, a, "cs101"), w.reg.AssignmentTitle(ctx, a, "cs101", "hw1"), w.reg.AssignmentTitle(ctx, a, "cs101", "secret"),
			w.reg.PersonName(ctx, a, "cs101", "ann"), w.reg.PersonName(ctx, a, "cs101", "cleo"), w.reg.PersonName(ctx, a, "cs101", "eve"),
		}
	}
	staff := []string{"Class cs101", "The hw1", "The secret", "Name of ann", "cleo", "eve"}
	assert.Equal(t, map[string][]string{
		"tess": staff, "root": staff,
		"ann":  {"Class cs101", "The hw1", "secret", "Name of ann", "cleo", "eve"},
		"cleo": {"Class cs101", "The hw1", "secret", "ann", "cleo", "eve"},
		"theo": {"cs101", "hw1", "secret", "ann", "cleo", "eve"},
	}, all)
	assert.Equal(t, map[string]string{"ann": "Name of ann"}, w.reg.Names(ctx, w.as("tess"), "cs101"))
	assert.Empty(t, w.reg.Names(ctx, w.as("ann"), "cs101"))
	assert.Equal(t, "Name of eve", w.reg.PersonName(ctx, w.as("theo"), "cs202", "eve"))
	for _, odd := range []string{"", "ann@example.org", "../ann", "nobody"} {
		assert.Equal(t, odd, w.reg.PersonName(ctx, w.as("root"), "cs101", odd), "e-mail addresses find nobody")
	}
}
