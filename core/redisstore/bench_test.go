package redisstore_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

// BenchmarkExchange measures what the hot path costs the server: submit in
// batches, then finish n and claim n in one call. One op is one job; redis-us/op
// is the server's own account of the time in scripts.
func BenchmarkExchange(b *testing.B) {
	for _, batch := range []int{1, 64} {
		for _, submitters := range []int{1, 10_000} {
			b.Run(fmt.Sprintf("batch=%d/submitters=%d", batch, submitters), func(b *testing.B) {
				benchExchange(b, batch, submitters)
			})
		}
	}
}

func benchExchange(b *testing.B, batch, submitters int) {
	backend := coretest.Real(b)
	h := coretest.NewCluster(b, backend.Open(b), "h1", "p1")
	pool := core.DefaultPool("p1")
	pool.MaxWaiting, pool.Max = 1<<30, core.MaxPoolVMs
	ctx := context.Background()
	require.NoError(b, h.Store.SetPool(ctx, pool))
	for range b.N/1000 + 1 {
		h.AddVMs(b, 1000)
	}
	before := serverMicros(b, backend)
	for at := 0; at < b.N; at += 64 {
		specs := make([]core.Spec, min(64, b.N-at))
		for i := range specs {
			specs[i] = coretest.Spec(fmt.Sprintf("r%d", at+i), "p1", fmt.Sprintf("s%d", (at+i)%submitters))
		}
		h.Submit(b, specs...)
	}
	submitted := serverMicros(b, backend)
	b.ResetTimer()
	var finish []core.Finish
	done := 0
	for seq := int64(1); done < b.N; seq++ {
		got := h.Exchange(b, seq, batch, finish...)
		done += len(finish)
		finish = finish[:0]
		for _, c := range got.Claims {
			finish = append(finish, core.Finish{Key: c.Key, Token: c.Token, Outcome: core.OutcomeDone})
		}
	}
	b.StopTimer()
	ended := serverMicros(b, backend)
	b.ReportMetric((submitted-before)/float64(b.N), "submit-redis-us/op")
	b.ReportMetric((ended-submitted)/float64(b.N), "redis-us/op")
}

// BenchmarkExchangeBesideTargets measures what targets cost a claim: jobs are claimed and finished in turns in a cluster
// without rounds of placement, and in one whose host has targets of a hundred pools.
func BenchmarkExchangeBesideTargets(b *testing.B) {
	const pools = 100
	plain, beside := newExchangeTurn(b), newExchangeTurn(b)
	its := make(core.Targets, pools)
	for i := range pools {
		its[fmt.Sprintf("pool-%d", i)] = core.Target{Warm: 2, Most: 4}
	}
	its["p1"] = core.Target{Warm: 1, Most: jobsInTurn}
	number := int64(0)
	benchTurns(b, plain, beside, func() {
		var err error
		number, err = beside.Store.SetTargets(b.Context(), number, core.Round{Targets: map[string]core.Targets{"h1": its}, Lasts: time.Hour})
		require.NoError(b, err)
	})
}

// BenchmarkExchangeBesideALease measures what an open lease costs a claim of others, of the pool that it reserves VMs of:
// the second cluster's host serves both, looks for work of the lease first, and has idle VMs of it.
func BenchmarkExchangeBesideALease(b *testing.B) {
	plain, beside := newExchangeTurn(b), newExchangeTurn(b)
	l := core.LeasedPoolSetting{Pool: leasedPool("x", "p1"), Open: true, Class: "cs101", Submitters: []string{"ann"}}
	require.NoError(b, beside.Store.SetLeased(b.Context(), l))
	beside.Pool = l.Pool.Name
	beside.AddVMs(b, 10)
	beside.Pool = "p1"
	beside.serves = []string{l.Pool.Name, "p1"}
	benchTurns(b, plain, beside, func() {})
}

