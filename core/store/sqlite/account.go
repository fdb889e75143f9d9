package sqlite

import (
	"context"
	"database/sql"

	"drover/core"
	"drover/core/store/bounds"
)

// GetAccount returns how a user signs in, see core.Accounts.
func (s *Store) GetAccount(ctx context.Context, user string) (core.Account, error) {
	if err := core.CheckName("user", user); err != nil {
		return core.Account{}, err
	}
	a, is := core.Account{User: user}, false
	err := s.rows(ctx, `SELECT coalesce(a.password, ''), coalesce(a.revision, 0), a.doc FROM users u
		LEFT JOIN accounts a ON a.user = u.handle WHERE u.handle = ?`, []any{user}, func(rows *sql.Rows) error {
		var password string
		var revision int64
		var doc sql.RawBytes
		if err := rows.Scan(&password, &revision, &doc); err != nil {
			return err
		}
		is = true
		if doc == nil {
			return nil
		}
		err := decode(doc, &a, "an account")
		a.Password, a.Revision = password, revision
		return err
	})
	if err == nil && !is {
		err = noUser(user)
	}
	return a, err
}

// PutAccount makes or changes an account, see core.Accounts.
func (s *Store) PutAccount(ctx context.Context, a core.Account) (int64, error) {
	if err := bounds.Account(a); err != nil {
		return 0, err
	}
	doc, err := encode(a, a.User)
	if err != nil {
		return 0, err
	}
	return commit(ctx, s.committer, a.User, len(doc), func(t *tx) (int64, error) {
		if err := t.user(a.User); err != nil {
			return 0, err
		}
		return t.put(revised{"account of " + a.User, "accounts", []column{{"user", a.User}}, []column{{"password", a.Password}, {"doc", doc}}, a.Revision})
	})
}

// user returns NOTFOUND if there is no such user.
func (t *tx) user(handle string) error {
	is, err := t.any("SELECT 1 FROM users WHERE handle = ?", handle)
	if err == nil && !is {
		err = noUser(handle)
	}
	return err
}

// AddIdentity ties an identity to a user, see core.Accounts.
func (s *Store) AddIdentity(ctx context.Context, id core.Identity) error {
	if err := bounds.Identity(id); err != nil {
		return err
	}
	_, err := commit(ctx, s.committer, id.User, len(id.Issuer)+len(id.Subject), func(t *tx) (int, error) {
		if err := t.user(id.User); err != nil {
			return 0, err
		}
		var whose string
		var others int
		if err := t.one(`SELECT coalesce((SELECT user FROM identities WHERE issuer = ? AND subject = ?), ''),
			(SELECT count(*) FROM identities WHERE user = ?)`, []any{id.Issuer, id.Subject, id.User}, &whose, &others); err != nil {
			return 0, err
		}
		switch {
		case whose == id.User:
			return 0, nil
		case whose != "":
			return 0, core.Errorf(core.CodeConflict, id.User, "this identity of %s is another user's", id.Issuer)
		case others >= core.MaxIdentities:
			return 0, core.Errorf(core.CodeLimit, id.User, "user %s has %d identities, the most there may be: remove some", id.User, others)
		}
		return t.exec("INSERT INTO identities (issuer, subject, user, created) VALUES (?, ?, ?, ?)", id.Issuer, id.Subject, id.User, id.Created)
	})
	return err
}

// GetIdentity finds whose an identity is, see core.Accounts.
func (s *Store) GetIdentity(ctx context.Context, issuer, subject string) (core.Identity, error) {
	if err := bounds.IdentityKey(issuer, subject); err != nil {
		return core.Identity{}, err
	}
	found, err := s.identities(ctx, "SELECT issuer, subject, user, created FROM identities WHERE issuer = ? AND subject = ?", issuer, subject)
	if err == nil && len(found) == 0 {
		err = core.Errorf(core.CodeNotFound, "", "no user has this identity of %s", issuer)
	}
	if err != nil {
		return core.Identity{}, err
	}
	return found[0], nil
}

// Identities lists a user's identities, see core.Accounts.
func (s *Store) Identities(ctx context.Context, user string) ([]core.Identity, error) {
	return s.identities(ctx, "SELECT issuer, subject, user, created FROM identities WHERE user = ? ORDER BY issuer, subject", user)
}

func (s *Store) identities(ctx context.Context, query string, args ...any) ([]core.Identity, error) {
	var all []core.Identity
	err := s.rows(ctx, query, args, func(rows *sql.Rows) error {
		var id core.Identity
		err := rows.Scan(&id.Issuer, &id.Subject, &id.User, &id.Created)
		all = append(all, id)
		return err
	})
	return all, err
}

// RemoveIdentity removes an identity of a user, see core.Accounts.
func (s *Store) RemoveIdentity(ctx context.Context, user, issuer, subject string) (bool, error) {
	return commit(ctx, s.committer, user, 0, func(t *tx) (bool, error) {
		n, err := t.exec("DELETE FROM identities WHERE issuer = ? AND subject = ? AND user = ?", issuer, subject, user)
		return n == 1, err
	})
}
