package coretest

import (
	"context"
	"net"
	"strings"
	"testing"

	"drover/core"
	"drover/core/redisstore"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Twice makes every script of the store run twice and answer with its second
// reply: what a client meets that repeats a call because the first reply was lost.
func Twice(s *redisstore.Store) { s.Client().AddHook(twice{}) }

type twice struct{}

func (twice) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (twice) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if name := cmd.Name(); name != "evalsha" && name != "eval" || redis.HasErrorPrefix(err, "NOSCRIPT") {
			return err
		}
		return next(ctx, cmd)
	}
}

func (twice) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// RequireSound requires that a consistency check of the namespace finds nothing.
func RequireSound(t testing.TB, a core.Consistency) {
	t.Helper()
	found, err := a.CheckConsistency(context.Background())
	require.NoError(t, err)
	var lines []string
	for _, v := range found {
		lines = append(lines, string(v.Rule)+" "+v.ID+": "+v.Text)
	}
	require.Empty(t, lines, strings.Join(lines, "\n"))
}
