package sqlite

import (
	"cmp"
	"context"
	"database/sql"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"
)

// AddToken stores a token, see school.Accounts.
func (s *Store) AddToken(ctx context.Context, token school.Token) error {
	if err := core.CheckNames("token", token.ID, "user", token.User); err != nil {
		return err
	}
	doc, err := encode(token, token.ID)
	if err != nil {
		return err
	}
	_, err = commit(ctx, s.committer, token.ID, len(doc), func(t *tx) (int, error) {
		if err := t.user(token.User); err != nil {
			return 0, err
		}
		is, err := t.any("SELECT 1 FROM tokens WHERE id = ? UNION ALL SELECT 1 FROM tokens WHERE hash = ?", token.ID, token.Hash)
		if err != nil || is {
			return 0, cmp.Or(err, school.TokenTaken(token.ID))
		}
		if err := t.room(school.TokenQuota, token.User, "SELECT count(*) FROM tokens WHERE user = ? AND kind = ? AND expires > ?", token.User, token.Kind, token.Created); err != nil {
			return 0, err
		}
		return t.exec("INSERT INTO tokens (id, hash, user, kind, created, expires, used, doc) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			token.ID, token.Hash, token.User, token.Kind, token.Created, token.Expires, token.Used, doc)
	})
	return err
}

// TokenByHash finds a token, see school.Accounts.
func (s *Store) TokenByHash(ctx context.Context, hash string) (school.Token, error) {
	found, err := s.tokens(ctx, "SELECT hash, used, doc FROM tokens WHERE hash = ?", hash)
	if err == nil && len(found) == 0 {
		err = school.NoToken()
	}
	if err != nil {
		return school.Token{}, err
	}
	return found[0], nil
}

// Tokens lists a user's tokens, see school.Accounts.
func (s *Store) Tokens(ctx context.Context, user string, kind school.TokenKind) ([]school.Token, error) {
	return s.tokens(ctx, "SELECT hash, used, doc FROM tokens WHERE user = ? AND kind = ? ORDER BY created DESC, id DESC", user, kind)
}

func (s *Store) tokens(ctx context.Context, query string, args ...any) ([]school.Token, error) {
	var all []school.Token
	err := s.rows(ctx, query, args, func(rows *sql.Rows) error {
		var hash string
		var used int64
		var doc sql.RawBytes
		if err := rows.Scan(&hash, &used, &doc); err != nil {
			return err
		}
		var token school.Token
		err := decode(doc, &token, "a token")
		token.Hash, token.Used = hash, used
		all = append(all, token)
		return err
	})
	return all, err
}

// SpendToken removes a token and returns it, see school.Accounts.
func (s *Store) SpendToken(ctx context.Context, hash string) (school.Token, error) {
	token, err := s.TokenByHash(ctx, hash)
	if err != nil {
		return school.Token{}, err
	}
	_, err = commit(ctx, s.committer, token.ID, 0, func(t *tx) (int, error) {
		n, err := t.exec("DELETE FROM tokens WHERE hash = ?", hash)
		if err == nil && n == 0 {
			err = school.NoToken()
		}
		return n, err
	})
	if err != nil {
		return school.Token{}, err
	}
	return token, nil
}

// RemoveToken removes a user's token, see school.Accounts.
func (s *Store) RemoveToken(ctx context.Context, user, id string) (bool, error) {
	return commit(ctx, s.committer, id, 0, func(t *tx) (bool, error) {
		n, err := t.exec("DELETE FROM tokens WHERE id = ? AND user = ?", id, user)
		return n == 1, err
	})
}

// TouchToken records when a token was used, see school.Accounts.
func (s *Store) TouchToken(ctx context.Context, id string, at int64) error {
	_, err := commit(ctx, s.committer, id, 0, func(t *tx) (int, error) {
		return t.exec("UPDATE tokens SET used = max(used, ?) WHERE id = ?", at, id)
	})
	return err
}

// PurgeTokens removes expired tokens, see school.Accounts.
func (s *Store) PurgeTokens(ctx context.Context, before int64, limit int) (int, error) {
	if err := bounds.Page(limit); err != nil {
		return 0, err
	}
	return commit(ctx, s.committer, "tokens", 0, func(t *tx) (int, error) {
		return t.exec("DELETE FROM tokens WHERE id IN (SELECT id FROM tokens WHERE expires < ? AND (kind <> ? OR expires < ?) ORDER BY expires LIMIT ?)",
			before, school.TokenInvite, before-school.KeepInvites.Milliseconds(), limit)
	})
}
