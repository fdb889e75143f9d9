package cells_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
)

// BenchmarkCells measures what a job costs the Redis of its cell, on three real nodes of a Redis Cluster: in turns one
// cell does all jobs, and each of three does as many. One op is a turn of each. redis-us is the processor time of a node's
// main thread a job, commands what its scripts call; the medians of the turns. ratio is how many jobs three nodes can do
// for one of the one cell when Redis is the limit: nodes work at the same time and share no key, so it is three times the
// cost in one cell by the cost in the dearest of three.
func BenchmarkCells(b *testing.B) {
	w := newFixture(b, onNodes(b))
	var ratios, one, three, calls, callsOfThree []float64
	round := 0
	for b.Loop() {
		var alone, dearest meter
		turns := []func(){
			func() { alone = w.work(b, round, []int{0})[0] },
			func() {
				dearest = slices.MaxFunc(w.work(b, round, []int{0, 1, 2}), func(a, b meter) int { return int(a.micros - b.micros) })
			},
		}
		for n := range turns { // each is first as often
			round++
			turns[(n+len(ratios))%len(turns)]()
		}
		one, three = append(one, alone.micros/jobsInTurn), append(three, dearest.micros/jobsInTurn)
		calls, callsOfThree = append(calls, alone.calls/jobsInTurn), append(callsOfThree, dearest.calls/jobsInTurn)
		ratios = append(ratios, float64(len(names))*alone.micros/dearest.micros)
	}
	b.ReportMetric(median(one), "redis-us/job-of-one")
	b.ReportMetric(median(three), "redis-us/job-of-three")
	b.ReportMetric(median(calls), "commands/job-of-one")
	b.ReportMetric(median(callsOfThree), "commands/job-of-three")
	b.ReportMetric(median(ratios), "ratio")
}

const jobsInTurn, batchInTurn = 2000, 50

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

// meter is what a node has spent.
type meter struct{ micros, calls float64 }

// work has each of the cells do a turn's jobs, side by side, and returns what each one's node spent.
func (w *fixture) work(b *testing.B, round int, in []int) []meter {
	b.Helper()
	before := make([]meter, len(in))
	for n, i := range in {
		p := poolOf(i)
		p.MaxWaiting, p.Max = 1<<20, core.MaxPoolVMs
		require.NoError(b, w.redis[i].SetPool(b.Context(), p))
		for range jobsInTurn / 500 {
			w.hosts[i].AddVMs(b, 500)
		}
		before[n] = w.spent(b, i)
	}
	finish := make([][]core.Finish, len(in))
	for at := 0; at <= jobsInTurn; at += batchInTurn {
		if at < jobsInTurn {
			w.enqueue(b, round, at, in)
		}
		for n, i := range in {
			w.seq[i]++
			got := w.hosts[i].Exchange(b, w.seq[i], batchInTurn, finish[n]...)
			finish[n] = finish[n][:0]
			for _, c := range got.Claims {
				finish[n] = append(finish[n], core.Finish{Key: c.Key, Token: c.Token, Outcome: core.OutcomeDone})
			}
			require.Len(b, got.Claims, min(batchInTurn, jobsInTurn-at))
		}
	}
	for n, i := range in {
		after := w.spent(b, i)
		before[n] = meter{after.micros - before[n].micros, after.calls - before[n].calls}
	}
	return before
}

// enqueue submits a batch to each of the cells, all in one call of the view.
func (w *fixture) enqueue(b *testing.B, round, at int, in []int) {
	b.Helper()
	var specs []core.Spec
	for n := range batchInTurn {
		for _, i := range in {
			specs = append(specs, coretest.Spec(fmt.Sprintf("r%d-%d-%d", round, i, at+n), pool(i), fmt.Sprintf("s%d", (at+n)%100)))
		}
	}
	verdicts, err := w.view.Enqueue(b.Context(), specs)
	require.NoError(b, err)
	for _, v := range verdicts {
		require.NoError(b, v)
	}
}

// spent reads what a cell's node has spent.
func (w *fixture) spent(b *testing.B, i int) (m meter) {
	b.Helper()
	nodes, is := w.redis[i].Client().(*redis.ClusterClient)
	require.True(b, is)
	node, err := nodes.MasterForKey(b.Context(), w.redis[i].Namespace().Key("meta"))
	require.NoError(b, err)
	text, err := node.Info(b.Context(), "cpu", "commandstats").Result()
	require.NoError(b, err)
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if strings.HasSuffix(name, "_main_thread") {
			s, err := strconv.ParseFloat(value, 64)
			require.NoError(b, err)
			m.micros += s * 1e6
		}
		if calls, is := strings.CutPrefix(value, "calls="); is {
			calls, _, _ = strings.Cut(calls, ",")
			n, err := strconv.ParseFloat(calls, 64)
			require.NoError(b, err)
			m.calls += n
		}
	}
	return m
}
