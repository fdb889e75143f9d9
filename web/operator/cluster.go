package operator

import (
	"slices"
	"strings"
	"time"

	"drover/core"
	"drover/core/cluster/operate"
	"drover/web/page"
)

// Bounds of the cluster's page.
const (
	hostsPage = 25
	barsPage  = 6 // pools of one host; its own page has all
)

// clusterData is what the cluster's page shows.
type clusterData struct {
	At      int64
	Up      int
	Suspect int
	Down    int
	Drained int
	InUse   int
	VMs     int
	Waiting int
	Moves   int

	Warnings []operate.Warning
	Tiles    tiles

	Totals []bar
	Hosts  []hostRow
	Heart  heart
	Next   string // the next page's URL
}

// heart is how long it is between two heartbeats.
type heart time.Duration

// Beat returns when the last heartbeat arrived, from when the next is due, both in ms.
func (h heart) Beat(due int64) int64 { return due - time.Duration(h).Milliseconds() }

// hostRow is a host in the cluster's page.
type hostRow struct {
	core.HostInfo

	Bars []bar
	More int // pools without a bar
}

func (s *pages) cluster(r *page.Request) error {
	v, err := s.Cluster.Overview(r.Context(), r.Actor())
	if err != nil {
		return err
	}
	d := clusterData{At: v.At, Moves: v.Moves, Warnings: v.Warnings, Totals: bars(v.Totals), Heart: heart(s.Beat)}
	for i := range v.Hosts {
		d.count(&v.Hosts[i])
	}
	for _, t := range v.Totals {
		d.InUse += t.InUse
		d.VMs += t.VMs()
		d.Waiting += t.Waiting
	}
	lately, err := s.Cluster.Lately(r.Context(), r.Actor())
	if err != nil {
		return err
	}
	d.Tiles = tilesOf(&lately)
	after := r.FormValue("after")
	first, found := slices.BinarySearchFunc(v.Hosts, after, func(h core.HostInfo, name string) int { return strings.Compare(h.Name, name) })
	if found {
		first++
	}
	for i := range v.Hosts[first:min(first+hostsPage, len(v.Hosts))] {
		h := &v.Hosts[first+i]
		all := bars(v.Loads[h.Name])
		some := all[:min(len(all), barsPage)]
		d.Hosts = append(d.Hosts, hostRow{HostInfo: *h, Bars: some, More: len(all) - len(some)})
	}
	if first+hostsPage < len(v.Hosts) {
		d.Next = "/cluster?after=" + d.Hosts[len(d.Hosts)-1].Name
	}
	return r.Render("operator/cluster", d)
}

func (d *clusterData) count(h *core.HostInfo) {
	switch h.State {
	case core.HostUp:
		d.Up++
	case core.HostSuspect:
		d.Suspect++
	case core.HostDown:
		d.Down++
	}
	if h.Drain {
		d.Drained++
	}
}

// bar is a pool's VMs as a picture: parts of a width of 100.
type bar struct {
	operate.Load

	Parts []part
	Mark  float64 // position of the target; 0 for none
}

type part struct {
	Class string
	X, W  float64
}

// scale returns how many VMs a whole bar stands for: the maximum, unless that is far more than the present number and
// the target; then twice those, so that they are visible.
func scale(l *operate.Load) float64 {
	most := max(l.VMs(), l.Target, 1)
	return float64(max(most, min(l.Max, 2*most)))
}

func bars(loads []operate.Load) []bar {
	out := make([]bar, len(loads))
	for i, l := range loads {
		b := bar{Load: l}
		whole := scale(&l)
		x := 0.0
		for _, p := range []struct {
			class string
			n     int
		}{{"good", l.Clean}, {"calm", l.InUse}, {"warn", l.Creating}, {"soft", l.Dirty}, {"bad", l.Quarantined}} {
			if p.n > 0 {
				w := 100 * float64(p.n) / whole
				b.Parts = append(b.Parts, part{Class: p.class, X: x, W: w})
				x += w
			}
		}
		b.Mark = min(100, 100*float64(l.Target)/whole)
		out[i] = b
	}
	return out
}
