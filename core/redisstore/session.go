package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// sessionMark is how long an ended session is remembered: longer than any request that was in progress at its end.
const sessionMark = time.Hour

// Sessions keeps the data of the site's sessions, by the hashes of their tokens. It is a store of
// github.com/alexedwards/scs. Unlike the library's own it works with Sentinel, and an ended
// session stays ended.
type Sessions struct{ store *Store }

// Sessions returns the site's sessions.
func (s *Store) Sessions() Sessions { return Sessions{s} }

// FindCtx returns the data of a session, and whether there is one.
func (s Sessions) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	data, err := s.store.db.Get(ctx, s.store.space.Key("web_session", token)).Bytes()
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, false, fault(ctx, err, "")
	}
	return data, len(data) > 0, nil
}

// CommitCtx keeps the data of a session until a time, unless the session was ended.
func (s Sessions) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	_, err := s.store.run(ctx, "session_keep", "", token, data, max(1, time.Until(expiry).Milliseconds()))
	return err
}

// DeleteCtx ends a session.
func (s Sessions) DeleteCtx(ctx context.Context, token string) error {
	_, err := s.store.run(ctx, "session_end", "", token, sessionMark.Milliseconds())
	return err
}

// Find is FindCtx.
func (s Sessions) Find(token string) ([]byte, bool, error) {
	return s.FindCtx(context.Background(), token)
}

// Commit is CommitCtx.
func (s Sessions) Commit(token string, data []byte, expiry time.Time) error {
	return s.CommitCtx(context.Background(), token, data, expiry)
}

// Delete is DeleteCtx.
func (s Sessions) Delete(token string) error { return s.DeleteCtx(context.Background(), token) }
