package redisstore

import (
	"context"
	"errors"
	"strings"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// refusals explain what a server that answers does not do, and what helps, by the first word of its answer.
var refusals = map[string]string{ //nolint:gosec // it names passwords, and has none
	"READONLY":   "this Redis is a replica and takes no writes: name the primary, or its Sentinels with redis+sentinel://",
	"MISCONF":    "Redis takes no writes, since it cannot save its data: free its disk, and see its log",
	"NOREPLICAS": "Redis takes no writes, since fewer replicas follow it than its min-replicas-to-write: start the missing ones",
	"WRONGPASS":  "Redis refuses the user or its password: check the user in the Redis URL, and the file that redis_password_file names",
	"NOAUTH":     "Redis asks for a user and a password: name the user in the Redis URL, and the file of the password with redis_password_file",
	"NOPERM":     "Redis does not allow its user what drover needs: give the user those rights (see A cluster on many machines in docs/operations.md)",
	"LOADING":    "Redis is reading its data from disk: wait",
	"MASTERDOWN": "this Redis is a replica that has lost its primary: name the primary, or its Sentinels with redis+sentinel://",
	"OOM":        "Redis is full (maxmemory): raise it, or wait until work has ended",
}

// fault makes a core error of an error from Redis or the connection. If the caller's own context ended, its error is
// returned unchanged.
func fault(ctx context.Context, err error, id string) error {
	if err == nil {
		return nil
	}
	var refused redis.Error
	var known *core.Error
	switch {
	case errors.As(err, &refused):
		word, detail, _ := strings.Cut(refused.Error(), " ")
		if sentence, ok := sentences[core.Code(word)]; ok {
			return core.Errorf(core.Code(word), detail, sentence, detail)
		}
		if word == "OOM" {
			return core.Errorf(core.CodeFull, id, "%s", refusals[word])
		}
		if strings.Contains(refused.Error(), inScript) {
			word = "NOPERM"
		}
		if sentence, ok := refusals[word]; ok {
			return core.Wrap(err, core.CodeUnavailable, id, "%s", sentence)
		}
	case errors.As(err, &known):
		return err // of the check of a new connection
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if refused == nil {
		return core.Wrap(err, core.CodeUnavailable, id, silent)
	}
	return core.Wrap(err, core.CodeUnavailable, id, "Redis did not do it")
}

// inScript is how Redis says NOPERM of a command that a script calls.
const inScript = "The user executing the script can't"

const silent = "Redis does not answer"

// IsSilent reports whether an error of this package says that no server answered, rather than that one refused.
func IsSilent(err error) bool {
	var fault *core.Error
	return errors.As(err, &fault) && fault.Code == core.CodeUnavailable && fault.Text == silent
}

// CheckWrites does what Ping does, and checks that Redis takes writes. Returns UNAVAILABLE, FULL or VERSION.
func (s *Store) CheckWrites(ctx context.Context) error {
	if err := s.Ping(ctx); err != nil {
		return err
	}
	// A write that changes nothing: it needs a list, which meta is not. Redis says so only after it has seen whether it
	// takes writes at all.
	err := s.db.LPushX(ctx, s.space.Key("meta"), "").Err()
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return nil
	}
	return fault(ctx, err, "")
}
