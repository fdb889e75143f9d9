package drill

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"drover/core"
	"drover/core/cluster/lease"
	"drover/core/service/clock"
)

// Bounds of the leases of a drill.
const (
	openLeases  = 5                // at a time
	leaseBeats  = 2                // heartbeats between two turns
	standing    = 30 * time.Minute // of the lease that is there all the time
	longestTime = 20 * time.Second // of the others
	leaseLead   = "3s"
)

// leasing makes, changes and deletes leases while the cluster is hurt, and remembers what it did.
type leasing struct {
	cluster *cluster
	client  *Client
	cfg     Config

	mu     sync.Mutex
	known  map[string]*leased // by id: those that were asked for
	counts leaseCounts
	books  books
}

// leased is what the drill knows of a lease.
type leased struct {
	holders map[string]bool // that it ever had
	sure    bool            // the answer said that it was made
	deleted bool            // somebody was asked to delete it
	last    *core.Lease     // as it was seen last; nil: it was not
}

// leaseCounts are the leases of a drill.
type leaseCounts struct {
	Made     int   `json:"made"`
	Changed  int   `json:"changed"`
	Deleted  int   `json:"deleted"` // before their end
	Refused  int   `json:"refused"` // changes that were not accepted, such as for want of room
	Started  int   `json:"started"`
	Ended    int   `json:"ended"`
	Failed   int   `json:"failed"`      // that could not be started within a minute, and said so
	Degraded int   `json:"degraded"`    // times that units moved or were missing
	Whole    int   `json:"whole"`       // times that all of them were there again
	Held     int   `json:"held"`        // tries of holders in VMs of leases
	OverMs   int64 `json:"oversold_ms"` // longest time for which a host was promised to more than it holds, until it was healed
}

func newLeasing(cfg Config, h *cluster) *leasing {
	return &leasing{cfg: cfg, cluster: h, client: h.client, known: map[string]*leased{}}
}

// run makes and changes leases until ctx ends.
func (l *leasing) run(ctx context.Context, dice *rand.Rand) {
	const changes, deletes = 3, 5 // one of so many turns does it
	for clock.Sleep(ctx, clock.Real{}, leaseBeats*l.cfg.beat()) == nil {
		l.look(ctx)
		open := l.open()
		switch {
		case !slices.ContainsFunc(open, func(one core.Lease) bool { return one.Name == "standing" }):
			l.stand(ctx)
		case len(open) > 1 && dice.IntN(deletes) == 0:
			if l.remove(ctx, open[dice.IntN(len(open))].ID) {
				l.count(func(n *leaseCounts) { n.Deleted++ })
			}
		case len(open) > 1 && dice.IntN(changes) == 0:
			l.change(ctx, dice, open[dice.IntN(len(open))])
		case len(open) < openLeases:
			l.make(ctx, draftLease(dice, l.client.Leases.Now(), open))
		}
	}
}

// open lists the leases that hold room, or will, as they were seen last.
func (l *leasing) open() []core.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []core.Lease
	for _, one := range l.known {
		if one.last != nil && one.last.State.Open() && !one.deleted {
			all = append(all, *one.last)
		}
	}
	slices.SortFunc(all, func(x, y core.Lease) int { return int(x.Created - y.Created) })
	return all
}

// stand makes the lease that is there all the time, of units of the first pool for the first submitters.
func (l *leasing) stand(ctx context.Context) {
	l.make(ctx, lease.Draft{
		Name: "standing", Submitters: []string{"s0", "s1", "s2", "s3"}, End: l.client.Leases.Now().Add(standing).UnixMilli(),
		Reservations: []lease.Want{{Pools: poolNames[:1], Units: 2}},
	})
}

