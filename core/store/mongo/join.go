package mongo

import (
	"cmp"
	"context"

	"drover/core"
)

// PutJoinToken makes or changes a token, see core.JoinTokens. (Concurrent calls may make a few more than the maximum.)
func (s *Store) PutJoinToken(ctx context.Context, t core.JoinToken) (int64, error) {
	if err := cmp.Or(core.CheckName("join token", t.ID), core.CheckRevision(t.ID, t.Revision)); err != nil {
		return 0, err
	}
	r := revised{what: "join token " + t.ID, in: joins, id: t.ID, name: t.ID, revision: t.Revision}
	t.Revision++
	doc, err := encode(t, t.ID)
	if err != nil {
		return 0, err
	}
	r.fields = m{"json": doc}
	if r.revision == 0 {
		if err := s.room(ctx, core.JoinQuota, t.ID, joins, m{"_id": m{"$ne": t.ID}}); err != nil {
			return 0, err
		}
	}
	return s.revise(ctx, r)
}

// GetJoinToken returns a token, see core.JoinTokens.
func (s *Store) GetJoinToken(ctx context.Context, id string) (core.JoinToken, error) {
	return single[core.JoinToken](ctx, s, core.NoJoinToken(id), joins, m{"_id": id})
}

// JoinTokens lists all tokens, see core.JoinTokens.
func (s *Store) JoinTokens(ctx context.Context) ([]core.JoinToken, error) {
	return documents[core.JoinToken](ctx, s, joins, m{}, by("_id"), 0)
}

// DeleteJoinToken removes a token, see core.JoinTokens.
func (s *Store) DeleteJoinToken(ctx context.Context, id string) error {
	n, err := s.remove(ctx, joins, m{"_id": id})
	if err == nil && n == 0 {
		err = core.NoJoinToken(id)
	}
	return err
}
