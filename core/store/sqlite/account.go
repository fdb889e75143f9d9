package sqlite

import (
	"cmp"
	"context"
	"database/sql"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"
)

// GetAccount returns how a user signs in, see school.Accounts.
func (s *Store) GetAccount(ctx context.Context, user string) (school.Account, error) {
	if err := core.CheckName("user", user); err != nil {
		return school.Account{}, err
	}
	a, is := school.Account{User: user}, false
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
		err = school.NoUser(user)
	}
	return a, err
}

// PutAccount makes or changes an account, see school.Accounts.
func (s *Store) PutAccount(ctx context.Context, a school.Account) (int64, error) {
	if err := cmp.Or(core.CheckName("user", a.User), core.CheckRevision(a.User, a.Revision)); err != nil {
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
		err = school.NoUser(handle)
	}
	return err
}

// AddIdentity ties an identity to a user, see school.Accounts.
func (s *Store) AddIdentity(ctx context.Context, id school.Identity) error {
	if err := cmp.Or(core.CheckName("user", id.User), bounds.IdentityKey(id.Issuer, id.Subject)); err != nil {
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
			return 0, school.IdentityTaken(id.User, id.Issuer)
		}
		if err := school.IdentityQuota.Check(id.User, others); err != nil {
			return 0, err
		}
		return t.exec("INSERT INTO identities (issuer, subject, user, created) VALUES (?, ?, ?, ?)", id.Issuer, id.Subject, id.User, id.Created)
	})
	return err
}

// GetIdentity returns the user of an identity, see school.Accounts.
func (s *Store) GetIdentity(ctx context.Context, issuer, subject string) (school.Identity, error) {
	if err := bounds.IdentityKey(issuer, subject); err != nil {
		return school.Identity{}, err
	}
	found, err := s.identities(ctx, "SELECT issuer, subject, user, created FROM identities WHERE issuer = ? AND subject = ?", issuer, subject)
	if err == nil && len(found) == 0 {
		err = school.NoIdentity(issuer)
	}
	if err != nil {
		return school.Identity{}, err
	}
	return found[0], nil
}

// Identities lists a user's identities, see school.Accounts.
func (s *Store) Identities(ctx context.Context, user string) ([]school.Identity, error) {
	return s.identities(ctx, "SELECT issuer, subject, user, created FROM identities WHERE user = ? ORDER BY issuer, subject", user)
}

func (s *Store) identities(ctx context.Context, query string, args ...any) ([]school.Identity, error) {
	var all []school.Identity
	err := s.rows(ctx, query, args, func(rows *sql.Rows) error {
		var id school.Identity
		err := rows.Scan(&id.Issuer, &id.Subject, &id.User, &id.Created)
		all = append(all, id)
		return err
	})
	return all, err
}

// RemoveIdentity removes an identity of a user, see school.Accounts.
func (s *Store) RemoveIdentity(ctx context.Context, user, issuer, subject string) (bool, error) {
	return commit(ctx, s.committer, user, 0, func(t *tx) (bool, error) {
		n, err := t.exec("DELETE FROM identities WHERE issuer = ? AND subject = ? AND user = ?", issuer, subject, user)
		return n == 1, err
	})
}
