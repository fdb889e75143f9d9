package mongo

import (
	"context"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"
)

// tokenDoc is the document of a token.
type tokenDoc struct {
	ID   string `bson:"_id"`
	Hash string `bson:"hash"`
	Used int64  `bson:"used"`
	JSON string `bson:"json"` // all except hash and used
}

func (d *tokenDoc) token() (school.Token, error) {
	var t school.Token
	err := decode(d.JSON, &t, d.ID)
	t.Hash, t.Used = d.Hash, d.Used
	return t, err
}

// AddToken stores a token, see school.Accounts.
func (s *Store) AddToken(ctx context.Context, t school.Token) error {
	if err := core.CheckNames("token", t.ID, "user", t.User); err != nil {
		return err
	}
	doc, err := encode(t, t.ID)
	if err != nil {
		return err
	}
	is, err := s.own(ctx, tokens, t.User,
		m{"_id": t.ID, "hash": t.Hash, "user": t.User, "kind": t.Kind, "created": t.Created, "expires": t.Expires, "used": t.Used, "json": doc},
		m{"user": t.User, "kind": t.Kind, "expires": m{"$gt": t.Created}}, school.TokenQuota)
	if err == nil && !is {
		err = school.TokenTaken(t.ID)
	}
	return err
}

// TokenByHash finds a token, see school.Accounts.
func (s *Store) TokenByHash(ctx context.Context, hash string) (school.Token, error) {
	doc, found, err := one[tokenDoc](ctx, s, tokens, m{"hash": hash})
	if err == nil && !found {
		err = school.NoToken()
	}
	if err != nil {
		return school.Token{}, err
	}
	return doc.token()
}

// Tokens lists a user's tokens, see school.Accounts.
func (s *Store) Tokens(ctx context.Context, user string, kind school.TokenKind) ([]school.Token, error) {
	docs, err := some[tokenDoc](ctx, s, tokens, m{"user": user, "kind": kind}, by("-created", "-_id"), 0)
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	all := make([]school.Token, len(docs))
	for i := range docs {
		if all[i], err = docs[i].token(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// SpendToken removes a token and returns it, see school.Accounts.
func (s *Store) SpendToken(ctx context.Context, hash string) (school.Token, error) {
	t, err := s.TokenByHash(ctx, hash)
	if err != nil {
		return school.Token{}, err
	}
	n, err := s.remove(ctx, tokens, m{"_id": t.ID, "hash": hash})
	if err == nil && n == 0 {
		err = school.NoToken()
	}
	if err != nil {
		return school.Token{}, err
	}
	return t, nil
}

// RemoveToken removes a user's token, see school.Accounts.
func (s *Store) RemoveToken(ctx context.Context, user, id string) (bool, error) {
	n, err := s.remove(ctx, tokens, m{"_id": id, "user": user})
	return n == 1, err
}

// TouchToken records when a token was used, see school.Accounts.
func (s *Store) TouchToken(ctx context.Context, id string, at int64) error {
	_, err := s.change(ctx, tokens, m{"_id": id}, m{"$max": m{"used": at}})
	return err
}

// PurgeTokens removes expired tokens, see school.Accounts.
func (s *Store) PurgeTokens(ctx context.Context, before int64, limit int) (int, error) {
	if err := bounds.Page(limit); err != nil {
		return 0, err
	}
	which := m{"expires": m{"$lt": before}, "$or": []m{{"kind": m{"$ne": school.TokenInvite}}, {"expires": m{"$lt": before - school.KeepInvites.Milliseconds()}}}}
	old, err := some[tokenDoc](ctx, s, tokens, which, by("expires"), limit, "_id")
	if err != nil || len(old) == 0 {
		return 0, err
	}
	ids := make([]string, len(old))
	for i, doc := range old {
		ids[i] = doc.ID
	}
	return s.remove(ctx, tokens, m{"_id": m{"$in": ids}, "expires": m{"$lt": before}})
}
