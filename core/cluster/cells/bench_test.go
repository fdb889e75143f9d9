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
	"drover/core/redisstore"
)

// BenchmarkCells measures what a job costs the Redis of its cell: in turns a cluster of one cell does its jobs on a server
// of its own, and each of three cells does as many on its node of a Redis Cluster. One op is a turn of each. redis-us is
// the processor time of the main thread a job, on the mean of the three nodes; commands are what the scripts call. All are
// medians of the turns. ratio is how many jobs three nodes do for one of the one cell when Redis is the limit: nodes share
// no key and work at the same time, so it is three times the cost in one cell by the cost in a cell of three. The nodes
// work one after the other here, as on a machine of few cores they would empty each other's caches.
func BenchmarkCells(b *testing.B) {
	single, w := newFixture(b, []*redisstore.Store{coretest.Alone(b).Open(b)}), newFixture(b, onNodes(b))
	var ratios, one, three, calls, callsOfThree []float64
	round := 0
	for b.Loop() {
		var alone, mean meter
		turns := []func(){
			func() { alone = single.work(b, round, []int{0})[0] },
			func() {
				for i := range names {
					its := w.work(b, round, []int{i})[0]
					mean.micros, mean.calls = mean.micros+its.micros/float64(len(names)), mean.calls+its.calls/float64(len(names))
				}
			},
		}
		round++
		for n := range turns { // each is first as often
			turns[(n+round)%len(turns)]()
		}
		one, three = append(one, alone.micros/jobsInTurn), append(three, mean.micros/jobsInTurn)
		calls, callsOfThree = append(calls, alone.calls/jobsInTurn), append(callsOfThree, mean.calls/jobsInTurn)
		ratios = append(ratios, float64(len(names))*alone.micros/mean.micros)
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
	node := redis.Cmdable(w.redis[i].Client())
	if nodes, is := node.(*redis.ClusterClient); is {
		its, err := nodes.MasterForKey(b.Context(), w.redis[i].Namespace().Key("meta"))
		require.NoError(b, err)
		node = its
	}
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
