package mongo

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"
)

// holder is the part of a user's document about authentication: the account is kept there, so that it is created and
// deleted with the user.
type holder struct {
	Account *account `bson:"account"`
}

type account struct {
	JSON     string `bson:"json"` // without password and revision
	Password string `bson:"password"`
	Revision int64  `bson:"revision"`
}

// GetAccount returns how a user signs in, see school.Accounts.
func (s *Store) GetAccount(ctx context.Context, user string) (school.Account, error) {
	if err := core.CheckName("user", user); err != nil {
		return school.Account{}, err
	}
	a := school.Account{User: user}
	doc, found, err := one[holder](ctx, s, users, m{"_id": user, "gone": absent}, "account")
	switch {
	case err != nil:
		return a, err
	case !found:
		return a, school.NoUser(user)
	case doc.Account == nil:
		return a, nil
	}
	err = decode(doc.Account.JSON, &a, user)
	a.Password, a.Revision = doc.Account.Password, doc.Account.Revision
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
	which := m{"_id": a.User, "gone": absent, "account.revision": absent}
	if a.Revision > 0 {
		which["account.revision"] = a.Revision
	}
	is, err := s.change(ctx, users, which, m{"$set": m{"account": account{doc, a.Password, a.Revision + 1}}})
	if err != nil || is {
		return a.Revision + 1, err
	}
	there, err := s.GetAccount(ctx, a.User)
	return 0, cmp.Or(err, core.NotPut("account of "+a.User, a.User, a.Revision, there.Revision > 0))
}

// own inserts a document that belongs to a user, and removes it again if the user was deleted in the meantime or now
// has more than the quota. All selects the documents that count.
func (s *Store) own(ctx context.Context, in, user string, doc, all m, q core.Quota) (bool, error) {
	if err := s.openUser(ctx, user); err != nil {
		return false, err
	}
	is, err := s.insert(ctx, in, doc)
	if err != nil || !is {
		return false, err
	}
	n, err := s.count(ctx, in, all, q.Most+1)
	if err == nil {
		err = q.Check(user, n-1)
	}
	if err == nil {
		err = s.openUser(ctx, user)
	}
	if err != nil {
		_, failed := s.remove(ctx, in, m{"_id": doc["_id"]})
		return false, cmp.Or(failed, err)
	}
	return true, nil
}

// identityDoc is an identity. Its id is issuer and subject; an issuer has no space.
type identityDoc struct {
	ID      string `bson:"_id"`
	User    string `bson:"user"`
	Created int64  `bson:"created"`
}

func (d identityDoc) identity() school.Identity {
	issuer, subject, _ := strings.Cut(d.ID, " ")
	return school.Identity{Issuer: issuer, Subject: subject, User: d.User, Created: d.Created}
}

// AddIdentity ties an identity to a user, see school.Accounts.
func (s *Store) AddIdentity(ctx context.Context, id school.Identity) error {
	if err := cmp.Or(core.CheckName("user", id.User), bounds.IdentityKey(id.Issuer, id.Subject)); err != nil {
		return err
	}
	doc := m{"_id": id.Issuer + " " + id.Subject, "user": id.User, "created": id.Created}
	is, err := s.own(ctx, identities, id.User, doc, m{"user": id.User}, school.IdentityQuota)
	if err != nil || is {
		return err
	}
	there, err := s.GetIdentity(ctx, id.Issuer, id.Subject)
	switch {
	case core.Is(err, core.CodeNotFound): // it was removed just now
		return s.AddIdentity(ctx, id)
	case err != nil:
		return err
	case there.User != id.User:
		return school.IdentityTaken(id.User, id.Issuer)
	}
	return nil
}

// GetIdentity returns the user of an identity, see school.Accounts.
func (s *Store) GetIdentity(ctx context.Context, issuer, subject string) (school.Identity, error) {
	if err := bounds.IdentityKey(issuer, subject); err != nil {
		return school.Identity{}, err
	}
	doc, found, err := one[identityDoc](ctx, s, identities, m{"_id": issuer + " " + subject})
	if err == nil && !found {
		err = school.NoIdentity(issuer)
	}
	if err != nil {
		return school.Identity{}, err
	}
	return doc.identity(), nil
}

// Identities lists a user's identities, see school.Accounts.
func (s *Store) Identities(ctx context.Context, user string) ([]school.Identity, error) {
	docs, err := some[identityDoc](ctx, s, identities, m{"user": user}, nil, 0)
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	all := make([]school.Identity, len(docs))
	for i, doc := range docs {
		all[i] = doc.identity()
	}
	slices.SortFunc(all, func(a, b school.Identity) int {
		return cmp.Or(strings.Compare(a.Issuer, b.Issuer), strings.Compare(a.Subject, b.Subject))
	})
	return all, nil
}

// RemoveIdentity removes an identity of a user, see school.Accounts.
func (s *Store) RemoveIdentity(ctx context.Context, user, issuer, subject string) (bool, error) {
	n, err := s.remove(ctx, identities, m{"_id": issuer + " " + subject, "user": user})
	return n == 1, err
}
