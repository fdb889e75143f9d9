package core

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Strategy is how the host for one more VM of a pool is chosen among those with room. A host with an idle VM of the
// pool comes before all others.
type Strategy string

// The strategies.
const (
	WorstFit Strategy = "worst-fit" // the host with the most room: work is spread
	BestFit  Strategy = "best-fit"  // the host with the least room left: large VMs keep a place
	FirstFit Strategy = "first-fit" // the first by name: the last ones stay empty
	NextFit  Strategy = "next-fit"  // the next by name after the one that got the last: in turns
)

// Strategies returns all strategies, the default first.
func Strategies() []Strategy { return []Strategy{WorstFit, BestFit, FirstFit, NextFit} }

// PlacementOrder is which pools get their next VM first among those that have equally many.
type PlacementOrder string

// The orders.
const (
	Fifo   PlacementOrder = "fifo"   // whose request has waited longest
	MaxMin PlacementOrder = "maxmin" // before all fifo ones, the largest VM first: it finds a place before small ones fill it
	MinMin PlacementOrder = "minmin" // after all fifo ones, the smallest VM first: it fills what is left
)

// PlacementOrders returns all orders, the default first.
func PlacementOrders() []PlacementOrder { return []PlacementOrder{Fifo, MaxMin, MinMin} }

// MaxWarmTotal bounds the VMs that a pool keeps warm in the whole cluster.
const MaxWarmTotal = 100_000

// MinIdleAfter is the shortest time without use after which nothing is kept warm for a pool.
const MinIdleAfter = time.Minute

// checkPlacement returns an INVALID error that names the first invalid setting of where the pool's VMs are made.
func (p Pool) checkPlacement() error {
	words := func(all []string) string { return strings.Join(all, ", ") }
	strategies, orders := Texts(Strategies()), Texts(PlacementOrders())
	switch {
	case p.WarmTotal < 0 || p.WarmTotal > MaxWarmTotal:
		return Errorf(CodeInvalid, p.Name, "pool %s: warm total %d must be between 0 and %d", p.Name, p.WarmTotal, MaxWarmTotal)
	case p.WarmMost < 0 || p.WarmMost > MaxWarmTotal:
		return Errorf(CodeInvalid, p.Name, "pool %s: warm most %d must be between 0 and %d", p.Name, p.WarmMost, MaxWarmTotal)
	case p.Spread < 0 || p.Spread > MaxPoolVMs:
		return Errorf(CodeInvalid, p.Name, "pool %s: spread %d must be between 0 and %d hosts", p.Name, p.Spread, MaxPoolVMs)
	case p.Strategy != "" && !slices.Contains(strategies, string(p.Strategy)):
		return Errorf(CodeInvalid, p.Name, "pool %s: strategy %q must be one of %s", p.Name, p.Strategy, words(strategies))
	case p.Order != "" && !slices.Contains(orders, string(p.Order)):
		return Errorf(CodeInvalid, p.Name, "pool %s: order %q must be one of %s", p.Name, p.Order, words(orders))
	case p.IdleAfter != 0 && (p.IdleAfter < MinIdleAfter || p.IdleAfter > MaxKeepOutputs):
		return Errorf(CodeInvalid, p.Name, "pool %s: idle after %s must be between %s and %s, or 0 to keep VMs warm always", p.Name, p.IdleAfter, MinIdleAfter, MaxKeepOutputs)
	}
	return nil
}

// Texts returns values as plain strings.
func Texts[T ~string](all []T) []string {
	out := make([]string, len(all))
	for i, v := range all {
		out[i] = string(v)
	}
	return out
}

// Target is how many VMs of a pool a host should have.
type Target struct {
	Warm int `json:"warm,omitempty"` // clean, whether work waits or not
	Most int `json:"most,omitempty"` // in all, up to which it makes more for work that waits
}

// Targets are those of a host, by pool.
type Targets map[string]Target

// Use is how much a pool is used, as rounds of placement find it.
type Use struct {
	Claims  int64   // so far, since Redis began
	Counted int64   // those that the last round knew; a round that is written sets it to Claims
	At      int64   // when a round last found more than the one before, ms since 1970
	Rate    float64 // claims per second of late, see placement.Learn
	Rated   int64   // when the rate was last brought up to date, ms since 1970
}

// Ground is what the targets of a cluster are computed of.
type Ground struct {
	Number   int64                     // of the last change of targets
	Age      time.Duration             // since the last round; below 0: there was none
	Now      int64                     // ms since 1970, by the server's clock
	Hosts    []HostInfo                // all
	Pools    []Pool                    // all
	Waiting  map[string]int            // by pool: requests in any place
	Oldest   map[string]int64          // by pool for which some wait: when the first of the queues was submitted, ms since 1970
	Assigned map[string]map[string]int // by host and pool: requests that only this host takes
	Use      map[string]Use            // by pool
}

// Round is what a round of placement decided.
type Round struct {
	Targets map[string]Targets // of hosts that change; nil: the host has none
	Use     map[string]Use     // by pool that changes
	Lasts   time.Duration      // vmfactories leave waiting work to the next round for so long
}

// Placements keeps how many clean VMs of each pool each host should hold.
type Placements interface {
	// Ground reads what targets are computed of.
	Ground(ctx context.Context) (Ground, error)
	// SetTargets writes a round that was computed of the ground with this number, and returns the next number. Returns
	// CONFLICT if another round was written since.
	SetTargets(ctx context.Context, number int64, r Round) (int64, error)
	// WaitPlacement returns when work waits for which no host has a VM, or after poll. It is a hint.
	WaitPlacement(ctx context.Context, poll time.Duration) error
}
