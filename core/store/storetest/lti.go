package storetest

import (
	"context"
	"encoding/json"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// LTIRecord makes a good record about a learning platform.
func LTIRecord(id, class string) school.LTIRecord {
	return school.LTIRecord{Kind: school.LTILinks, ID: id, Class: class, Doc: json.RawMessage(`{"link":"ü"}`)}
}

func ltiRecords(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	put := func(r school.LTIRecord) school.LTIRecord {
		t.Helper()
		revision, err := s.PutLTI(ctx, r)
		require.NoError(t, err)
		require.Equal(t, r.Revision+1, revision)
		r.Revision = revision
		return r
	}
	are := func(kind school.LTIKind, class, after string, limit int, want ...school.LTIRecord) {
		t.Helper()
		got, err := s.ListLTI(ctx, kind, class, after, limit)
		require.NoError(t, err)
		require.Equal(t, append([]school.LTIRecord{}, want...), append([]school.LTIRecord{}, got...))
	}
	_, err := s.PutLTI(ctx, LTIRecord("a", "cs101"))
	requireCode(t, core.CodeNotFound, err)
	aClass(t, s, "ann")
	b, a := put(LTIRecord("b", "cs101")), put(LTIRecord("a", "cs101"))
	free := put(LTIRecord("c", ""))
	other := LTIRecord("a", "")
	other.Kind = school.LTIKeys
	other = put(other)
	are(school.LTILinks, "", "", 10, a, b, free)
	are(school.LTILinks, "cs101", "", 10, a, b)
	are(school.LTILinks, "", "a", 1, b)
	are(school.LTIPlatforms, "", "", 10)

	_, err = s.PutLTI(ctx, LTIRecord("a", "cs101"))
	requireCode(t, core.CodeConflict, err)
	stale := a
	a.Doc = json.RawMessage(`{"link":"2"}`)
	a = put(a)
	_, err = s.PutLTI(ctx, stale)
	requireCode(t, core.CodeConflict, err)
	got, err := s.GetLTI(ctx, school.LTILinks, "a")
	require.NoError(t, err)
	require.Equal(t, a, got)

	is, err := s.DeleteLTI(ctx, school.LTILinks, "b")
	require.NoError(t, err)
	require.True(t, is)
	is, err = s.DeleteLTI(ctx, school.LTILinks, "b")
	require.NoError(t, err)
	require.False(t, is)
	_, err = s.GetLTI(ctx, school.LTILinks, "b")
	requireCode(t, core.CodeNotFound, err)

	require.NoError(t, s.DeleteAssignment(ctx, "cs101", "hw1"))
	require.NoError(t, s.DeleteClass(ctx, "cs101"))
	are(school.LTILinks, "", "", 10, free)
	are(school.LTIKeys, "", "", 10, other)
}

func ltiRefuses(t *testing.T, s school.ResultStore) {
	for name, bad := range map[string]school.LTIRecord{
		"a name": LTIRecord("A B", ""), "a class": LTIRecord("a", "A B"), "a kind": {Kind: "", ID: "a", Doc: json.RawMessage("1")},
	} {
		_, err := s.PutLTI(t.Context(), bad)
		require.Equal(t, core.CodeInvalid, core.CodeOf(err), name)
	}
	long := LTIRecord("a", "")
	long.Doc = make([]byte, school.MaxLTIRecord+1)
	_, err := s.PutLTI(t.Context(), long)
	requireCode(t, core.CodeLimit, err)
}

// ltiCalls are those about learning platforms, in what School fills.
func ltiCalls() map[string]Call {
	return map[string]Call{
		"PutLTI": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.PutLTI(ctx, LTIRecord(NewID(), ""))
			return err
		},
		"GetLTI": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.GetLTI(ctx, school.LTILinks, "none")
			return err
		},
		"ListLTI": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.ListLTI(ctx, school.LTILinks, "", "", 10)
			return err
		},
		"DeleteLTI": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.DeleteLTI(ctx, school.LTILinks, "none")
			return err
		},
	}
}
