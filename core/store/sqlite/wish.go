package sqlite

import (
	"context"
	"database/sql"

	"drover/core"
)

// PutHostWish stores a wish for a host, see core.HostWishes.
func (s *Store) PutHostWish(ctx context.Context, w core.HostWish) (bool, error) {
	if err := core.CheckNames("host", w.Host, "kind of wish", string(w.Kind)); err != nil {
		return false, err
	}
	doc, err := encode(w, w.Host)
	if err != nil {
		return false, err
	}
	return commit(ctx, s.committer, w.Host, len(doc), func(t *tx) (bool, error) {
		if err := t.room(core.WishQuota, w.Host, "SELECT count(*) FROM host_wishes WHERE NOT (host = ? AND kind = ?)", w.Host, w.Kind); err != nil {
			return false, err
		}
		n, err := t.exec(`INSERT INTO host_wishes (host, kind, at, doc) VALUES (?1, ?2, ?3, ?4)
			ON CONFLICT DO UPDATE SET at = ?3, doc = ?4 WHERE at <= ?3`, w.Host, w.Kind, w.At, doc)
		return n == 1, err
	})
}

// HostWishes lists the wishes for a host or for all, see core.HostWishes.
func (s *Store) HostWishes(ctx context.Context, host string) ([]core.HostWish, error) {
	var all []core.HostWish
	query, args := "SELECT doc FROM host_wishes ORDER BY host, kind", []any{}
	if host != "" {
		query, args = "SELECT doc FROM host_wishes WHERE host = ? ORDER BY kind", []any{host}
	}
	err := s.rows(ctx, query, args, func(rows *sql.Rows) error {
		var doc sql.RawBytes
		if err := rows.Scan(&doc); err != nil {
			return err
		}
		var w core.HostWish
		err := decode(doc, &w, "a wish of a host")
		all = append(all, w)
		return err
	})
	return all, err
}

// ForgetHostWishes removes the wishes for a host, see core.HostWishes.
func (s *Store) ForgetHostWishes(ctx context.Context, host string) (int, error) {
	return commit(ctx, s.committer, host, 0, func(t *tx) (int, error) { return t.exec("DELETE FROM host_wishes WHERE host = ?", host) })
}
