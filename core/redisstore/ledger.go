package redisstore

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// Stores are the ids of a cluster's stores.
type Stores struct {
	Results string // of the result store, the cluster's ledger
	Blobs   string // of the blob store; "" if it is not known
}

// Join announces which stores this program works with. The first program to join decides for the whole namespace; if
// Redis loses the ids, the next one does. A blob store with an unknown id is not compared. Returns CONFLICT if the
// cluster has other stores, VERSION, UNAVAILABLE. The ID of a CONFLICT is the setting that names another store: store
// or blobs.
func (s *Store) Join(ctx context.Context, ours Stores) error {
	_, err := s.run(ctx, "join", "", Schema, ours.Results, ours.Blobs, flag(false))
	if its := refusedFor(err, core.CodeConflict); its != "" {
		setting, id, _ := strings.Cut(its, ":")
		return anotherStore(setting, id, ours)
	}
	return err
}

// Adopt switches the cluster to other stores. Returns BUSY while an owner is alive, or late by less than a minute,
// since it would go on with the old ones; VERSION, UNAVAILABLE.
func (s *Store) Adopt(ctx context.Context, ours Stores) error {
	_, err := s.run(ctx, "join", "", Schema, ours.Results, ours.Blobs, flag(true))
	if owner := refusedFor(err, core.CodeBusy); owner != "" {
		return core.Errorf(core.CodeBusy, owner, "%s still works with the stores before: stop all components of the cluster first; one that was killed counts until it is late by a minute", owner)
	}
	return err
}

// FindWorking returns the name of an owner in a namespace, of whatever schema, that is alive or late by less than a
// minute; "" if there is none.
func FindWorking(ctx context.Context, opts Options) (_ string, err error) {
	s, err := prepare(opts)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	now, err := s.once.Time(ctx).Result()
	if err != nil {
		return "", fault(ctx, err, "")
	}
	names, err := s.once.ZRangeArgs(ctx, redis.ZRangeArgs{
		Key: s.space.Key("owners"), ByScore: true, Start: strconv.FormatInt(now.Add(-time.Minute).UnixMilli(), 10), Stop: "+inf", Count: 1,
	}).Result()
	return strings.Join(names, ""), fault(ctx, err, "")
}

// Ledger returns the ids of the cluster's stores, "" for one that no program has announced.
func (s *Store) Ledger(ctx context.Context) (Stores, error) {
	ids, err := s.db.HMGet(ctx, s.space.Key("meta"), "store", "blobs").Result()
	if err != nil {
		return Stores{}, fault(ctx, err, "")
	}
	return Stores{Results: str(ids[0]), Blobs: str(ids[1])}, nil
}

// SameLedger returns CONFLICT as Join does. It changes nothing.
func (s *Store) SameLedger(ctx context.Context, ours Stores) error {
	its, err := s.Ledger(ctx)
	switch {
	case err != nil:
		return err
	case its.Results != "" && its.Results != ours.Results:
		return anotherStore("store", its.Results, ours)
	case its.Blobs != "" && ours.Blobs != "" && its.Blobs != ours.Blobs:
		return anotherStore("blobs", its.Blobs, ours)
	}
	return nil
}

func anotherStore(setting, its string, ours Stores) error {
	what, id := "result store", ours.Results
	if setting == "blobs" {
		what, id = "blob store", ours.Blobs
	}
	return core.Errorf(core.CodeConflict, setting, "the cluster's %s is another one (its id is %s, that of the one named is %s)", what, its, id)
}

// refusedFor returns the detail of a script's refusal with the code, "" for any other error.
func refusedFor(err error, code core.Code) string {
	var refused *core.Error
	if errors.As(err, &refused) && refused.Code == code {
		return refused.ID
	}
	return ""
}
