package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"drover/core"
	"drover/core/school"
)

// PutRosterImport makes or changes the record of a class's last import, see school.Roster.
func (s *Store) PutRosterImport(ctx context.Context, i school.RosterImport) (int64, error) {
	if err := cmp.Or(core.CheckName("class", i.Class), core.CheckRevision(i.Class, i.Revision)); err != nil {
		return 0, err
	}
	row := revised{what: "import into " + i.Class, table: "roster_imports", key: []column{{"class", i.Class}}, revision: i.Revision}
	i.Revision++
	doc, err := encode(i, i.Class)
	if err != nil {
		return 0, err
	}
	row.columns = []column{{"doc", doc}}
	return commit(ctx, s.committer, i.Class, len(doc), func(t *tx) (int64, error) {
		if err := t.open(i.Class); err != nil {
			return 0, err
		}
		return t.put(row)
	})
}

// GetRosterImport returns the record of a class's last import, see school.Roster.
func (s *Store) GetRosterImport(ctx context.Context, class string) (school.RosterImport, error) {
	return single[school.RosterImport](ctx, s, school.NoRosterImport(class), "SELECT doc FROM roster_imports WHERE class = ?", class)
}

// GetUsers finds users by handles and e-mail addresses, see school.Roster.
func (s *Store) GetUsers(ctx context.Context, keys []string) ([]school.User, error) {
	list, err := keyList(keys)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	all, err := documents[school.User](ctx, s, `SELECT doc FROM users WHERE handle IN (SELECT value FROM json_each(?1))
		OR email <> '' AND email IN (SELECT value FROM json_each(?1))`, list)
	slices.SortFunc(all, func(a, b school.User) int { return cmp.Compare(a.Handle, b.Handle) })
	return all, err
}

// keyList returns names as JSON, for json_each.
func keyList(keys []string) (string, error) {
	if err := school.CheckKeys(keys); err != nil {
		return "", err
	}
	list, err := json.Marshal(keys)
	return string(list), core.Wrap(err, core.CodeInvalid, "", "the names cannot be written as JSON")
}

// WaysIn says how users can sign in, see school.Accounts.
func (s *Store) WaysIn(ctx context.Context, users []string) ([]school.WayIn, error) {
	list, err := keyList(users)
	if err != nil || len(users) == 0 {
		return nil, err
	}
	var all []school.WayIn
	at := map[string]int{}
	err = s.rows(ctx, `SELECT u.handle, coalesce(a.password, '') <> '', coalesce(CAST(a.doc AS TEXT) ->> '$.changed_ms', 0),
		(SELECT count(*) FROM identities i WHERE i.user = u.handle),
		EXISTS (SELECT 1 FROM enrolments e WHERE e.user = u.handle AND e.role <> ?)
		FROM users u LEFT JOIN accounts a ON a.user = u.handle
		WHERE u.handle IN (SELECT value FROM json_each(?)) ORDER BY u.handle`, []any{string(core.RoleStudent), list}, func(rows *sql.Rows) error {
		var w school.WayIn
		err := rows.Scan(&w.User, &w.Password, &w.Changed, &w.Identities, &w.Staff)
		at[w.User] = len(all)
		all = append(all, w)
		return err
	})
	if err != nil {
		return nil, err
	}
	invited, err := s.tokens(ctx, "SELECT hash, used, doc FROM tokens WHERE kind = ? AND user IN (SELECT value FROM json_each(?))",
		string(school.TokenInvite), list)
	for n := range invited {
		next := &invited[n]
		i, is := at[next.User]
		if !is {
			continue
		}
		if last := all[i].Invitation; last == nil || cmp.Or(cmp.Compare(last.Created, next.Created), cmp.Compare(last.ID, next.ID)) < 0 {
			all[i].Invitation = next
		}
	}
	return all, err
}
