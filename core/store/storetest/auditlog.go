package storetest

import (
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// AuditEntry makes an entry of the audit log; later ones are newer.
func AuditEntry(actor, class, subject string) core.AuditEntry {
	return core.AuditEntry{ID: NewID(), At: 5, Actor: actor, Action: core.ActGradeChange, Class: class, Subject: subject, Text: "grade 1 instead of 2:\n\tby hand"}
}

func auditLog(t *testing.T, s school.ResultStore) {
	add := func(d core.AuditEntry) core.AuditEntry {
		t.Helper()
		require.NoError(t, s.AddAuditEntry(t.Context(), d))
		return d
	}
	a := add(AuditEntry("tess", "cs101", "cs101/hw1"))
	b := add(AuditEntry("tom", "cs101", "cs101/hw1"))
	c := add(AuditEntry("tess", "cs102", "cs102/hw1"))
	d := add(AuditEntry("tess", "", "ann"))
	again := a
	again.Text = "something else"
	add(again)
	for _, test := range []struct {
		filter core.AuditFilter
		want   []core.AuditEntry
	}{
		{core.AuditFilter{}, []core.AuditEntry{d, c, b, a}},
		{core.AuditFilter{Class: "cs101"}, []core.AuditEntry{b, a}},
		{core.AuditFilter{Actor: "tess"}, []core.AuditEntry{d, c, a}},
		{core.AuditFilter{Subject: "cs101/hw1", Actor: "tess"}, []core.AuditEntry{a}},
		{core.AuditFilter{Before: c.ID}, []core.AuditEntry{b, a}},
		{core.AuditFilter{Actor: "tess", Before: d.ID, Limit: 1}, []core.AuditEntry{c}},
		{core.AuditFilter{Class: "cs103"}, nil},
	} {
		got, err := s.ListAuditEntries(t.Context(), test.filter)
		require.NoError(t, err)
		require.Equal(t, test.want, got, "%+v", test.filter)
	}
}

// auditLogStays shows that no purge and no deletion takes an entry.
func auditLogStays(t *testing.T, s school.ResultStore) {
	aClass(t, s, "ann")
	d := AuditEntry("ann", "cs101", "cs101/hw1")
	require.NoError(t, s.AddAuditEntry(t.Context(), d))
	require.NoError(t, s.DeleteAssignment(t.Context(), "cs101", "hw1"))
	require.NoError(t, s.DeleteClass(t.Context(), "cs101"))
	require.NoError(t, s.DeleteUser(t.Context(), "ann"))
	_, err := s.Purge(t.Context(), soon(), 100)
	require.NoError(t, err)
	got, err := s.ListAuditEntries(t.Context(), core.AuditFilter{Class: "cs101"})
	require.NoError(t, err)
	require.Equal(t, []core.AuditEntry{d}, got)
}

func auditLogRefuses(t *testing.T, s school.ResultStore) {
	for name, c := range map[string]struct {
		change func(d *core.AuditEntry)
		want   core.Code
	}{
		"id": {func(d *core.AuditEntry) { d.ID = "" }, core.CodeInvalid},
	} {
		d := AuditEntry("tess", "cs101", "cs101/hw1")
		c.change(&d)
		require.Equal(t, c.want, core.CodeOf(s.AddAuditEntry(t.Context(), d)), name)
	}
	for _, limit := range []int{-1, 1001} {
		_, err := s.ListAuditEntries(t.Context(), core.AuditFilter{Limit: limit})
		requireCode(t, core.CodeInvalid, err)
	}
	all, err := s.ListAuditEntries(t.Context(), core.AuditFilter{})
	require.NoError(t, err)
	require.Empty(t, all)
}
