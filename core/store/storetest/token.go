package storetest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// Token makes a token for a program of a user; the id is its secret.
func Token(user, id string) school.Token {
	sum := sha256.Sum256([]byte(id))
	return school.Token{
		ID: id, Kind: school.TokenAPI, User: user, Name: "laptop", Hash: hex.EncodeToString(sum[:]),
		Scopes: []school.Scope{school.ScopeRead, school.ScopeSubmit}, Created: 1000, Expires: 9000,
	}
}

// link makes a sign-in link of ann's.
func link(id string) school.Token {
	t := Token("ann", id)
	t.Kind, t.Scopes = school.TokenLink, nil
	return t
}

func tokenIDs(t *testing.T, s school.ResultStore, user string, kind school.TokenKind) []string {
	t.Helper()
	all, err := s.Tokens(t.Context(), user, kind)
	require.NoError(t, err)
	var ids []string
	for _, token := range all {
		ids = append(ids, token.ID)
	}
	return ids
}

func tokens(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	mustUser(t, s, User("ann"))
	mustUser(t, s, User("bob"))
	old, mid, young := Token("ann", "old"), Token("ann", "mid"), Token("ann", "young")
	old.Created, young.Created = 999, 1001
	for _, token := range []school.Token{mid, young, old, link("link"), Token("bob", "bobs")} {
		require.NoError(t, s.AddToken(ctx, token))
	}
	all, err := s.Tokens(ctx, "ann", school.TokenAPI)
	require.NoError(t, err)
	require.Equal(t, []school.Token{young, mid, old}, all, "newest first")
	require.Equal(t, []string{"link"}, tokenIDs(t, s, "ann", school.TokenLink))
	require.Empty(t, tokenIDs(t, s, "nobody", school.TokenAPI))
	got, err := s.TokenByHash(ctx, mid.Hash)
	require.NoError(t, err)
	require.Equal(t, mid, got)
	_, err = s.TokenByHash(ctx, Token("ann", "never").Hash)
	requireCode(t, core.CodeNotFound, err)
	text, err := json.Marshal(mid)
	require.NoError(t, err)
	require.NotContains(t, string(text), mid.Hash)

	taken := Token("bob", "mid")
	requireCode(t, core.CodeConflict, s.AddToken(ctx, taken))
	taken.ID = "another"
	requireCode(t, core.CodeConflict, s.AddToken(ctx, taken))
	taken = Token("bob", "another")
	taken.ID = "mid"
	requireCode(t, core.CodeConflict, s.AddToken(ctx, taken))

	is, err := s.RemoveToken(ctx, "bob", "mid")
	require.NoError(t, err)
	require.False(t, is, "it is not bob's")
	for _, want := range []bool{true, false} {
		is, err = s.RemoveToken(ctx, "ann", "mid")
		require.NoError(t, err)
		require.Equal(t, want, is)
	}
	require.Equal(t, []string{"young", "old"}, tokenIDs(t, s, "ann", school.TokenAPI))
}

func tokensRefuse(t *testing.T, s school.ResultStore) {
	mustUser(t, s, User("ann"))
	for name, c := range map[string]struct {
		change func(*school.Token)
		want   core.Code
	}{
		"nobody": {func(k *school.Token) { k.User = "nobody" }, core.CodeNotFound},
		"user":   {func(k *school.Token) { k.User = "a b" }, core.CodeInvalid},
		"id":     {func(k *school.Token) { k.ID = "" }, core.CodeInvalid},
	} {
		token := Token("ann", "a")
		c.change(&token)
		err := s.AddToken(t.Context(), token)
		require.Error(t, err, name)
		require.Equal(t, c.want, core.CodeOf(err), name)
	}
	require.Empty(t, tokenIDs(t, s, "ann", school.TokenAPI))
	_, err := s.PurgeTokens(t.Context(), 5, 0)
	requireCode(t, core.CodeInvalid, err)
}

func tokensSpend(t *testing.T, s school.ResultStore) {
	mustUser(t, s, User("ann"))
	token := link("a")
	require.NoError(t, s.AddToken(t.Context(), token))
	got, err := s.SpendToken(t.Context(), token.Hash)
	require.NoError(t, err)
	require.Equal(t, token, got)
	_, err = s.SpendToken(t.Context(), token.Hash)
	requireCode(t, core.CodeNotFound, err)
	_, err = s.TokenByHash(t.Context(), token.Hash)
	requireCode(t, core.CodeNotFound, err)
}