// draftLease draws a lease: of units with or without affinity, or of a whole host; from now on, soon, or from just when
// another one ends.
func draftLease(dice *rand.Rand, now time.Time, open []core.Lease) lease.Draft {
	const wholes, chains = 5, 3 // one of so many is of a whole host, or begins when another ends
	pool := poolNames[dice.IntN(len(poolNames))]
	want := lease.Want{
		Pools: []string{pool}, Units: 1 + dice.IntN(3),
		Affinity: []core.Affinity{core.AffinityNone, core.AffinityTrue, core.AffinityFalse}[dice.IntN(3)],
	}
	long := 2*time.Second + time.Duration(dice.Int64N(int64(longestTime)))
	if dice.IntN(wholes) == 0 {
		want, long = lease.Want{Pools: poolNames, MinHosts: 1}, long/2
	}
	start := now.Add(time.Duration(dice.Int64N(int64(5 * time.Second))))
	if len(open) > 0 && dice.IntN(chains) == 0 {
		if end := time.UnixMilli(open[dice.IntN(len(open))].End); end.After(now) && end.Before(now.Add(time.Minute)) {
			start = end
		}
	}
	return lease.Draft{
		Name: "drawn", Submitters: []string{fmt.Sprintf("s%d", dice.IntN(submitters)), "batches"}[:1+dice.IntN(2)],
		Start: start.UnixMilli(), End: start.Add(long).UnixMilli(), BeforeEnd: time.Duration(dice.IntN(2)) * time.Second,
		Grace: time.Duration(dice.IntN(3)) * time.Second, Reservations: []lease.Want{want},
	}
}

// make asks for a lease. What is not answered may have been made.
func (l *leasing) make(ctx context.Context, d lease.Draft) {
	id := newID()
	its := &leased{holders: map[string]bool{}}
	for _, who := range d.Submitters {
		its.holders[who] = true
	}
	l.mu.Lock()
	l.known[id] = its
	l.mu.Unlock()
	service := *l.client.Leases
	service.NewID = func() string { return id }
	made, err := service.Create(ctx, core.System(), d)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.counts.Refused++
		return
	}
	l.counts.Made++
	its.sure = true
	if its.last == nil {
		its.last = &made
	}
	l.cluster.note("lease %s: %s, of %v", id, d.Name, d.Reservations)
}

// change makes a lease longer, shorter or larger, or gives it to somebody else.
func (l *leasing) change(ctx context.Context, dice *rand.Rand, of core.Lease) {
	var c lease.Change
	switch dice.IntN(4) {
	case 0:
		end := of.End + dice.Int64N(10_000)
		c.End = &end
	case 1:
		end := max(of.Start+1, l.client.Leases.Now().UnixMilli()+dice.Int64N(3000))
		c.End = &end
	case 2:
		r := of.Reservations[0]
		if r.WholeHosts() {
			return
		}
		c.Reservations = &[]lease.Want{{Pools: r.Pools, Units: r.Units + 1, Affinity: r.Affinity}}
	default:
		who := []string{fmt.Sprintf("s%d", dice.IntN(submitters))}
		l.mu.Lock()
		l.known[of.ID].holders[who[0]] = true
		l.mu.Unlock()
		c.Submitters = &who
	}
	_, err := l.client.Leases.Update(ctx, core.System(), of.ID, c)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.counts.Refused++
		return
	}
	l.counts.Changed++
}

// remove deletes a lease before its end, and reports whether it was accepted.
func (l *leasing) remove(ctx context.Context, id string) bool {
	l.mu.Lock()
	l.known[id].deleted = true // if only the answer is lost, too
	l.mu.Unlock()
	err := l.client.Leases.Delete(ctx, core.System(), id)
	l.mu.Lock()
	defer l.mu.Unlock()
	if core.Is(err, core.CodeConflict) {
		l.known[id].deleted = false // it starts or ends just now
	}
	return err == nil
}

// watch looks at the calendar until ctx ends.
func (l *leasing) watch(ctx context.Context) {
	const often = 250 * time.Millisecond
	for clock.Sleep(ctx, clock.Real{}, often) == nil {
		l.look(ctx)
		l.books.look(ctx, l.client, time.Now())
	}
}

