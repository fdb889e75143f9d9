package placement_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drover/core"
	"drover/core/cluster/placement"
)

// host is one that serves pools p, q and r and has room for so many VMs of 100 bytes.
func host(name string, vms int64, has map[string]placement.VMs) placement.Host {
	return placement.Host{
		Name: name, Size: core.Size{CPU: core.Unlimited, Memory: vms * 100, Disk: core.Unlimited}, Serves: []string{"p", "q", "r"}, VMs: has,
	}
}

// pool is one whose VMs have 100 bytes, with at most 4 of them on a host.
func pool(name string, change func(*placement.Pool)) placement.Pool {
	p := placement.Pool{Pool: core.Pool{Name: name, Max: 4, Limits: core.Limits{Memory: 100}}}
	if change != nil {
		change(&p)
	}
	return p
}

func waits(n int) func(*placement.Pool) {
	return func(p *placement.Pool) { p.Waiting, p.Oldest = n, 1 }
}

func clean(pool string, n int) map[string]placement.VMs {
	return map[string]placement.VMs{pool: {Clean: n}}
}

func busy(pool string, n int) map[string]placement.VMs {
	return map[string]placement.VMs{pool: {Busy: n}}
}

type targets = map[string]map[string]int

// cleanOf is how many clean VMs the targets leave room for on each host.
func cleanOf(hosts []placement.Host, got map[string]core.Targets) targets {
	out := targets{}
	for _, h := range hosts {
		for pool, t := range got[h.Name] {
			n := max(t.Warm, t.Most-h.VMs[pool].Busy)
			if out[h.Name] == nil && n > 0 {
				out[h.Name] = map[string]int{}
			}
			if n > 0 {
				out[h.Name][pool] = n
			}
		}
	}
	return out
}

// targetsOf are the clean VMs that placement leaves room for.
func targetsOf(hosts []placement.Host, pools []placement.Pool) targets {
	return cleanOf(hosts, placement.Targets(hosts, pools))
}

