package mongo

import (
	"cmp"
	"context"

	"drover/core"
	"drover/core/school"
)

// PutRosterImport makes or changes the record of a class's last import, see school.Roster.
func (s *Store) PutRosterImport(ctx context.Context, i school.RosterImport) (int64, error) {
	if err := cmp.Or(core.CheckName("class", i.Class), core.CheckRevision(i.Class, i.Revision)); err != nil {
		return 0, err
	}
	if err := s.openClass(ctx, i.Class); err != nil {
		return 0, err
	}
	r := revised{what: "import into " + i.Class, in: imports, id: i.Class, name: i.Class, revision: i.Revision}
	i.Revision++
	doc, err := encode(i, i.Class)
	if err != nil {
		return 0, err
	}
	r.fields = m{"json": doc}
	revision, err := s.revise(ctx, r)
	if err != nil {
		return 0, err
	}
	if err := s.openClass(ctx, i.Class); err != nil { // it was deleted in the meantime
		_, _ = s.remove(ctx, imports, m{"_id": i.Class})
		return 0, err
	}
	return revision, nil
}

// GetRosterImport returns the record of a class's last import, see school.Roster.
func (s *Store) GetRosterImport(ctx context.Context, class string) (school.RosterImport, error) {
	return single[school.RosterImport](ctx, s, school.NoRosterImport(class), imports, m{"_id": class})
}

// GetUsers finds users by handles and e-mail addresses, see school.Roster.
func (s *Store) GetUsers(ctx context.Context, keys []string) ([]school.User, error) {
	if err := school.CheckKeys(keys); err != nil || len(keys) == 0 {
		return nil, err
	}
	return documents[school.User](ctx, s, users, m{"$or": []m{{"_id": m{"$in": keys}}, {"email": m{"$in": keys}}}}, by("_id"), 0)
}

// WaysIn says how users can sign in, see school.Accounts.
func (s *Store) WaysIn(ctx context.Context, handles []string) ([]school.WayIn, error) {
	if err := school.CheckKeys(handles); err != nil || len(handles) == 0 {
		return nil, err
	}
	docs, err := some[struct {
		ID      string              `bson:"_id"`
		In      map[string]enrolled `bson:"in"`
		Account *account            `bson:"account"`
	}](ctx, s, users, m{"_id": m{"$in": handles}, "gone": absent}, by("_id"), 0, "in", "account")
	if err != nil {
		return nil, err
	}
	all, at := make([]school.WayIn, len(docs)), map[string]int{}
	for i, doc := range docs {
		at[doc.ID], all[i].User = i, doc.ID
		for _, e := range doc.In {
			all[i].Staff = all[i].Staff || e.Role != core.RoleStudent
		}
		if doc.Account != nil {
			var a school.Account
			if err := decode(doc.Account.JSON, &a, doc.ID); err != nil {
				return nil, err
			}
			all[i].Password, all[i].Changed = doc.Account.Password != "", a.ChangedAt
		}
	}
	return all, s.fillWaysIn(ctx, handles, all, at)
}

// fillWaysIn adds identities and invitations.
func (s *Store) fillWaysIn(ctx context.Context, handles []string, all []school.WayIn, at map[string]int) error {
	ids, err := some[identityDoc](ctx, s, identities, m{"user": m{"$in": handles}}, nil, 0, "user")
	if err != nil {
		return err
	}
	for _, id := range ids {
		if i, is := at[id.User]; is {
			all[i].Identities++
		}
	}
	docs, err := some[tokenDoc](ctx, s, tokens, m{"user": m{"$in": handles}, "kind": school.TokenInvite}, by("created", "_id"), 0)
	if err != nil {
		return err
	}
	for n := range docs {
		t, err := docs[n].token()
		if err != nil {
			return err
		}
		if i, is := at[t.User]; is {
			all[i].Invitation = &t
		}
	}
	return nil
}
