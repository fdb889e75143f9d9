package placement_test

import (
	"fmt"
	"testing"

	"drover/core"
	"drover/core/cluster/placement"
)

// large is a cluster in use: every host serves every pool and has 20 VMs, half of them busy; requests wait for one
// pool in ten.
func large(hosts, pools int) ([]placement.Host, []placement.Pool) {
	names := make([]string, pools)
	ps := make([]placement.Pool, pools)
	for i := range ps {
		names[i] = fmt.Sprintf("pool-%04d", i)
		ps[i] = pool(names[i], func(p *placement.Pool) {
			p.WarmTotal, p.Spread, p.Strategy, p.Order = 10*hosts/pools, 3, core.Strategies()[i%4], core.PlacementOrders()[i%3]
			if i%10 == 0 {
				p.Waiting, p.Oldest = p.WarmTotal+10, int64(i)
			}
		})
	}
	hs := make([]placement.Host, hosts)
	for i := range hs {
		has := map[string]placement.VMs{}
		for j := range 10 {
			has[names[(i*10+j)%pools]] = placement.VMs{Clean: 1, Busy: 1}
		}
		hs[i] = host(fmt.Sprintf("host-%04d", i), 32, has)
		hs[i].Serves = names
	}
	return hs, ps
}

// A round of a large cluster in use, and one in which it starts with nothing.
func BenchmarkTargets(b *testing.B) {
	hosts, pools := large(5000, 1000)
	b.Run("in-use", func(b *testing.B) {
		for b.Loop() {
			placement.Targets(hosts, pools)
		}
	})
	for i := range hosts {
		hosts[i].VMs = nil
	}
	b.Run("from-nothing", func(b *testing.B) {
		for b.Loop() {
			placement.Targets(hosts, pools)
		}
	})
}