func TestTargets(t *testing.T) {
	t.Parallel()
	many := func(n int, vms int64) []placement.Host {
		out := make([]placement.Host, n)
		for i := range out {
			out[i] = host(fmt.Sprintf("h%02d", i), vms, nil)
		}
		return out
	}
	with := func(strategy core.Strategy, n int) placement.Pool {
		return pool("p", func(p *placement.Pool) { p.Strategy, p.WarmTotal = strategy, n })
	}
	uneven := []placement.Host{host("a", 3, nil), host("b", 2, nil), host("c", 9, nil)}
	for name, c := range map[string]struct {
		hosts []placement.Host
		pools []placement.Pool
		want  targets
	}{
		"nothing":  {want: targets{}},
		"no pools": {hosts: many(2, 9), want: targets{}},
		"no hosts": {pools: []placement.Pool{pool("p", waits(3))}, want: targets{}},
		"one waiting request on 30 hosts makes itself a VM and a spare one": {
			hosts: many(30, 9), pools: []placement.Pool{pool("p", waits(1))}, want: targets{"h00": {"p": 1}, "h01": {"p": 1}},
		},
		"what is there serves it": {
			hosts: []placement.Host{host("a", 9, nil), host("b", 2, clean("p", 2))}, pools: []placement.Pool{pool("p", waits(1))},
			want: targets{"b": {"p": 2}},
		},
		"an exact fit is used": {
			hosts: []placement.Host{host("a", 1, nil)}, pools: []placement.Pool{pool("p", waits(1))}, want: targets{"a": {"p": 1}},
		},
		"busy VMs keep their room": {
			hosts: []placement.Host{host("a", 2, busy("p", 1))}, pools: []placement.Pool{pool("p", waits(2))}, want: targets{"a": {"p": 1}},
		},
		"a host that has become smaller": {
			hosts: []placement.Host{host("a", 1, map[string]placement.VMs{"p": {Busy: 2, Clean: 2}})}, pools: []placement.Pool{pool("p", waits(2))}, want: targets{},
		},
		"the pool's max counts on each host": {
			hosts: []placement.Host{host("a", 9, busy("p", 3)), host("b", 9, nil)}, pools: []placement.Pool{pool("p", waits(9))},
			want: targets{"a": {"p": 1}, "b": {"p": 4}},
		},
		"the host's number of VMs counts": {
			hosts: []placement.Host{{Name: "a", MaxVMs: 2, Size: core.Size{Memory: core.Unlimited}, Serves: []string{"p"}, VMs: busy("p", 1)}},
			pools: []placement.Pool{pool("p", waits(9))}, want: targets{"a": {"p": 1}},
		},
		"warm on each host that serves it": {
			hosts: []placement.Host{host("a", 9, nil), {Name: "b", Size: core.Size{Memory: 900}, Serves: []string{"q"}}},
			pools: []placement.Pool{pool("p", func(p *placement.Pool) { p.Warm = 2 })}, want: targets{"a": {"p": 2}},
		},
		"waiting work uses the warm ones": {
			hosts: many(2, 9), pools: []placement.Pool{pool("p", func(p *placement.Pool) { p.Warm, p.Waiting = 2, 3 })},
			want: targets{"h00": {"p": 2}, "h01": {"p": 2}},
		},
		"warm in all counts those of each host": {
			hosts: many(3, 9), pools: []placement.Pool{pool("p", func(p *placement.Pool) { p.Warm, p.WarmTotal = 1, 4 })},
			want: targets{"h00": {"p": 2}, "h01": {"p": 1}, "h02": {"p": 1}},
		},
		"learned ones count if they are more": {
			hosts: many(1, 9), pools: []placement.Pool{pool("p", func(p *placement.Pool) { p.WarmTotal, p.Learned = 1, 3 })}, want: targets{"h00": {"p": 3}},
		},
		"asleep": {
			hosts: many(2, 9), pools: []placement.Pool{pool("p", func(p *placement.Pool) { p.Warm, p.WarmTotal, p.Asleep = 1, 4, true })}, want: targets{},
		},
		"a lost host's share is made elsewhere": {
			hosts: []placement.Host{host("a", 9, clean("p", 2)), {Name: "b", Opening: placement.Shut, Size: core.Size{Memory: 900}, Serves: []string{"p"}, VMs: clean("p", 2)}},
			pools: []placement.Pool{with("", 4)}, want: targets{"a": {"p": 4}},
		},
		"a host on probation keeps its warm ones only": {
			hosts: []placement.Host{{Name: "a", Opening: placement.Trial, Size: core.Size{Memory: 900}, Serves: []string{"p"}}},
			pools: []placement.Pool{pool("p", func(p *placement.Pool) { p.Warm, p.WarmTotal, p.Waiting = 1, 4, 4 })}, want: targets{"a": {"p": 1}},
		},
		"a host whose heartbeat is late keeps what it has": {
			hosts: []placement.Host{{Name: "a", Opening: placement.Late, Size: core.Size{Memory: 900}, Serves: []string{"p"}, VMs: clean("p", 1)}},
			pools: []placement.Pool{with("", 4)}, want: targets{"a": {"p": 1}},
		},
		"a broken pool keeps what it has": {
			hosts: []placement.Host{{Name: "a", Size: core.Size{Memory: 900}, Serves: []string{"p"}, Broken: map[string]bool{"p": true}, VMs: clean("p", 1)}},
			pools: []placement.Pool{pool("p", waits(3))}, want: targets{"a": {"p": 1}},
		},
		"a broken pool is tried with one VM for waiting work": {
			hosts: []placement.Host{host("a", 9, nil), {Name: "b", Size: core.Size{Memory: 900}, Serves: []string{"p"}, Broken: map[string]bool{"p": true}}},
			pools: []placement.Pool{pool("p", waits(1))}, want: targets{"a": {"p": 2}, "b": {"p": 1}},
		},
		"a broken pool is tried for what is kept warm": {
			hosts: []placement.Host{{Name: "a", Size: core.Size{Memory: 900}, Serves: []string{"p", "q"}, Broken: map[string]bool{"p": true, "q": true}}},
			pools: []placement.Pool{with("", 4), pool("q", func(p *placement.Pool) { p.Warm = 2 })}, want: targets{"a": {"p": 1, "q": 1}},
		},
		"a host on probation gets one VM for waiting work": {
			hosts: []placement.Host{{Name: "a", Opening: placement.Trial, Size: core.Size{Memory: 900}, Serves: []string{"p"}}},
			pools: []placement.Pool{pool("p", waits(9))}, want: targets{"a": {"p": 1}},
		},
		"a paused pool keeps what it has warm": {
			hosts: []placement.Host{host("a", 9, clean("p", 1))},
			pools: []placement.Pool{pool("p", func(p *placement.Pool) { p.Warm, p.Waiting, p.Paused = 2, 3, true })}, want: targets{"a": {"p": 1}},
		},
		"assigned to a host": {
			hosts: []placement.Host{host("a", 9, nil), {Name: "b", Size: core.Size{Memory: 900}, Serves: []string{"p"}, Assigned: map[string]int{"p": 2}}},
			pools: []placement.Pool{pool("p", waits(2))}, want: targets{"a": {"p": 1}, "b": {"p": 2}},
		},
		"worst fit": {uneven, []placement.Pool{with(core.WorstFit, 2)}, targets{"c": {"p": 2}}},
		"best fit":  {uneven, []placement.Pool{with(core.BestFit, 3)}, targets{"b": {"p": 2}, "a": {"p": 1}}},
		"first fit": {uneven, []placement.Pool{with(core.FirstFit, 4)}, targets{"a": {"p": 3}, "b": {"p": 1}}},
		"next fit":  {uneven, []placement.Pool{with(core.NextFit, 4)}, targets{"a": {"p": 2}, "b": {"p": 1}, "c": {"p": 1}}},
		"next fit goes on behind the last": {
			[]placement.Host{host("a", 9, nil), host("b", 9, clean("p", 1)), host("c", 9, nil)},
			[]placement.Pool{with(core.NextFit, 2)},
			targets{"b": {"p": 1}, "c": {"p": 1}},
		},
		"at least so many hosts": {
			uneven,
			[]placement.Pool{pool("p", func(p *placement.Pool) { p.Strategy, p.WarmTotal, p.Spread = core.BestFit, 4, 2 })},
			targets{"b": {"p": 2}, "a": {"p": 2}},
		},
		"the spread moves what is there": {
			[]placement.Host{host("a", 9, clean("p", 2)), host("b", 9, nil)},
			[]placement.Pool{pool("p", func(p *placement.Pool) { p.WarmTotal, p.Spread = 2, 2 })},
			targets{"a": {"p": 1}, "b": {"p": 1}},
		},
		"no pool starves another": {
			many(1, 4), []placement.Pool{pool("p", waits(9)), pool("q", waits(9))}, targets{"h00": {"p": 2, "q": 2}},
		},
		"nor on one host": {
			many(1, 4), []placement.Pool{
				pool("p", func(p *placement.Pool) { p.Warm = 4 }), pool("q", func(p *placement.Pool) { p.Warm = 4 }),
			}, targets{"h00": {"p": 2, "q": 2}},
		},
		"nor there with what it has in use": {
			[]placement.Host{host("a", 4, busy("p", 2))}, []placement.Pool{
				pool("p", func(p *placement.Pool) { p.Warm = 4 }), pool("q", func(p *placement.Pool) { p.Warm = 4 }),
			}, targets{"a": {"q": 2}},
		},
		"nor with what it has in use": {
			[]placement.Host{host("a", 4, busy("p", 2))}, []placement.Pool{pool("p", waits(9)), pool("q", waits(9))}, targets{"a": {"q": 2}},
		},
		"waiting before warm": {
			many(1, 2), []placement.Pool{pool("p", func(p *placement.Pool) { p.Warm = 2 }), pool("q", waits(2))}, targets{"h00": {"q": 2}},
		},
		"but not the spare one": {
			[]placement.Host{host("a", 2, clean("p", 2)), host("b", 2, clean("p", 2))},
			[]placement.Pool{pool("p", func(p *placement.Pool) { p.Warm, p.WarmTotal = 1, 4 }), pool("q", waits(1))},
			targets{"a": {"p": 1, "q": 1}, "b": {"p": 2}},
		},
		"nor before what waits for another pool": {
			many(1, 4), []placement.Pool{pool("p", waits(1)), pool("q", waits(3))}, targets{"h00": {"p": 1, "q": 3}},
		},
		"one that is kept warm is the spare one": {
			many(2, 9), []placement.Pool{pool("p", func(p *placement.Pool) { p.Warm, p.Waiting = 1, 1 })}, targets{"h00": {"p": 1}, "h01": {"p": 1}},
		},
		"who has waited longest": {
			many(1, 1), []placement.Pool{pool("p", func(p *placement.Pool) { p.Waiting, p.Oldest = 1, 9 }), pool("q", waits(1))}, targets{"h00": {"q": 1}},
		},
		"the largest before it": {
			many(1, 3), []placement.Pool{
				pool("p", waits(2)),
				pool("q", func(p *placement.Pool) { p.Waiting, p.Oldest, p.Order, p.Limits.Memory = 1, 9, core.MaxMin, 200 }),
				pool("r", func(p *placement.Pool) { p.Waiting, p.Oldest, p.Order, p.Limits.Memory = 1, 9, core.MaxMin, 300 }),
			}, targets{"h00": {"r": 1}},
		},
		"the smallest behind it": {
			many(1, 2), []placement.Pool{
				pool("p", func(p *placement.Pool) { p.Waiting, p.Oldest, p.Order = 1, 1, core.MinMin }),
				pool("q", func(p *placement.Pool) { p.Waiting, p.Oldest, p.Order, p.Limits.Memory = 1, 1, core.MinMin, 50 }),
				pool("r", func(p *placement.Pool) { p.Waiting, p.Oldest = 1, 9 }),
			}, targets{"h00": {"r": 1, "q": 2}},
		},
	} {
		require.Equal(t, c.want, targetsOf(c.hosts, c.pools), name)
	}
}

