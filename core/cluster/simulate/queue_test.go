package simulate

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drover/core"
	"drover/core/coretest"
	"drover/core/redisstore"
)

// The queue gives requests out in the order in which the scripts do, whatever is submitted and claimed when.
func TestTheQueueIsThatOfTheScripts(t *testing.T) {
	t.Parallel()
	b := coretest.Mini(t)
	names := 0
	rapid.Check(t, func(rt *rapid.T) {
		names++
		opts := b.Options()
		opts.Namespace += strconv.Itoa(names)
		s, err := redisstore.Open(context.Background(), opts)
		require.NoError(rt, err)
		defer func() { require.NoError(rt, s.Close()) }()
		most := rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(rt, "most")
		scripts, ours := coretest.NewCluster(t, s, "h1", "p1"), newQueue(most)
		p := core.DefaultPool("p1")
		p.Running = most
		require.NoError(rt, s.SetPool(context.Background(), p))
		soon := time.Now().Add(10 * time.Minute)
		b.Mini.SetTime(time.Now())
		submitted := 0
		var runs []core.Claim
		for step := range rapid.IntRange(1, 6).Draw(rt, "steps") {
			var specs []core.Spec
			for range rapid.IntRange(0, 20).Draw(rt, "submitted") {
				spec := coretest.Spec(fmt.Sprintf("%026d", submitted), "p1", rapid.SampledFrom([]string{"ann", "bob", "cid", "dan", "eve"}).Draw(rt, "submitter"))
				spec.Priority = rapid.SampledFrom(core.Priorities()).Draw(rt, "priority")
				isSoon := rapid.IntRange(0, 2).Draw(rt, "soon") == 0
				if isSoon {
					spec.Due = soon.UnixMilli()
				}
				specs = append(specs, spec)
				ours.add(spec.Priority, spec.Submitter, submitted, isSoon)
				submitted++
			}
			scripts.Submit(t, specs...)
			want := rapid.IntRange(1, 25).Draw(rt, "claimed")
			scripts.AddVMs(t, want)
			var wanted []int
			var ends []core.Finish
			for range rapid.IntRange(0, len(runs)).Draw(rt, "ended") {
				c := runs[0]
				its := c.ReadSpec()
				ours.end(its.Priority, its.Submitter)
				ends, runs = append(ends, core.Finish{Key: c.Key, Token: c.Token, Outcome: core.OutcomeDone}), runs[1:]
			}
			claims := scripts.Exchange(t, int64(step+1), want, ends...).Claims
			runs = append(runs, claims...)
			for _, c := range claims {
				id, _, _ := core.ParseKey(c.Key)
				n, err := strconv.Atoi(id)
				require.NoError(rt, err)
				wanted = append(wanted, n)
			}
			require.Equal(rt, wanted, ours.take(want))
		}
	})
}

// Of ten tickets six go to high, three to normal, one to low; what a priority does not use goes to the others.
func TestPrioritiesShare(t *testing.T) {
	t.Parallel()
	q := newQueue(0)
	for i := range 20 {
		for n, p := range core.Priorities() {
			q.add(p, "ann", 100*n+i, false)
		}
	}
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 100, 101, 102, 200}, q.take(10))
	require.Len(t, q.take(25), 25)
	require.Equal(t, 25, q.waiting)
	require.Len(t, q.take(100), 25)
	require.Empty(t, q.take(1))
}