func tokensTouch(t *testing.T, s school.ResultStore) {
	mustUser(t, s, User("ann"))
	token := Token("ann", "a")
	require.NoError(t, s.AddToken(t.Context(), token))
	for _, at := range []int64{7, 9, 8} { // the last one comes late
		require.NoError(t, s.TouchToken(t.Context(), "a", at))
	}
	got, err := s.TokenByHash(t.Context(), token.Hash)
	require.NoError(t, err)
	token.Used = 9
	require.Equal(t, token, got)
	_, err = s.RemoveToken(t.Context(), "ann", "a")
	require.NoError(t, err)
	require.NoError(t, s.TouchToken(t.Context(), "a", 10))
	_, err = s.TokenByHash(t.Context(), token.Hash)
	requireCode(t, core.CodeNotFound, err)
}

func tokensLimit(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	mustUser(t, s, User("ann"))
	mustUser(t, s, User("bob"))
	over := Token("ann", "over")
	over.Created, over.Expires = 1, 1000 // when the others are made
	require.NoError(t, s.AddToken(ctx, over))
	for i := range school.MaxTokens {
		require.NoError(t, s.AddToken(ctx, Token("ann", fmt.Sprint(i))), "what expired does not count")
	}
	requireCode(t, core.CodeLimit, s.AddToken(ctx, Token("ann", "more")))
	_, err := s.TokenByHash(ctx, Token("ann", "more").Hash)
	requireCode(t, core.CodeNotFound, err)
	require.NoError(t, s.AddToken(ctx, link("link")), "another kind")
	require.NoError(t, s.AddToken(ctx, Token("bob", "bobs")), "another user")
	_, err = s.RemoveToken(ctx, "ann", "7")
	require.NoError(t, err)
	require.NoError(t, s.AddToken(ctx, Token("ann", "more")))
}

func tokensPurge(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	mustUser(t, s, User("ann"))
	for i := range 6 {
		token := Token("ann", fmt.Sprint(i))
		token.Expires = int64(2000 + i)
		require.NoError(t, s.AddToken(ctx, token))
	}
	for _, want := range []int{2, 2, 0} {
		n, err := s.PurgeTokens(ctx, 2004, 2)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	require.Equal(t, []string{"5", "4"}, tokenIDs(t, s, "ann", school.TokenAPI))
	invitation := Token("ann", "invitation")
	invitation.Kind, invitation.Expires = school.TokenInvite, 2000
	require.NoError(t, s.AddToken(ctx, invitation))
	n, err := s.PurgeTokens(ctx, 2001, 10)
	require.NoError(t, err)
	require.Zero(t, n, "lists say for a year that it expired")
	n, err = s.PurgeTokens(ctx, 2001+school.KeepInvites.Milliseconds(), 10)
	require.NoError(t, err)
	require.Equal(t, 3, n)
}

// raceSpend shows that of many who spend a token one gets it.
func raceSpend(t *testing.T, s school.ResultStore) {
	mustUser(t, s, User("ann"))
	for round := range 5 {
		token := link(fmt.Sprint(round))
		require.NoError(t, s.AddToken(t.Context(), token))
		var got atomic.Int32
		together(t, 20, func(int) error {
			spent, err := s.SpendToken(t.Context(), token.Hash)
			switch {
			case core.Is(err, core.CodeNotFound):
				return nil
			case err == nil && spent.User != "ann":
				return fmt.Errorf("it is %q's", spent.User)
			case err == nil:
				got.Add(1)
			}
			return err
		})
		require.EqualValues(t, 1, got.Load())
	}
}

// raceTokens shows that many who add tokens at once never pass the limit.
func raceTokens(t *testing.T, s school.ResultStore) {
	mustUser(t, s, User("ann"))
	for i := range school.MaxTokens - 5 {
		require.NoError(t, s.AddToken(t.Context(), Token("ann", fmt.Sprint(i))))
	}
	var added atomic.Int32
	together(t, 20, func(i int) error {
		err := s.AddToken(t.Context(), Token("ann", fmt.Sprintf("r%d", i)))
		if core.Is(err, core.CodeLimit) {
			return nil
		}
		added.Add(1)
		return err
	})
	there := tokenIDs(t, s, "ann", school.TokenAPI)
	require.Len(t, there, school.MaxTokens-5+int(added.Load()), "those that were told so, and no others")
	require.LessOrEqual(t, len(there), school.MaxTokens)
	for i := len(there); i < school.MaxTokens; i++ {
		require.NoError(t, s.AddToken(t.Context(), Token("ann", fmt.Sprintf("s%d", i))))
	}
	requireCode(t, core.CodeLimit, s.AddToken(t.Context(), Token("ann", "more")))
}