// What waits is served by VMs in all, so that a host goes on while others of its VMs end; what is warm is clean.
func TestTargetsTellWarmFromWaiting(t *testing.T) {
	t.Parallel()
	hosts := []placement.Host{host("a", 3, busy("p", 2)), host("b", 4, clean("p", 1))}
	warm := pool("p", func(p *placement.Pool) { p.Waiting, p.Warm = 4, 1 })
	require.Equal(t, map[string]core.Targets{"a": {"p": {Warm: 1, Most: 3}}, "b": {"p": {Warm: 1, Most: 4}}}, placement.Targets(hosts, []placement.Pool{warm}))
	warm.Waiting = 0
	require.Equal(t, map[string]core.Targets{"a": {"p": {Warm: 1}}, "b": {"p": {Warm: 1}}}, placement.Targets(hosts, []placement.Pool{warm}))
	warm.Warm, warm.Waiting = 0, 1
	require.Equal(t, map[string]core.Targets{"b": {"p": {Most: 2}}}, placement.Targets(hosts, []placement.Pool{warm}))

	// All is full: as VMs end, others take their place without another round.
	hosts = []placement.Host{host("a", 2, busy("p", 2)), host("b", 9, busy("p", 4)), host("c", 9, busy("q", 1))}
	hosts[2].Serves = []string{"q"}
	warm.Waiting = 9
	require.Equal(t, map[string]core.Targets{"a": {"p": {Most: 2}}, "b": {"p": {Most: 4}}}, placement.Targets(hosts, []placement.Pool{warm, pool("q", nil)}))

	// But not where nothing is to be made.
	for name, change := range map[string]func(*placement.Host){
		"drained":      func(h *placement.Host) { h.Opening = placement.Shut },
		"late":         func(h *placement.Host) { h.Opening = placement.Late },
		"on probation": func(h *placement.Host) { h.Opening = placement.Trial },
		"broken":       func(h *placement.Host) { h.Broken = map[string]bool{"p": true} },
	} {
		closed := slices.Clone(hosts)
		change(&closed[0])
		require.Equal(t, map[string]core.Targets{"b": {"p": {Most: 4}}}, placement.Targets(closed, []placement.Pool{warm, pool("q", nil)}), name)
	}
}

