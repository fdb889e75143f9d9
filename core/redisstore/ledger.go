package redisstore

import (
	"context"
	"errors"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// Join says which result store is this program's ledger, by its id. The first
// program to join decides for the whole namespace; where Redis lost that, the next
// one. Returns CONFLICT if another store is the herd's, VERSION, UNAVAILABLE.
func (s *Store) Join(ctx context.Context, store string) error {
	_, err := s.run(ctx, "join", "", Schema, store, flag(false))
	if its := refusedFor(err, core.CodeConflict); its != "" {
		return anotherStore(its, store)
	}
	return err
}

// Adopt makes another result store the herd's ledger. Returns BUSY while an owner is
// alive that would go on with the one before, VERSION, UNAVAILABLE.
func (s *Store) Adopt(ctx context.Context, store string) error {
	_, err := s.run(ctx, "join", "", Schema, store, flag(true))
	if owner := refusedFor(err, core.CodeBusy); owner != "" {
		return core.Errorf(core.CodeBusy, owner, "%s still works with the result store before: stop all components of the herd first", owner)
	}
	return err
}

// Ledger returns the id of the result store that is the herd's, "" if nobody has
// joined yet.
func (s *Store) Ledger(ctx context.Context) (string, error) {
	id, err := s.db.HGet(ctx, s.space.Key("meta"), "store").Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return id, fault(ctx, err, "")
}

// SameLedger returns CONFLICT if another result store is the herd's. It only looks.
func (s *Store) SameLedger(ctx context.Context, store string) error {
	its, err := s.Ledger(ctx)
	if err == nil && its != "" && its != store {
		return anotherStore(its, store)
	}
	return err
}

func anotherStore(its, ours string) error {
	return core.Errorf(core.CodeConflict, its, "the herd's result store is another one (its id is %s, that of the one named is %s)", its, ours)
}

// refusedFor returns what a script refused with the code, "" if it did not.
func refusedFor(err error, code core.Code) string {
	var refused *core.Error
	if errors.As(err, &refused) && refused.Code == code {
		return refused.ID
	}
	return ""
}
