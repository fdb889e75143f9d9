package student_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/school"
)

// ticks are the steps that a page lists, with a + for those that are done.
func ticks(page string) string {
	var all strings.Builder
	for _, m := range regexp.MustCompile(`(?s)<li( class="done")?( aria-current="step")?>\s*<svg class="icon".*?</li>`).FindAllStringSubmatch(page, -1) {
		switch {
		case m[1] != "":
			all.WriteString("+")
		case m[2] != "":
			all.WriteString(">")
		default:
			all.WriteString("-")
		}
	}
	return all.String()
}

// A class is set up step by step, each a link to where it is done, and the list goes with the last one.
func TestFirstSteps(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx, store := t.Context(), w.reg.Store
	_, err := store.PutClass(ctx, school.Class{Handle: "new1", Created: start})
	require.NoError(t, err)
	require.NoError(t, store.Enrol(ctx, school.Enrolment{Class: "new1", User: "nick", Role: core.RoleTeacher}))
	at := func(want, href string) {
		t.Helper()
		for _, page := range []string{w.get("nick", "/"), w.get("nick", "/classes/new1")} {
			require.Equal(t, want, ticks(page))
			if href != "" {
				require.Contains(t, page, `<a href="/classes/new1/`+href+`">`)
			}
		}
	}
	at("+>---", "roster/import")
	require.NoError(t, store.Enrol(ctx, school.Enrolment{Class: "new1", User: "cleo", Role: core.RoleStudent}))
	at("++>--", "assignments/new")
	require.Empty(t, ticks(w.get("cleo", "/")), "students set up nothing")
	w.assignment("hw1", func(as *school.Assignment) { as.Class = "new1" })
	at("+++>-", "assignments/hw1/harness")
	as, err := store.GetAssignment(ctx, "new1", "hw1")
	require.NoError(t, err)
	as.Harness = &school.Harness{File: core.File{Path: "harness.tar", Digest: strings.Repeat("a", 64), Size: 7}}
	_, err = store.PutAssignment(ctx, as)
	require.NoError(t, err)
	at("++++>", "invitations")
	_, err = w.store.PutAccount(ctx, school.Account{User: "cleo", Password: "$argon2id$v=19$x$y", ChangedAt: start})
	require.NoError(t, err)
	at("", "")
}

// Somebody who submitted shows that a class has begun, with or without tests.
func TestNoFirstStepsOfAClassThatBegan(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	require.Equal(t, "+++>-", ticks(w.get("tess", "/")))
	w.submitTo("ann", "hw1")
	require.Empty(t, ticks(w.get("tess", "/")))
}

// The first admin is led to the first class.
func TestFirstStepsOfTheFirstAdmin(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for _, e := range []school.Enrolment{{Class: "cs101", User: "tess"}, {Class: "cs101", User: "ann"}, {Class: "cs101", User: "cleo"}, {Class: "cs202", User: "eve"}} {
		_, err := w.reg.Store.Drop(t.Context(), e.Class, e.User)
		require.NoError(t, err)
	}
	require.NoError(t, w.reg.Store.DeleteClass(t.Context(), "cs202"))
	require.Equal(t, "+>---", ticks(w.get("root", "/")), "of the only class")
	require.NoError(t, w.reg.Store.DeleteClass(t.Context(), "cs101"))
	page := w.get("root", "/")
	require.Equal(t, ">----", ticks(page))
	require.Contains(t, page, `<a href="/classes/new">`)
	require.NotContains(t, page, "You are in no class yet")
	require.Contains(t, w.get("ann", "/"), "You are in no class yet")
}