// Of many equals the first by name are taken, each time: the round does not depend on the order of a map.
func TestTargetsAreTheSameEachTime(t *testing.T) {
	t.Parallel()
	var kept, open []placement.Host
	for i := range 8 {
		name := fmt.Sprint("h", i)
		kept, open = append(kept, host(name, 9, clean("p", 1))), append(open, host(name, 9, nil))
	}
	fewer := pool("p", func(p *placement.Pool) { p.WarmTotal = 3 })
	// VMs for waiting work are on all hosts, and fewer of them are warm.
	waiting := pool("p", func(p *placement.Pool) { p.Waiting, p.WarmTotal = 7, 3 })
	for range 50 {
		require.Equal(t, map[string]core.Targets{"h0": {"p": {Warm: 1}}, "h1": {"p": {Warm: 1}}, "h2": {"p": {Warm: 1}}},
			placement.Targets(kept, []placement.Pool{fewer}))
		warm := []string{}
		for name, its := range placement.Targets(open, []placement.Pool{waiting}) {
			if its["p"].Warm > 0 {
				warm = append(warm, name)
			}
		}
		require.ElementsMatch(t, []string{"h0", "h1", "h2"}, warm)
	}
}

// A host whose VMs are all busy in each round goes on with their pool, but not while another pool has none.
func TestTargetsMakeWay(t *testing.T) {
	t.Parallel()
	large := pool("q", func(p *placement.Pool) { p.Waiting, p.Oldest, p.Limits.Memory = 9, 9, 200 })
	for name, c := range map[string]struct {
		hosts []placement.Host
		pools []placement.Pool
		want  map[string]core.Targets
	}{
		"the only VM": {
			[]placement.Host{host("a", 1, busy("p", 1))}, []placement.Pool{pool("p", waits(9)), pool("q", waits(9))}, map[string]core.Targets{},
		},
		"one of many": {
			[]placement.Host{host("a", 2, busy("p", 2)), host("b", 2, busy("p", 2))},
			[]placement.Pool{pool("p", waits(9)), pool("q", waits(9))},
			map[string]core.Targets{"a": {"p": {Most: 1}}, "b": {"p": {Most: 2}}},
		},
		"as many as a large one needs, where these are fewest": {
			[]placement.Host{host("a", 2, busy("p", 2)), host("b", 5, busy("p", 4))},
			[]placement.Pool{pool("p", waits(9)), large},
			map[string]core.Targets{"a": {"p": {Most: 2}}, "b": {"p": {Most: 3}}},
		},
		"of several pools": {
			[]placement.Host{host("a", 2, map[string]placement.VMs{"p": {Busy: 1}, "r": {Busy: 1}})},
			[]placement.Pool{pool("p", waits(9)), large, pool("r", waits(9))},
			map[string]core.Targets{},
		},
		"none that is free now": {
			[]placement.Host{host("a", 3, map[string]placement.VMs{"p": {Busy: 1}, "q": {Busy: 1}})},
			[]placement.Pool{pool("p", waits(1)), pool("q", waits(1))},
			map[string]core.Targets{"a": {"p": {Most: 2}, "q": {Most: 1}}},
		},
		"none where both have nearly equally many": {
			[]placement.Host{host("a", 3, map[string]placement.VMs{"p": {Busy: 2}, "q": {Busy: 1}})},
			[]placement.Pool{pool("p", waits(9)), pool("q", waits(9))},
			map[string]core.Targets{"a": {"p": {Most: 2}, "q": {Most: 1}}},
		},
		"for two that have none": {
			[]placement.Host{host("a", 4, busy("p", 4))},
			[]placement.Pool{pool("p", waits(9)), pool("q", waits(9)), pool("r", waits(9))},
			map[string]core.Targets{"a": {"p": {Most: 2}}},
		},
		"none for one that only lacks a spare one": {
			[]placement.Host{host("a", 3, busy("p", 2))},
			[]placement.Pool{pool("p", waits(9)), pool("q", waits(1))},
			map[string]core.Targets{"a": {"p": {Most: 2}, "q": {Most: 1}}},
		},
		"none where both have equally many": {
			[]placement.Host{host("a", 2, map[string]placement.VMs{"p": {Busy: 1}, "q": {Busy: 1}})},
			[]placement.Pool{pool("p", waits(9)), pool("q", waits(9))},
			map[string]core.Targets{"a": {"p": {Most: 1}, "q": {Most: 1}}},
		},
		"none for a pool that is not made there": {
			[]placement.Host{{Name: "a", Size: core.Size{Memory: 100}, Serves: []string{"p"}, VMs: busy("p", 1)}},
			[]placement.Pool{pool("p", waits(9)), pool("q", waits(9))},
			map[string]core.Targets{"a": {"p": {Most: 1}}},
		},
		"none for a pool that is paused": {
			[]placement.Host{host("a", 1, busy("p", 1))},
			[]placement.Pool{pool("p", waits(9)), pool("q", func(p *placement.Pool) { p.Waiting, p.Paused = 9, true })},
			map[string]core.Targets{"a": {"p": {Most: 1}}},
		},
	} {
		require.Equal(t, c.want, placement.Targets(c.hosts, c.pools), name)
	}
}

