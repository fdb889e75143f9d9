package redisstore_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

// BenchmarkAClaim measures a job's claim and end, for an owner with so many slots that ends and claims so many at once, in
// an empty cluster and in one of a million waiting requests, see largeCrowd. One op is one call. The metric is Redis' time for
// a job in the fastest tenth of the calls, which other work on the machine hardly delays.
func BenchmarkAClaim(b *testing.B) {
	for _, c := range []struct{ slots, batch int }{{1, 1}, {100, 30}, {1000, 60}} {
		b.Run(fmt.Sprintf("slots=%d/batch=%d", c.slots, c.batch), func(b *testing.B) {
			plain, large := newClaimant(b, c.slots, c.batch), newClaimant(b, c.slots, c.batch)
			largeCrowd.come(b, large.suite, *manyWaiting)
			for b.Loop() {
				plain.turn(b)
				large.turn(b)
			}
			was, is := plain.job(), large.job()
			b.ReportMetric(was, "empty-us/job")
			b.ReportMetric(is, "crowd-us/job")
			b.ReportMetric(is/was, "crowd/empty")
		})
	}
}

// claimant is an owner that keeps its slots full.
type claimant struct {
	*suite
	slots, batch int
	seq          int64
	made         int
	held         []core.Claim
	took         []time.Duration
}

func newClaimant(b *testing.B, slots, batch int) *claimant {
	backend := coretest.Alone(b)
	c := &claimant{suite: &suite{Cluster: coretest.NewCluster(b, backend.Open(b), "h1", "p1"), b: backend}, slots: slots, batch: batch}
	pool := core.DefaultPool("p1")
	pool.MaxWaiting, pool.Max = 1<<30, core.MaxPoolVMs
	require.NoError(b, c.Store.SetPool(b.Context(), pool))
	require.NoError(b, backend.Admin.ConfigSet(b.Context(), "slowlog-log-slower-than", "20").Err())
	for len(c.held) < slots {
		c.supply(b, batch)
		c.held = append(c.held, c.call(b, min(batch, slots-len(c.held)), nil)...)
	}
	return c
}

// supply submits n requests and makes as many clean VMs.
func (c *claimant) supply(b *testing.B, n int) {
	b.Helper()
	all := specs(fmt.Sprintf("claimed%d-", c.made), n, "zoe")
	c.made++
	c.Submit(b, all...)
	c.AddVMs(b, n)
}

// turn ends some claims and makes as many.
func (c *claimant) turn(b *testing.B) {
	b.Helper()
	c.supply(b, c.batch)
	require.NoError(b, c.b.Admin.Do(b.Context(), "SLOWLOG", "RESET").Err())
	c.next(b)
	log, err := c.b.Admin.SlowLogGet(b.Context(), 10).Result()
	require.NoError(b, err)
	for _, e := range log {
		if strings.EqualFold(e.Args[0], "evalsha") {
			c.took = append(c.took, e.Duration)
		}
	}
}

// next ends the oldest claims of a batch and makes as many.
func (c *claimant) next(b *testing.B) {
	b.Helper()
	ended := c.held[:c.batch]
	c.held = append(slices.Clone(c.held[c.batch:]), c.call(b, c.batch, ended)...)
}

func (c *claimant) call(b *testing.B, want int, ended []core.Claim) []core.Claim {
	b.Helper()
	c.seq++
	got, err := c.Store.Exchange(context.Background(), c.Call(c.seq, want, ends(ended, core.OutcomeDone)...))
	require.NoError(b, err)
	require.Len(b, got.Claims, want)
	return got.Claims
}

// job is what Redis takes for a job, µs.
func (c *claimant) job() float64 {
	slices.Sort(c.took)
	tenth := c.took[:max(1, len(c.took)/10)]
	var sum time.Duration
	for _, d := range tenth {
		sum += d
	}
	return float64(sum.Microseconds()) / float64(len(tenth)) / float64(c.batch)
}

// BenchmarkLists measures the readings behind lists and rounds of the overseer in a crowd, and how fast a Redis without
// requests gets them back, in pages as the sweep sends them.
func BenchmarkLists(b *testing.B) {
	backend := coretest.Alone(b)
	x := &suite{Cluster: coretest.NewCluster(b, backend.Open(b), "h1", "p1"), b: backend}
	largeCrowd.come(b, x, *manyWaiting)
	queues, err := x.Store.Waiting(b.Context())
	require.NoError(b, err)
	pool := core.DefaultPool("p1")
	pool.MaxWaiting = 1 << 30
	require.NoError(b, x.Store.SetPool(b.Context(), pool))
	refill := 0
	for name, read := range map[string]func() error{
		"hosts":              func() error { return coretest.ErrOf(x.Store.ListHosts(b.Context())) },
		"owners":             func() error { return coretest.ErrOf(x.Store.ListOwners(b.Context())) },
		"VMs of all hosts":   func() error { return coretest.ErrOf(x.Store.ListVMs(b.Context(), "")) },
		"VMs of a host":      func() error { return coretest.ErrOf(x.Store.ListVMs(b.Context(), "m7")) },
		"pools":              func() error { return coretest.ErrOf(x.Store.ListPools(b.Context())) },
		"what waits":         func() error { return coretest.ErrOf(x.Store.Waiting(b.Context())) },
		"turns of 50 queues": func() error { return coretest.ErrOf(x.Store.Turns(b.Context(), queues[:50], 20)) },
		"capacities":         func() error { return coretest.ErrOf(x.Store.Capacities(b.Context())) },
		"ground of a round":  func() error { return coretest.ErrOf(x.Store.Ground(b.Context())) },
		"500 requests again": func() error {
			refill++
			return coretest.ErrOf(x.Store.Enqueue(b.Context(), specs(fmt.Sprintf("again%d-", refill), 500, fmt.Sprintf("s%d", refill))))
		},
	} {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, read())
			}
		})
	}
}
