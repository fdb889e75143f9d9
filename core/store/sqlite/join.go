package sqlite

import (
	"cmp"
	"context"

	"drover/core"
)

// PutJoinToken makes or changes a token, see core.JoinTokens.
func (s *Store) PutJoinToken(ctx context.Context, token core.JoinToken) (int64, error) {
	if err := cmp.Or(core.CheckName("join token", token.ID), core.CheckRevision(token.ID, token.Revision)); err != nil {
		return 0, err
	}
	row := revised{what: "join token " + token.ID, table: "join_tokens", key: []column{{"id", token.ID}}, revision: token.Revision}
	token.Revision++
	doc, err := encode(token, token.ID)
	if err != nil {
		return 0, err
	}
	row.columns = []column{{"doc", doc}}
	return commit(ctx, s.committer, token.ID, len(doc), func(t *tx) (int64, error) {
		if row.revision == 0 {
			if err := t.room(core.JoinQuota, token.ID, "SELECT count(*) FROM join_tokens WHERE id <> ?", token.ID); err != nil {
				return 0, err
			}
		}
		return t.put(row)
	})
}

// GetJoinToken returns a token, see core.JoinTokens.
func (s *Store) GetJoinToken(ctx context.Context, id string) (core.JoinToken, error) {
	return single[core.JoinToken](ctx, s, core.NoJoinToken(id), "SELECT doc FROM join_tokens WHERE id = ?", id)
}

// JoinTokens lists all tokens, see core.JoinTokens.
func (s *Store) JoinTokens(ctx context.Context) ([]core.JoinToken, error) {
	return documents[core.JoinToken](ctx, s, "SELECT doc FROM join_tokens ORDER BY id")
}

// DeleteJoinToken removes a token, see core.JoinTokens.
func (s *Store) DeleteJoinToken(ctx context.Context, id string) error {
	_, err := commit(ctx, s.committer, id, 0, func(t *tx) (int, error) {
		n, err := t.exec("DELETE FROM join_tokens WHERE id = ?", id)
		if err == nil && n == 0 {
			err = core.NoJoinToken(id)
		}
		return n, err
	})
	return err
}
