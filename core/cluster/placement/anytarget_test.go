package placement_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drover/core"
	"drover/core/cluster/placement"
)

func drawHosts(t *rapid.T) []placement.Host {
	hosts := make([]placement.Host, rapid.IntRange(0, 4).Draw(t, "hosts"))
	for i := range hosts {
		h := placement.Host{
			Name: fmt.Sprint("h", i), Opening: rapid.SampledFrom([]placement.Opening{placement.Open, placement.Open, placement.Late, placement.Trial, placement.Shut}).Draw(t, "opening"),
			Size:   core.Size{CPU: rapid.Int64Range(0, 6).Draw(t, "cpu"), Memory: rapid.Int64Range(0, 6).Draw(t, "memory"), Disk: core.Unlimited},
			MaxVMs: rapid.IntRange(0, 4).Draw(t, "most"), Serves: rapid.SampledFrom([][]string{{"p", "q", "r"}, {"p"}, {"q", "r"}, nil}).Draw(t, "serves"),
			VMs: map[string]placement.VMs{}, Assigned: map[string]int{}, Broken: map[string]bool{},
		}
		for _, p := range []string{"p", "q", "r"} {
			if rapid.Bool().Draw(t, "has") {
				h.VMs[p] = placement.VMs{Clean: rapid.IntRange(0, 2).Draw(t, "clean"), Busy: rapid.IntRange(0, 1).Draw(t, "busy")}
			}
			h.Broken[p] = rapid.IntRange(0, 4).Draw(t, "broken") == 0
			if rapid.IntRange(0, 4).Draw(t, "assigned") == 0 {
				h.Assigned[p] = 1
			}
		}
		hosts[i] = h
	}
	return hosts
}

func drawPools(t *rapid.T) []placement.Pool {
	pools := make([]placement.Pool, rapid.IntRange(0, 3).Draw(t, "pools"))
	for i := range pools {
		size := rapid.Int64Range(0, 3)
		pools[i] = placement.Pool{
			Pool: core.Pool{
				Name: []string{"p", "q", "r"}[i], Max: rapid.IntRange(1, 4).Draw(t, "max"), Paused: rapid.IntRange(0, 5).Draw(t, "paused") == 0,
				Provider: "local",
				Limits:   core.Limits{Memory: size.Draw(t, "memory"), CPU: int(size.Draw(t, "cpu"))}, Spread: rapid.IntRange(0, 3).Draw(t, "spread"),
				Strategy: rapid.SampledFrom(core.Strategies()).Draw(t, "strategy"), Order: rapid.SampledFrom(core.PlacementOrders()).Draw(t, "order"),
				Warm: rapid.IntRange(0, 2).Draw(t, "warm"), WarmTotal: rapid.IntRange(0, 4).Draw(t, "total"),
			},
			Waiting: rapid.IntRange(0, 4).Draw(t, "waiting"), Oldest: rapid.Int64Range(1, 3).Draw(t, "oldest"),
			Asleep: rapid.IntRange(0, 5).Draw(t, "asleep") == 0,
		}
	}
	return pools
}

// left is what the targets leave of a host; false if they oversell it.
func left(h placement.Host, pools []placement.Pool, its map[string]int) (core.Size, int, bool) {
	size, vms, ok := h.Size, h.MaxVMs, true
	if vms == 0 {
		vms = 1000
	}
	for _, p := range pools {
		size, vms = size.Less(p.Size(), h.VMs[p.Name].Busy+its[p.Name]), vms-h.VMs[p.Name].Busy-its[p.Name]
	}
	for _, p := range pools {
		if n := its[p.Name]; n > 0 {
			s := p.Size()
			ok = ok && vms >= 0 && (s.CPU == 0 || size.CPU >= 0) && (s.Memory == 0 || size.Memory >= 0) && n+h.VMs[p.Name].Busy <= p.Max
		}
	}
	return size, vms, ok
}

// Whatever there is: no host is oversold; nothing is on a host that is shut, or made where it cannot be; the order of
// what is given does not matter, and nothing given is changed.
func TestTargetsNeverOversell(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hosts, pools := drawHosts(t), drawPools(t)
		for i := range hosts {
			hosts[i].Reserved = map[string]int{"p": rapid.IntRange(-3, 3).Draw(t, "reserved"), "none": 1}
		}
		before := fmt.Sprint(hosts, pools)
		all := placement.Targets(hosts, pools)
		got := cleanOf(hosts, all)
		require.Equal(t, before, fmt.Sprint(hosts, pools))
		require.Equal(t, all, placement.Targets(rapid.Permutation(hosts).Draw(t, "hosts"), rapid.Permutation(pools).Draw(t, "pools")))
		known := map[string]bool{}
		for _, h := range hosts {
			its := got[h.Name]
			known[h.Name] = true
			_, _, ok := left(h, pools, its)
			require.True(t, ok, "%s is oversold: %v", h.Name, its)
			if h.Opening == placement.Shut {
				require.Empty(t, its)
			}
			for _, p := range pools {
				n := its[p.Name]
				if p.Paused || h.Opening == placement.Late {
					require.LessOrEqual(t, n, h.VMs[p.Name].Clean, "made where it cannot be")
				}
				if h.Broken[p.Name] {
					require.LessOrEqual(t, n, max(1, h.VMs[p.Name].Clean), "more than one is tried")
				}
				if !slices.Contains(h.Serves, p.Name) {
					require.Zero(t, n, "made where it is not served")
				}
			}
		}
		for name := range all {
			require.True(t, known[name], "a host that is none")
		}
	})
}

