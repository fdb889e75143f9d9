package operate

import (
	"cmp"
	"context"
	"slices"
	"time"

	"drover/core"
	"drover/core/cluster/history"
	"drover/core/cluster/simulate"
)

// Hits is which part of a pool's claims met a clean VM, and what it would have been with fixed numbers of warm VMs.
type Hits struct {
	Pool  string `json:"pool"`
	From  int64  `json:"from_ms"`
	Until int64  `json:"until_ms"`
	Warm  int    `json:"warm"` // claims whose VM was begun before their request was queued
	Cold  int    `json:"cold"` // those that waited until a VM was made

	Replayed int         `json:"replayed,omitempty"` // requests of the simulations: all, or the newest
	AsSet    *FixedHits  `json:"as_set,omitempty"`   // with the pool's settings as they are now; nil: nothing was simulated
	Fixed    []FixedHits `json:"fixed,omitempty"`
}

// Met is the counted part, as history.Row has it.
func (h Hits) Met() string { return history.Row{Warm: h.Warm, Cold: h.Cold}.Met() }

// FixedHits is how the pool's requests fare in a simulation.
type FixedHits struct {
	Warm    int     `json:"warm"`     // clean VMs kept on each host
	HitRate float64 `json:"hit_rate"` // of 1: requests that found a clean VM and a slot at once
	P95     int64   `json:"wait_p95_ms"`
	Hours   float64 `json:"warm_hours"` // VM-hours clean: what it costs
}

// Percent is the hit rate of 100.
func (f FixedHits) Percent() float64 { return percentOf * f.HitRate }

const (
	percentOf    = 100
	mostReplayed = 5000            // requests of one simulation
	mostRead     = 100_000         // ends, of all pools, after which it looks no further back for them
	unknownTime  = 2 * time.Second // to make a VM, where no host has measured it
)

// fixedCounts are the numbers of warm VMs on each host that are compared.
func fixedCounts() []int { return []int{0, 1, 2, 4, 8} }

// Hits returns which part of the claims of a pool met a clean VM in a span of time. With simulated it also replays the
// newest requests of that time on the hosts as they are now: with the pool's settings, and with fixed numbers of warm
// VMs. It assumes that making a VM takes what it took lately, that a request keeps its VM as long as it did, and that
// other pools leave the hosts to this one. One replay runs at a time, and is shared for a minute. Returns FORBIDDEN,
// INVALID, NOTFOUND, UNAVAILABLE.
func (o *Service) Hits(ctx context.Context, a core.Actor, pool string, from, until time.Time, simulated bool) (Hits, error) {
	p, err := o.Pool(ctx, a, pool)
	if err != nil {
		return Hits{}, err
	}
	s, err := history.Read(ctx, o.Store, "pool", from, until, o.now())
	if err != nil {
		return Hits{}, err
	}
	h := Hits{Pool: pool, From: s.From, Until: s.Until}
	if i := slices.IndexFunc(s.Rows, func(r history.Row) bool { return r.Value == pool }); i >= 0 {
		h.Warm, h.Cold = s.Rows[i].Warm, s.Rows[i].Cold
	}
	if !simulated {
		return h, nil
	}
	found, err := o.replayed(ctx, p, from.UnixMilli(), until.UnixMilli())
	h.Replayed, h.AsSet, h.Fixed = found.Replayed, found.AsSet, found.Fixed
	return h, err
}

// newestEnded returns the last ends of a pool in a span of time, last submitted first, at most mostReplayed. It goes
// back in spans that double, so that it reads few results of a pool that has many.
func (o *Service) newestEnded(ctx context.Context, pool string, from, until int64) ([]core.Ended, error) {
	var ended []core.Ended
	read := 0
	for span := time.Hour.Milliseconds(); until > from && len(ended) < mostReplayed && read < mostRead; span *= 2 {
		begin := max(from, until-span)
		if err := o.Store.Ended(ctx, begin, until, func(e core.Ended) error {
			read++
			if e.Pool == pool {
				ended = append(ended, e)
			}
			if len(ended) >= 2*mostReplayed { // so that what is held stays small
				ended = newestOf(ended)
			}
			return nil
		}); err != nil {
			return nil, err
		}
		until = begin
	}
	return newestOf(ended), nil
}

// newestOf are the last submitted, at most mostReplayed.
func newestOf(ended []core.Ended) []core.Ended {
	slices.SortFunc(ended, func(a, b core.Ended) int { return cmp.Compare(b.Times.Submitted, a.Times.Submitted) })
	return ended[:min(mostReplayed, len(ended))]
}

// replay simulates the pool's requests of a span of time. Returns NOTFOUND if there are none, and INVALID if no host
// can run them.
func (o *Service) replay(ctx context.Context, p core.Pool, from, until int64) (Hits, error) {
	var h Hits
	ended, err := o.newestEnded(ctx, p.Name, from, until)
	if err != nil {
		return h, err
	}
	trace, err := simulate.OfHistory(ended)
	if err != nil {
		return h, err
	}
	hosts, err := o.Cluster.ListHosts(ctx)
	if err != nil {
		return h, err
	}
	settings := simulate.OfCluster(hosts, []core.Pool{p}, unknownTime)
	run := func(s simulate.Settings, warm int) (FixedHits, error) {
		r, err := simulate.Run(trace, s)
		return FixedHits{Warm: warm, HitRate: r.HitRate, P95: r.Wait.P95, Hours: r.Warm}, err
	}
	h.Replayed = len(trace)
	asSet, err := run(settings, p.Warm)
	if err != nil {
		return h, err
	}
	h.AsSet = &asSet
	for _, warm := range fixedCounts() {
		if warm > p.Max || ctx.Err() != nil {
			break
		}
		one, err := run(settings.Fixed(warm), warm)
		if err != nil {
			return h, err
		}
		h.Fixed = append(h.Fixed, one)
	}
	return h, ctx.Err()
}
