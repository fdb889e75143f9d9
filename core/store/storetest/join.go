package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// JoinToken makes a good token of an id.
func JoinToken(id string) core.JoinToken {
	return core.JoinToken{ID: id, Hash: strings.Repeat("a", 64), By: "olga", Uses: 1, Created: 1_700_000_000_000, Expires: 1_700_000_900_000}
}

func joinTokens(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	are := func(want ...core.JoinToken) {
		t.Helper()
		all, err := s.JoinTokens(ctx)
		require.NoError(t, err)
		require.Equal(t, append([]core.JoinToken{}, want...), append([]core.JoinToken{}, all...))
	}
	are()
	put := func(token core.JoinToken) core.JoinToken {
		t.Helper()
		revision, err := s.PutJoinToken(ctx, token)
		require.NoError(t, err)
		require.Equal(t, token.Revision+1, revision)
		token.Revision = revision
		return token
	}
	b, a := JoinToken("b"), JoinToken("a")
	b.Group, b.Uses = "spot", 3
	b, a = put(b), put(a)
	are(a, b)
	b.Joined = []core.Joined{{Host: "h1", Key: strings.Repeat("b", 64), At: 7}}
	b = put(b)
	got, err := s.GetJoinToken(ctx, "b")
	require.NoError(t, err)
	require.Equal(t, b, got)
	require.NoError(t, s.DeleteJoinToken(ctx, "a"))
	requireCode(t, core.CodeNotFound, s.DeleteJoinToken(ctx, "a"))
	_, err = s.GetJoinToken(ctx, "a")
	requireCode(t, core.CodeNotFound, err)
	are(b)
	_, err = s.PutJoinToken(ctx, JoinToken("A B"))
	requireCode(t, core.CodeInvalid, err)
	const hands = 10
	together(t, hands, func(i int) error {
		for n := i; n < core.MaxJoinTokens-1; n += hands {
			if _, err := s.PutJoinToken(ctx, JoinToken(fmt.Sprintf("n%d", n))); err != nil {
				return err
			}
		}
		return nil
	})
	_, err = s.PutJoinToken(ctx, JoinToken("z"))
	requireCode(t, core.CodeLimit, err)
	put(b) // one that is there can change
}

// joinCalls are those about tokens by which hosts join.
func joinCalls() map[string]Call {
	return map[string]Call{
		"PutJoinToken": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.PutJoinToken(ctx, JoinToken(NewID()))
			return err
		},
		"GetJoinToken": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.GetJoinToken(ctx, "none")
			return err
		},
		"JoinTokens": func(ctx context.Context, s school.ResultStore) error { _, err := s.JoinTokens(ctx); return err },
		"DeleteJoinToken": func(ctx context.Context, s school.ResultStore) error {
			return s.DeleteJoinToken(ctx, "none")
		},
	}
}
