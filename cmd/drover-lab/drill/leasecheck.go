package drill

import (
	"context"
	"fmt"
	"sync"
	"time"

	"drover/core"
	"drover/core/cluster/lease"
)

// unexplained returns what a lease does not say of itself once all is healed: an active one has all that it needs and
// is not degraded, or says which of its units were lost, and why.
func unexplained(l *core.Lease) []string {
	if l.State != core.LeaseActive {
		return nil
	}
	var all []string
	for i := range l.Reservations {
		r := &l.Reservations[i]
		if r.State == core.ReservationDeleted {
			continue
		}
		why := ""
		for _, a := range r.Allocations {
			if a.State == core.AllocationLost {
				why = a.Why
			}
		}
		missing := r.Needs() - r.Held()
		switch {
		case missing > 0 && !r.MissingResources:
			all = append(all, fmt.Sprintf("lease %s lacks %d of reservation %d, and does not say so", l.ID, missing, i+1))
		case missing > 0 && why == "":
			all = append(all, fmt.Sprintf("lease %s lacks %d of reservation %d, and does not say why", l.ID, missing, i+1))
		case missing <= 0 && (r.MissingResources || r.ResourcesChanged):
			all = append(all, fmt.Sprintf("lease %s has all of reservation %d, and is degraded: missing %t, changed %t", l.ID, i+1, r.MissingResources, r.ResourcesChanged))
		}
	}
	return all
}

// notes counts what a lease's log has of an event.
func notes(l *core.Lease, event string) int {
	n := 0
	for i := range l.Log {
		if l.Log[i].Event == event {
			n++
		}
	}
	return n
}

// twice returns what happened to a lease more than once, or not at all though it should have. The oldest lines of a long
// log are gone.
func twice(l *core.Lease) []string {
	var all []string
	whole := len(l.Log) > 0 && l.Log[0].Number == 1
	began := l.State == core.LeaseActive || l.State == core.LeaseTerminating || l.State == core.LeaseTerminated || l.State == core.LeaseDeleting
	for _, e := range []struct {
		event string
		must  bool
	}{
		{core.EventLeaseStarted, began && whole},
		{core.EventLeaseEnded, l.State == core.LeaseTerminated},
		{core.EventLeaseEnding, false},
		{core.EventLeaseFailed, l.State == core.LeaseError},
	} {
		n := notes(l, e.event)
		if n > 1 || n == 0 && e.must {
			all = append(all, fmt.Sprintf("lease %s is %s, and has %s %d times in its log", l.ID, l.State, e.event, n))
		}
	}
	for i := 1; i < len(l.Log); i++ {
		if l.Log[i].Number != l.Log[i-1].Number+1 {
			all = append(all, fmt.Sprintf("lease %s has line %d of its log after line %d", l.ID, l.Log[i].Number, l.Log[i-1].Number))
		}
	}
	return all
}

// overTooLong is for how long hosts may be promised to more than they hold: until an overseer that lives sees that they
// failed or shrank. Faults of overseers, of Redis and of the store may follow each other meanwhile.
const overTooLong = time.Minute

// books watches how long hosts are promised to more than they hold.
type books struct {
	mu      sync.Mutex
	since   map[string]time.Time // host → since when; absent: it is not
	said    map[string]bool
	over    []string
	longest time.Duration
}

// look reads the calendar and the hosts, and judges them by their own arithmetic.
func (b *books) look(ctx context.Context, c *Client, now time.Time) {
	ground, err := groundOf(ctx, c)
	if err != nil {
		return // nobody can know
	}
	b.judge(ground.Oversold(), now)
}

// judge takes in what is too much at a moment.
func (b *books) judge(found []lease.Finding, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.since == nil {
		b.since, b.said = map[string]time.Time{}, map[string]bool{}
	}
	still := map[string]time.Time{}
	for _, f := range found {
		since, was := b.since[f.Host]
		if !was {
			since = now
		}
		still[f.Host] = since
		b.longest = max(b.longest, now.Sub(since))
		if now.Sub(since) > overTooLong && !b.said[f.Host] {
			b.said[f.Host] = true
			b.over = append(b.over, fmt.Sprintf("%s, for more than %s", f.Text, overTooLong))
		}
	}
	for host := range b.said {
		if _, is := still[host]; !is {
			delete(b.said, host)
		}
	}
	b.since = still
}

func (b *books) result() ([]string, time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.over, b.longest
}

// groundOf reads what leases are decided by.
func groundOf(ctx context.Context, c *Client) (lease.Ground, error) {
	cal, err := c.Store.Calendar(ctx, 0)
	if err != nil {
		return lease.Ground{}, err
	}
	hosts, err := c.Redis.ListHosts(ctx)
	if err != nil {
		return lease.Ground{}, err
	}
	pools, err := c.Store.Pools(ctx)
	if err != nil {
		return lease.Ground{}, err
	}
	g := lease.Ground{Now: c.Leases.Now().UnixMilli(), Leases: cal.Leases, Pools: pools}
	for i := range hosts {
		g.Hosts = append(g.Hosts, lease.HostOf(&hosts[i]))
	}
	return g, nil
}