// Where more waits than there will ever be room for, and one VM ends after the other, each pool gets some in turn.
func TestTargetsStarveNoPool(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pools := []placement.Pool{pool("p", waits(99)), pool("q", waits(99)), pool("r", waits(99))}
		hosts := make([]placement.Host, rapid.IntRange(1, 3).Draw(t, "hosts"))
		ends := make([][]string, len(hosts)) // pools of the VMs, the one that ends next first
		for i := range hosts {
			hosts[i] = host(fmt.Sprint("h", i), rapid.Int64Range(1, 4).Draw(t, "room"), nil)
		}
		had := map[string]int{}
		for round := range int64(60) {
			for i := range hosts {
				hosts[i].VMs = map[string]placement.VMs{}
				for _, name := range ends[i] {
					hosts[i].VMs[name] = placement.VMs{Busy: hosts[i].VMs[name].Busy + 1}
				}
			}
			all := placement.Targets(hosts, pools)
			for i, h := range hosts {
				renew := func() {
					for j, p := range pools {
						n := 0
						for _, name := range ends[i] {
							if name == p.Name {
								n++
							}
						}
						for ; n < all[h.Name][p.Name].Most && int64(len(ends[i])*100) < h.Size.Memory; n++ {
							ends[i] = append(ends[i], p.Name)
							had[p.Name]++
							pools[j].Oldest = round + 2 // the one that waited longest has begun
						}
					}
				}
				renew()
				if rapid.Bool().Draw(t, "ends") || len(hosts) == 1 {
					ends[i] = ends[i][min(1, len(ends[i])):]
					renew()
				}
			}
		}
		require.Len(t, had, len(pools), "%v", had)
	})
}
