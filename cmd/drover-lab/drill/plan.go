package drill

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"drover/core"
)

// fault is one line of the plan.
type fault struct {
	n     int
	kind  *kind
	host  *host         // that it strikes; nil for what belongs to none
	gap   time.Duration // after the fault before
	hold  time.Duration // until it is healed
	shift time.Duration // of a clock
}

// String names the fault for people.
func (f fault) String() string {
	if f.kind.part == "clock" {
		return fmt.Sprintf("%s by %s for %s", f.kind.name, f.shift, f.hold.Round(time.Millisecond))
	}
	if f.host == nil {
		return fmt.Sprintf("%s for %s", f.kind.name, f.hold.Round(time.Millisecond))
	}
	return fmt.Sprintf("%s of %s for %s", f.kind.name, f.host.name, f.hold.Round(time.Millisecond))
}

// newPlan draws all faults. Nothing but the settings and the seed changes it.
func newPlan(cfg Config, kinds []*kind, h *cluster) []fault {
	const seedMore = 0x9e3779b97f4a7c15               // any other number
	dice := rand.New(rand.NewPCG(cfg.Seed, seedMore)) //nolint:gosec // a plan is to be repeated, not to be unknown
	able := slices.DeleteFunc(slices.Clone(kinds), func(k *kind) bool { return h.skipped(k) != "" })
	weights := 0
	for _, k := range able {
		weights += k.weight
	}
	plan := make([]fault, 0, cfg.Faults)
	for n := 1; n <= cfg.Faults && weights > 0; n++ {
		at := dice.IntN(weights)
		i := 0
		for at >= able[i].weight {
			at -= able[i].weight
			i++
		}
		plan = append(plan, able[i].draw(n, dice, cfg, h))
	}
	return plan
}

// draw draws a fault's host and times: short ones are over before anybody is late,
// long ones last until everybody involved was fenced.
func (k *kind) draw(n int, dice *rand.Rand, cfg Config, h *cluster) fault {
	f := fault{n: n, kind: k}
	const mostGap = 400 * time.Millisecond
	f.gap = time.Duration(dice.Int64N(int64(mostGap)))
	if k.victims != nil {
		victims := k.victims(h)
		f.host = victims[dice.IntN(len(victims))]
	}
	f.hold = cfg.down() / 8
	if dice.Float64() < k.long {
		f.hold = cfg.down() * 7 / 5
	}
	f.hold += time.Duration(dice.Int64N(int64(f.hold)))
	if cfg.Hold > 0 {
		f.hold = cfg.Hold
	}
	farthest := 240 // s
	if dice.IntN(2) == 0 {
		farthest *= 360 // a day
	}
	f.shift = time.Duration(dice.IntN(farthest)-farthest/2) * time.Second
	return f
}

// pick returns the named kinds, or all of them.
func pick(names []string) ([]*kind, error) {
	if len(names) == 0 {
		return kinds, nil
	}
	var picked []*kind
	for _, name := range names {
		i := slices.IndexFunc(kinds, func(k *kind) bool { return k.name == name })
		if i < 0 {
			return nil, core.Errorf(core.CodeInvalid, name, "no fault is called %q: use %s", name, strings.Join(Kinds(), ", "))
		}
		picked = append(picked, kinds[i])
	}
	return picked, nil
}

// Kinds lists the names of all kinds of faults.
func Kinds() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// ground says what is under a fault now: no part of the cluster suffers two at once.
type ground struct {
	mu    sync.Mutex
	taken map[string]bool
	now   int
	most  int
	freed chan struct{} // closed and replaced by every give
}

func newGround(most int) *ground {
	return &ground{taken: map[string]bool{}, most: most, freed: make(chan struct{})}
}

// take waits until all parts are free and takes them. It returns false if ctx ends first.
func (g *ground) take(ctx context.Context, parts []string) bool {
	for {
		g.mu.Lock()
		busy := g.now >= g.most || slices.ContainsFunc(parts, func(p string) bool { return g.taken[p] })
		if !busy {
			for _, p := range parts {
				g.taken[p] = true
			}
			g.now++
			g.mu.Unlock()
			return true
		}
		freed := g.freed
		g.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return false
		}
	}
}

func (g *ground) give(parts []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range parts {
		delete(g.taken, p)
	}
	g.now--
	close(g.freed)
	g.freed = make(chan struct{})
}

func (g *ground) busy() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now
}

// drain waits until no fault is left.
func (g *ground) drain() {
	for {
		g.mu.Lock()
		now, freed := g.now, g.freed
		g.mu.Unlock()
		if now == 0 {
			return
		}
		<-freed
	}
}
