package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// quiet drops what the client library would print by itself: every failure is also returned as an error, which the
// caller reports.
type quiet struct{}

// Printf implements the library's logger.
func (quiet) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(quiet{}) }
