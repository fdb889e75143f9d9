package redisstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestPools(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		p := core.DefaultPool("p2")
		p.Max, p.Paused, p.MaxWait = 3, true, time.Hour
		before := x.picture(t)
		require.NoError(t, x.Store.SetPool(ctx, p))
		diff := before.To(x.picture(t))
		require.Contains(t, diff, "+ pool:p2 paused: 1")
		require.Contains(t, diff, "+ pool:p2 max_waiting: 10000")
		require.Contains(t, diff, "+ pool:p2 max: 3")
		got, err := x.Store.GetPool(ctx, "p2")
		require.NoError(t, err)
		require.Equal(t, p, got)
		all, err := x.Store.ListPools(ctx)
		require.NoError(t, err)
		require.Len(t, all, 2)
		require.Equal(t, "p1", all[0].Name)
		p.Paused = false
		require.NoError(t, x.Store.SetPool(ctx, p))
		got, err = x.Store.GetPool(ctx, "p2")
		require.NoError(t, err)
		require.False(t, got.Paused)
	})
}

func TestAPoolThatIsRemovedWhileAllAreListedIsNone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		require.NoError(t, x.Store.Client().SAdd(t.Context(), x.Store.Namespace().Key("pools"), "gone").Err())
		all, err := x.Store.ListPools(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.Equal(t, "p1", all[0].Name)
		require.NoError(t, x.Store.Client().SRem(t.Context(), x.Store.Namespace().Key("pools"), "gone").Err())
	})
}

func TestPoolsRefuse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		before := x.picture(t)
		_, err := x.Store.GetPool(ctx, "nosuch")
		refused(t, err, core.CodeNotFound)
		_, err = x.Store.GetPool(ctx, "No Name")
		refused(t, err, core.CodeInvalid)
		bad := core.DefaultPool("p2")
		bad.Max = 0
		refused(t, x.Store.SetPool(ctx, bad), core.CodeInvalid)
		x.changed(t, before)
	})
}

// A pool that is set again keeps its place in the order of priorities.
func TestSetPoolKeepsTheTurns(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.claim(t, 1, "a")
		require.NoError(t, x.Store.SetPool(t.Context(), core.DefaultPool("p1")))
		require.Contains(t, x.picture(t), "pool:p1 tickets: 1")
	})
}

// A pool that is set or removed concerns all hosts, however many there are: no call looks at more than some hundreds of
// them.
func TestAPoolConcernsEachOfManyHosts(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	ctx, db := t.Context(), x.b.Admin
	const hosts = 600
	for i := range hosts {
		host := fmt.Sprintf("n%d", i)
		require.NoError(t, db.ZAdd(ctx, x.key("hosts"), redis.Z{Member: host, Score: 1}).Err())
		require.NoError(t, db.RPush(ctx, x.key("clean", host, "p2"), host+"-vm").Err())
	}
	require.NoError(t, x.Store.SetPool(ctx, core.DefaultPool("p2")))
	for i := range hosts {
		require.EqualValues(t, 1, db.Exists(ctx, x.key("bell", fmt.Sprintf("n%d", i))).Val(), i)
	}
	require.NoError(t, x.Store.RemovePool(ctx, "p2", false))
	for i := range hosts {
		host := fmt.Sprintf("n%d", i)
		require.Equal(t, []string{host + "-vm"}, db.LRange(ctx, x.key("dirty", host), 0, -1).Val())
		require.Zero(t, db.Exists(ctx, x.key("clean", host, "p2")).Val())
	}
}

// What was claimed while the running requests were counted is noticed: they are counted again.
func TestAClaimWhileAPoolIsRemoved(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	claimed := &onScan{do: func() { x.claim(t, 1, "a") }}
	x.Store.Client().AddHook(claimed)
	err := x.Store.RemovePool(t.Context(), "p1", false)
	refused(t, err, core.CodeConflict)
	require.Contains(t, err.Error(), "1 running request")
	require.Equal(t, 2, claimed.scans)
}

// onScan does something after the first reading of what runs.
type onScan struct {
	do    func()
	scans int
}

func (o *onScan) DialHook(next redis.DialHook) redis.DialHook { return next }

func (o *onScan) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (o *onScan) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if cmd.Name() == "hscan" {
			if o.scans++; o.scans == 1 {
				o.do()
			}
		}
		return err
	}
}
