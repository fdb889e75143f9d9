package resultstoretest

import (
	"strings"
	"testing"

	"drover/core"
	"drover/core/resultstore/bounds"

	"github.com/stretchr/testify/require"
)

// Deed makes an entry of the audit trail; later ones are newer.
func Deed(actor, class, subject string) core.Deed {
	return core.Deed{ID: NewID(), At: 5, Actor: actor, Action: core.ActGradeChange, Class: class, Subject: subject, Text: "grade 1 instead of 2:\n\tby hand"}
}

func trail(t *testing.T, s core.ResultStore) {
	add := func(d core.Deed) core.Deed {
		t.Helper()
		require.NoError(t, s.AddDeed(t.Context(), d))
		return d
	}
	a := add(Deed("tess", "cs101", "cs101/hw1"))
	b := add(Deed("tom", "cs101", "cs101/hw1"))
	c := add(Deed("tess", "cs102", "cs102/hw1"))
	d := add(Deed("tess", "", "ann"))
	again := a
	again.Text = "something else"
	add(again)
	for _, test := range []struct {
		filter core.TrailFilter
		want   []core.Deed
	}{
		{core.TrailFilter{}, []core.Deed{d, c, b, a}},
		{core.TrailFilter{Class: "cs101"}, []core.Deed{b, a}},
		{core.TrailFilter{Actor: "tess"}, []core.Deed{d, c, a}},
		{core.TrailFilter{Subject: "cs101/hw1", Actor: "tess"}, []core.Deed{a}},
		{core.TrailFilter{Before: c.ID}, []core.Deed{b, a}},
		{core.TrailFilter{Actor: "tess", Before: d.ID, Limit: 1}, []core.Deed{c}},
		{core.TrailFilter{Class: "cs103"}, nil},
	} {
		got, err := s.ListDeeds(t.Context(), test.filter)
		require.NoError(t, err)
		require.Equal(t, test.want, got, "%+v", test.filter)
	}
}

// trailStays shows that no purge and no deletion takes an entry.
func trailStays(t *testing.T, s core.ResultStore) {
	school(t, s, "ann")
	d := Deed("ann", "cs101", "cs101/hw1")
	require.NoError(t, s.AddDeed(t.Context(), d))
	require.NoError(t, s.DeleteAssignment(t.Context(), "cs101", "hw1"))
	require.NoError(t, s.DeleteClass(t.Context(), "cs101"))
	require.NoError(t, s.DeleteUser(t.Context(), "ann"))
	_, err := s.Purge(t.Context(), soon(), 100)
	require.NoError(t, err)
	got, err := s.ListDeeds(t.Context(), core.TrailFilter{Class: "cs101"})
	require.NoError(t, err)
	require.Equal(t, []core.Deed{d}, got)
}

func trailRefuses(t *testing.T, s core.ResultStore) {
	for name, c := range map[string]struct {
		change func(d *core.Deed)
		want   core.Code
	}{
		"id":      {func(d *core.Deed) { d.ID = "" }, core.CodeInvalid},
		"actor":   {func(d *core.Deed) { d.Actor = "" }, core.CodeInvalid},
		"action":  {func(d *core.Deed) { d.Action = "" }, core.CodeInvalid},
		"class":   {func(d *core.Deed) { d.Class = "A" }, core.CodeInvalid},
		"at":      {func(d *core.Deed) { d.At = -1 }, core.CodeInvalid},
		"subject": {func(d *core.Deed) { d.Subject = "a\nb" }, core.CodeInvalid},
		"long":    {func(d *core.Deed) { d.Subject = strings.Repeat("x", bounds.MaxSubject+1) }, core.CodeLimit},
		"control": {func(d *core.Deed) { d.Text = "a\x1b[0m" }, core.CodeInvalid},
		"UTF-8":   {func(d *core.Deed) { d.Text = "a\xff" }, core.CodeInvalid},
		"epic":    {func(d *core.Deed) { d.Text = strings.Repeat("x", bounds.MaxDeedText+1) }, core.CodeLimit},
	} {
		d := Deed("tess", "cs101", "cs101/hw1")
		c.change(&d)
		require.Equal(t, c.want, core.CodeOf(s.AddDeed(t.Context(), d)), name)
	}
	for _, limit := range []int{-1, 1001} {
		_, err := s.ListDeeds(t.Context(), core.TrailFilter{Limit: limit})
		requireCode(t, core.CodeInvalid, err)
	}
	all, err := s.ListDeeds(t.Context(), core.TrailFilter{})
	require.NoError(t, err)
	require.Empty(t, all)
}
