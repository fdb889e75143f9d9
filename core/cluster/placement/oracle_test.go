package placement_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drover/core"
	"drover/core/cluster/placement"
)

// every calls do with every way to put VMs of some pools on some hosts with so much room each, none of a pool more than
// it wants. It is given how many each pool has.
func every(room, want []int, do func(got []int)) {
	got := make([]int, len(want))
	var put func(host, pool, left int)
	put = func(host, pool, left int) {
		switch {
		case host == len(room):
			do(got)
			return
		case pool == len(want):
			next := 0
			if host+1 < len(room) {
				next = room[host+1]
			}
			put(host+1, 0, next)
			return
		}
		for n := range min(left, want[pool]-got[pool]) + 1 {
			got[pool] += n
			put(host, pool+1, left-n)
			got[pool] -= n
		}
	}
	first := 0
	if len(room) > 0 {
		first = room[0]
	}
	put(0, 0, first)
}

// fairer compares two distributions of VMs: the one is better whose poorest pool has more; if that has as many, the next
// one decides.
func fairer(a, b []int) int {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Compare(a, b)
}

func TestEveryWay(t *testing.T) {
	t.Parallel()
	ways := 0
	var best []int
	every([]int{1, 2}, []int{3, 1}, func(got []int) {
		if ways++; fairer(got, best) > 0 {
			best = slices.Clone(got)
		}
	})
	require.Equal(t, 13, ways, "on the second five, after none or p on the first; three, after q on the first")
	require.Equal(t, []int{2, 1}, best)
	require.Negative(t, fairer([]int{5, 0}, []int{1, 1}))
}

// Of VMs of one size that any host takes, no way to place them whatsoever shares the room among several pools more
// fairly, or uses more of it: for work that waits, and for what is kept warm, with what is busy already. Spare VMs are
// shared as fairly as can be in the room that waiting work leaves.
func TestTargetsShareTheRoomAsFairlyAsCanBe(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"p", "q", "r"}[:rapid.IntRange(1, 3).Draw(t, "pools")]
		pools, busy := make([]placement.Pool, len(names)), make([]int, len(names))
		need, want := make([]int, len(names)), make([]int, len(names)) // without and with spare ones
		warm := rapid.Bool().Draw(t, "warm")
		for i, name := range names {
			pools[i] = pool(name, func(p *placement.Pool) {
				p.Max = 100
				p.Strategy, p.Order = rapid.SampledFrom(core.Strategies()).Draw(t, "strategy"), rapid.SampledFrom(core.PlacementOrders()).Draw(t, "order")
				p.Spread = rapid.IntRange(0, 2).Draw(t, "spread")
				n := rapid.IntRange(0, 4).Draw(t, "wanted")
				if need[i], want[i] = n, n; warm {
					p.WarmTotal = n
				} else if n > 0 {
					p.Waiting, p.Oldest, want[i] = n, rapid.Int64Range(1, 3).Draw(t, "oldest"), n+1
				}
			})
		}
		hosts := make([]placement.Host, rapid.IntRange(0, 2).Draw(t, "hosts"))
		room := make([]int, len(hosts))
		for i := range hosts {
			room[i] = rapid.IntRange(0, 4).Draw(t, "room")
			has, used := map[string]placement.VMs{}, 0
			for j, name := range names {
				vms := placement.VMs{Clean: rapid.IntRange(0, 2).Draw(t, "clean"), Busy: rapid.IntRange(0, 1).Draw(t, "busy")}
				has[name], used, busy[j] = vms, used+vms.Busy, busy[j]+vms.Busy
			}
			hosts[i] = host(fmt.Sprint("h", i), int64(room[i]+used), has)
			if n := room[i] + used; n > 0 && rapid.Bool().Draw(t, "by number") {
				hosts[i].MaxVMs, hosts[i].Size.Memory = n, core.Unlimited
			}
			hosts[i].Serves = names
		}
		got := make([]int, len(names))
		for _, its := range targetsOf(hosts, pools) {
			for i, name := range names {
				got[i] += its[name]
			}
		}
		// with adds what is busy to what a way has, up to what is given.
		with := func(way, most []int) []int {
			all := slices.Clone(busy)
			for i, n := range way {
				all[i] += min(n, most[i])
			}
			return all
		}
		better := func(a, b []int) int {
			return cmp.Or(fairer(with(a, need), with(b, need)), fairer(with(a, want), with(b, want)))
		}
		best := make([]int, len(names))
		every(room, want, func(way []int) {
			if better(way, best) > 0 {
				best = slices.Clone(way)
			}
		})
		require.Zero(t, better(got, best), "they have %v, and could have %v", got, best)
	})
}