// look notes the leases as they are. Those that are over the calendar does not have.
func (l *leasing) look(ctx context.Context) {
	cal, err := l.client.Store.Calendar(ctx, 0)
	if err != nil {
		return // it is looked at again
	}
	seen := map[string]bool{}
	l.mu.Lock()
	for i := range cal.Leases {
		seen[cal.Leases[i].ID] = true
		if its := l.known[cal.Leases[i].ID]; its != nil {
			its.last = &cal.Leases[i]
		}
	}
	var over []string
	for id, its := range l.known {
		if its.last != nil && its.last.State.Open() && !seen[id] && !its.deleted {
			over = append(over, id)
		}
	}
	l.mu.Unlock()
	for _, id := range over {
		if one, err := l.client.Store.GetLease(ctx, id); err == nil {
			l.mu.Lock()
			l.known[id].last = &one
			l.mu.Unlock()
		}
	}
}

// Bounds of what becomes of leases at the end.
const (
	wholeTimeout = time.Minute // until all that is active is whole, once everything is healed
	overTimeout  = 2 * time.Minute
)

// close waits until the leases are whole or say why not, then ends all of them, and waits until nothing is left of them.
// It returns what is wrong.
func (l *leasing) close(ctx context.Context) []string {
	var wrong []string
	l.cluster.await(ctx, wholeTimeout, func(ctx context.Context) bool {
		wrong = nil
		l.look(ctx)
		cal, err := l.client.Store.Calendar(ctx, 0)
		if err != nil {
			wrong = []string{"the calendar cannot be read: " + err.Error()}
			return false
		}
		for i := range cal.Leases {
			wrong = append(wrong, unexplained(&cal.Leases[i])...)
		}
		return len(wrong) == 0
	})
	var before, left []string
	l.cluster.await(ctx, overTimeout, func(ctx context.Context) bool {
		before, left = left, nil
		l.look(ctx)
		cal, err := l.client.Store.Calendar(ctx, 0)
		if err != nil {
			left = append(before, "the calendar cannot be read: "+err.Error()) // the last look is cut off
			return false
		}
		for i := range cal.Leases {
			one := &cal.Leases[i]
			left = append(left, fmt.Sprintf("lease %s is still %s", one.ID, one.State))
			if one.State.Open() { // whether or not somebody was asked for it before: the request may be lost
				l.remove(ctx, one.ID)
			}
		}
		states, err := l.client.Redis.Leased(ctx)
		if err != nil {
			left = append(left, "the pools of leases cannot be listed: "+err.Error())
		}
		for _, s := range states {
			left = append(left, fmt.Sprintf("pool %s of a lease that is over is left: %d requests wait", s.Pool.Name, s.Waiting))
		}
		return len(left) == 0
	})
	return append(wrong, left...)
}

// count changes what is counted.
func (l *leasing) count(change func(n *leaseCounts)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(&l.counts)
}

// report puts what became of all leases into the report.
func (l *leasing) report(ctx context.Context, r *Report) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, its := range l.known {
		one, err := l.client.Store.GetLease(ctx, id)
		switch {
		case core.Is(err, core.CodeNotFound):
			if its.sure && !its.deleted {
				r.lease("lease %s was made, and is not there any more", id)
			}
			if its.last == nil {
				continue
			}
			one = *its.last // as it was before it was deleted
		case err != nil:
			return err
		}
		for _, what := range twice(&one) {
			r.lease("%s", what)
		}
		l.counts.Failed += notes(&one, core.EventLeaseFailed)
		l.counts.Started += notes(&one, core.EventLeaseStarted)
		l.counts.Ended += notes(&one, core.EventLeaseEnded)
		l.counts.Degraded += notes(&one, core.EventLeaseDegraded)
		l.counts.Whole += notes(&one, core.EventLeaseWhole)
	}
	over, longest := l.books.result()
	for _, what := range over {
		r.lease("%s", what)
	}
	l.counts.OverMs = longest.Milliseconds()
	l.counts.Held = r.Leases.Held
	r.Leases = l.counts
	return nil
}

// ran judges one try of a request in a VM of a lease.
func (l *leasing) ran(r *Report, of string, spec core.Spec) {
	l.mu.Lock()
	defer l.mu.Unlock()
	its := l.known[of]
	if its == nil || !its.holders[spec.Submitter] {
		r.lease("request %s of %s ran in a VM of lease %s, which is not for it", spec.ID, spec.Submitter, of)
		return
	}
	r.Leases.Held++
}

func (r *Report) lease(format string, args ...any) {
	r.LeaseFaults++
	r.detail("lease: "+format, args...)
}