// BenchmarkExchangeOfALease measures what a claim of a lease's pool costs beside one of any other: in the second cluster
// all submitters are holders.
func BenchmarkExchangeOfALease(b *testing.B) {
	plain, leased := newExchangeTurn(b), newExchangeTurn(b)
	l := core.LeasedPoolSetting{Pool: leasedPool("x", "p1"), Open: true}
	l.Pool.MaxWaiting, l.Pool.Max = 1<<30, core.MaxPoolVMs
	for i := range submittersInTurn {
		l.Submitters = append(l.Submitters, fmt.Sprintf("s%d", i))
	}
	require.NoError(b, leased.Store.SetLeased(b.Context(), l))
	leased.Pool = l.Pool.Name
	benchTurns(b, plain, leased, func() {})
}

const jobsInTurn, submittersInTurn = 1000, 100

// benchTurns compares two clusters that claim and finish jobs in turns. One op is a turn of each. It says the ratio of the
// server's processor time of the second to the first: the median of the turns, and between which values half of them are.
func benchTurns(b *testing.B, one, other *exchangeTurn, before func()) {
	b.Helper()
	const batch = 16
	turns := []*exchangeTurn{one, other}
	var ratios []float64
	for b.Loop() {
		before()
		var took [2]float64
		for n := range turns {
			at := (n + len(ratios)) % len(turns) // each is first as often
			took[at] = turns[at].run(b, jobsInTurn, batch)
		}
		ratios = append(ratios, took[1]/took[0])
	}
	slices.Sort(ratios)
	quarter := func(n int) float64 { return ratios[(len(ratios)-1)*n/4] }
	b.ReportMetric(quarter(1), "quarter-below")
	b.ReportMetric(quarter(2), "ratio")
	b.ReportMetric(quarter(3), "quarter-above")
}

// exchangeTurn is a cluster that claims in turns with another one on the same server.
type exchangeTurn struct {
	*coretest.Cluster
	b      *coretest.Backend
	serves []string // nil: its pool
	seq    int64
	made   int
}

func newExchangeTurn(b *testing.B) *exchangeTurn {
	b.Helper()
	backend := coretest.Real(b)
	c := coretest.NewCluster(b, backend.Open(b), "h1", "p1")
	pool := core.DefaultPool("p1")
	pool.MaxWaiting, pool.Max = 1<<30, core.MaxPoolVMs
	require.NoError(b, c.Store.SetPool(b.Context(), pool))
	return &exchangeTurn{Cluster: c, b: backend}
}

// run claims and finishes so many jobs, and returns the processor time that the server used for it, in microseconds.
func (x *exchangeTurn) run(b *testing.B, jobs, batch int) float64 {
	b.Helper()
	x.AddVMs(b, jobs)
	specs := make([]core.Spec, jobs)
	for i := range specs {
		x.made++
		specs[i] = coretest.Spec(fmt.Sprintf("r%d", x.made), "p1", fmt.Sprintf("s%d", i%submittersInTurn))
	}
	x.Submit(b, specs...)
	before := serverMicros(b, x.b)
	var finish []core.Finish
	for done := 0; done < jobs; done += len(finish) {
		got := x.call(b, batch, finish)
		finish = finish[:0]
		for _, c := range got.Claims {
			finish = append(finish, core.Finish{Key: c.Key, Token: c.Token, Outcome: core.OutcomeDone})
		}
	}
	x.call(b, 0, finish)
	return serverMicros(b, x.b) - before
}

func (x *exchangeTurn) call(b *testing.B, want int, finish []core.Finish) core.Exchanged {
	b.Helper()
	x.seq++
	call := x.Call(x.seq, want, finish...)
	if x.serves != nil {
		call.Pools = x.serves
	}
	got, err := x.Store.Exchange(b.Context(), call)
	require.NoError(b, err)
	return got
}

var cpuSeconds = regexp.MustCompile(`used_cpu_(?:user|sys)_main_thread:([0-9.]+)`)

// serverMicros is the processor time that the server's main thread has used: its
// whole work, and less noisy than wall time on a shared machine.
func serverMicros(b *testing.B, backend *coretest.Backend) float64 {
	text, err := backend.Admin.Info(context.Background(), "cpu").Result()
	require.NoError(b, err)
	total := 0.0
	for _, m := range cpuSeconds.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(m[1], 64)
		require.NoError(b, err)
		total += n * 1e6
	}
	return total
}