// Nothing that is wanted is left out while a host has room for it.
func TestTargetsLeaveNothingThatFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hosts, pools := drawHosts(t), drawPools(t)
		got := targetsOf(hosts, pools)
		for _, p := range pools {
			total := 0
			for _, its := range got {
				total += its[p.Name]
			}
			want := 0
			if p.Waiting > 0 && !p.Paused {
				want = p.Waiting + 1
			}
			if !p.Asleep {
				want = max(want, p.WarmTotal)
			}
			for _, h := range hosts {
				its := maps.Clone(got[h.Name])
				if its == nil {
					its = map[string]int{}
				}
				n := its[p.Name]
				its[p.Name]++
				_, _, fits := left(h, pools, its)
				makes := (n == 0 || !h.Broken[p.Name]) && !p.Paused && h.Opening != placement.Late || n < h.VMs[p.Name].Clean
				if !fits || !makes || !slices.Contains(h.Serves, p.Name) {
					continue
				}
				if h.Opening <= placement.Late && total < want {
					t.Fatalf("%s would have room for one more of %s, of which %d of %d are there: %v", h.Name, p.Name, total, want, got)
				}
				if h.Opening != placement.Shut && !p.Asleep && n < p.Warm {
					t.Fatalf("%s would have room for a warm one of %s: %v", h.Name, p.Name, got)
				}
			}
		}
	})
}

// For waiting requests of one pool, no way to place them whatsoever places more.
func TestTargetsPlaceAsManyAsCanBe(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hosts := drawHosts(t)
		p := drawPools(t)
		if len(p) == 0 {
			return
		}
		p = p[:1]
		p[0].Warm, p[0].WarmTotal = 0, 0
		for i := range hosts {
			hosts[i].Assigned, hosts[i].Broken = nil, nil
			if hosts[i].Opening == placement.Trial {
				hosts[i].Opening = placement.Open
			}
		}
		total, most := 0, 0
		for _, its := range targetsOf(hosts, p) {
			total += its["p"]
		}
		for _, h := range hosts { // one host after another, by counting: as many as it bears
			n := 0
			for h.Opening <= placement.Late && slices.Contains(h.Serves, "p") && n < 100 {
				_, _, fits := left(h, p, map[string]int{"p": n + 1})
				if !fits || (p[0].Paused || h.Opening == placement.Late) && n >= h.VMs["p"].Clean {
					break
				}
				n++
			}
			most += n
		}
		want := 0
		if p[0].Waiting > 0 && !p[0].Paused {
			want = min(most, p[0].Waiting+1)
		}
		require.Equal(t, want, total)
	})
}

// Once the hosts follow the targets, they stay: nothing keeps moving.
func TestTargetsComeToRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hosts, pools := drawHosts(t), drawPools(t)
		var last targets
		for range 4 {
			got := targetsOf(hosts, pools)
			if last != nil && fmt.Sprint(got) == fmt.Sprint(last) {
				return
			}
			last = got
			for i := range hosts {
				vms := maps.Clone(hosts[i].VMs)
				for _, p := range pools {
					if hosts[i].Opening != placement.Shut {
						vms[p.Name] = placement.VMs{Busy: vms[p.Name].Busy, Clean: got[hosts[i].Name][p.Name]}
					}
				}
				hosts[i].VMs = vms
			}
		}
		t.Fatalf("still moving: %v", last)
	})
}

// One more waiting request changes little: where there is room, it moves nothing that is there.
func TestTargetsMoveLittleForASmallChange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "hosts")
		hosts := make([]placement.Host, n)
		for i := range hosts {
			hosts[i] = host(fmt.Sprint("h", i), 40, nil)
		}
		pools := make([]placement.Pool, 3)
		for i, name := range []string{"p", "q", "r"} {
			pools[i] = pool(name, func(p *placement.Pool) {
				p.Max, p.Strategy = 10, rapid.SampledFrom(core.Strategies()).Draw(t, "strategy")
				p.WarmTotal, p.Spread = rapid.IntRange(0, 9).Draw(t, "total"), rapid.IntRange(0, 3).Draw(t, "spread")
			})
		}
		before := targetsOf(hosts, pools)
		for i := range hosts {
			vms := map[string]placement.VMs{}
			for name, n := range before[hosts[i].Name] {
				vms[name] = placement.VMs{Clean: n}
			}
			hosts[i].VMs = vms
		}
		require.Equal(t, before, targetsOf(hosts, pools))
		pools[0].Waiting = pools[0].WarmTotal + 1
		after := targetsOf(hosts, pools)
		added := 0
		for _, h := range hosts {
			for _, p := range pools {
				change := after[h.Name][p.Name] - before[h.Name][p.Name]
				require.GreaterOrEqual(t, change, 0, "something was moved")
				added += change
			}
		}
		require.LessOrEqual(t, added, 2)
	})
}
