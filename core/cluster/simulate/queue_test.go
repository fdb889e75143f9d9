package simulate

import (
	"context"
	"fmt"
	"strconv"
	"testing"

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
		scripts, ours := coretest.NewCluster(t, s, "h1", "p1"), newQueue()
		submitted := 0
		for step := range rapid.IntRange(1, 6).Draw(rt, "steps") {
			var specs []core.Spec
			for range rapid.IntRange(0, 20).Draw(rt, "submitted") {
				spec := coretest.Spec(fmt.Sprintf("%026d", submitted), "p1", rapid.SampledFrom([]string{"ann", "bob", "cid", "dan", "eve"}).Draw(rt, "submitter"))
				spec.Priority = rapid.SampledFrom(core.Priorities()).Draw(rt, "priority")
				specs = append(specs, spec)
				ours.add(spec.Priority, spec.Submitter, submitted)
				submitted++
			}
			scripts.Submit(t, specs...)
			want := rapid.IntRange(1, 25).Draw(rt, "claimed")
			scripts.AddVMs(t, want)
			var wanted []int
			for _, c := range scripts.Exchange(t, int64(step+1), want).Claims {
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
	q := newQueue()
	for i := range 20 {
		for n, p := range core.Priorities() {
			q.add(p, "ann", 100*n+i)
		}
	}
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 100, 101, 102, 200}, q.take(10))
	require.Len(t, q.take(25), 25)
	require.Equal(t, 25, q.waiting)
	require.Len(t, q.take(100), 25)
	require.Empty(t, q.take(1))
}
