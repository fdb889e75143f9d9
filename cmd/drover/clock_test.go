package main

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"drover/cmd/drover/access"
	"drover/core"
)

// clockAhead makes a client of Redis find the server's clock ahead of this host's.
type clockAhead struct {
	redis.Hook
	by time.Duration
}

func (clockAhead) DialHook(next redis.DialHook) redis.DialHook { return next }

func (clockAhead) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (a clockAhead) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if told, is := cmd.(*redis.TimeCmd); is {
			told.SetVal(told.Val().Add(a.by))
		}
		return err
	}
}

// When a request was submitted is noted, and how long it has waited is judged, by Redis' clock:
// other hosts do either.
func TestRequestsAreSubmittedByRedisClock(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	const by = 25 * time.Hour
	h.cluster.Redis.Client().AddHook(clockAhead{by: by})
	h.pool()
	row, _, err := h.cluster.Intake.Submit(t.Context(), core.Spec{Pool: access.DefaultPool, Submitter: "ann", Command: []string{"true"}})
	require.NoError(t, err)
	require.Greater(t, time.Until(time.UnixMilli(row.Spec.Submitted)), by-time.Hour)
	require.Greater(t, time.Until(h.cluster.Now()), by-time.Hour)
}
