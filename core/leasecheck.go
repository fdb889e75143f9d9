package core

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// More bounds of leases.
const (
	MaxLeaseGrace = 7 * 24 * time.Hour
	MaxLeaseBytes = 4 << 20 // encoded
)

// LeaseEvents lists the events of leases of which webhooks are notified.
func LeaseEvents() []string {
	return []string{
		EventLeaseCreated, EventLeaseUpdated, EventLeaseDeleted, EventLeaseStarted, EventLeaseEnding, EventLeaseEnded,
		EventLeaseFailed, EventLeaseDegraded, EventLeaseWhole,
	}
}

// Check returns INVALID or LIMIT, and CONFLICT for states that do not go together.
func (l *Lease) Check() error {
	if !ValidName(LeasedPool(l.ID, 0)) {
		return Errorf(CodeInvalid, l.ID, "lease id %.80q is not a valid name, or too long for the names of its pools", l.ID)
	}
	if err := cmp.Or(
		CheckTitle(l.ID, "name", l.Name), CheckName("user", l.By), l.checkHolders(), l.checkTimes(), l.checkReservations(),
		l.checkLog(), checkNotify(l.ID, l.Notify),
	); err != nil {
		return err
	}
	return l.checkStates()
}

func (l *Lease) checkHolders() error {
	if l.Class == "" && len(l.Submitters) == 0 {
		return Errorf(CodeInvalid, l.ID, "lease %s is nobody's: name a class or submitters", l.ID)
	}
	if len(l.Submitters) > MaxLeaseSubmitters {
		return Errorf(CodeLimit, l.ID, "lease %s names %d submitters, at most %d are allowed: name their class instead", l.ID, len(l.Submitters), MaxLeaseSubmitters)
	}
	if err := CheckOptional("class", l.Class); err != nil {
		return err
	}
	return l.checkDistinct("submitter", l.Submitters)
}

// checkDistinct checks names of which each may be there once.
func (l *Lease) checkDistinct(kind string, names []string) error {
	for i, name := range names {
		if err := CheckName(kind, name); err != nil {
			return err
		}
		if slices.Contains(names[:i], name) {
			return Errorf(CodeInvalid, l.ID, "lease %s names %s %s twice", l.ID, kind, name)
		}
	}
	return nil
}

func (l *Lease) checkTimes() error {
	if err := CheckTimes(l.ID, l.Start, l.End, l.Created, l.Ended); err != nil {
		return err
	}
	window := time.Duration(l.End-l.Start) * time.Millisecond
	switch {
	case l.Start == 0 || l.End <= l.Start:
		return Errorf(CodeInvalid, l.ID, "lease %s does not end after its start", l.ID)
	case l.End-l.Start > MaxLeaseTime.Milliseconds():
		return Errorf(CodeLimit, l.ID, "lease %s is longer than %s: make it shorter", l.ID, MaxLeaseTime)
	case l.BeforeEnd < 0 || l.BeforeEnd > window:
		return Errorf(CodeInvalid, l.ID, "the notice before the end of lease %s, %s, must be within its time of %s, or 0 for none", l.ID, l.BeforeEnd, window)
	case l.Grace < 0:
		return Errorf(CodeInvalid, l.ID, "lease %s has a grace of %s: use 0 for none", l.ID, l.Grace)
	case l.Grace > MaxLeaseGrace:
		return Errorf(CodeLimit, l.ID, "lease %s has a grace of %s, at most %s is allowed", l.ID, l.Grace, MaxLeaseGrace)
	}
	return l.checkDue()
}

// checkDue checks that it has its events, and that those still to come are due when its times say.
func (l *Lease) checkDue() error {
	due := map[LeaseEventKind]int64{EventStart: l.Start, EventEnd: l.End}
	if l.BeforeEnd > 0 {
		due[EventBeforeEnd] = l.End - l.BeforeEnd.Milliseconds()
	}
	for i := range l.Events {
		e := &l.Events[i]
		if l.Event(e.Kind) != e {
			return Errorf(CodeInvalid, l.ID, "lease %s has event %.40q twice", l.ID, e.Kind)
		}
		at, has := due[e.Kind]
		if e.State == EventUndone && (!has || e.At != at) {
			return Errorf(CodeInvalid, l.ID, "event %.40q of lease %s is not due when the lease says", e.Kind, l.ID)
		}
		if err := cmp.Or(CheckTimes(l.ID, e.At, e.Begun, e.Done), CheckText(l.ID, "reason", e.Why, MaxReason)); err != nil {
			return err
		}
		delete(due, e.Kind)
	}
	for kind := range due {
		return Errorf(CodeInvalid, l.ID, "lease %s has no event %s", l.ID, kind)
	}
	return nil
}

func (l *Lease) checkReservations() error {
	if n := len(l.Reservations); n == 0 {
		return Errorf(CodeInvalid, l.ID, "lease %s reserves nothing", l.ID)
	} else if n > MaxLeaseReservations {
		return Errorf(CodeLimit, l.ID, "lease %s has %d reservations, at most %d are allowed, those removed from it included: make another lease", l.ID, n, MaxLeaseReservations)
	}
	pools := map[string]bool{}
	for i := range l.Reservations {
		if err := l.checkReservation(i + 1); err != nil {
			return err
		}
		for _, pool := range l.Reservations[i].Pools {
			pools[pool] = true
		}
	}
	if len(pools) > MaxLeasePools {
		return Errorf(CodeLimit, l.ID, "lease %s names %d pools, at most %d are allowed: make several leases", l.ID, len(pools), MaxLeasePools)
	}
	return nil
}

// checkReservation checks the reservation with a number, the first of which is 1.
func (l *Lease) checkReservation(number int) error {
	r := &l.Reservations[number-1]
	wrong := func(format string, args ...any) error {
		return Errorf(CodeInvalid, l.ID, "reservation %d of lease %s "+format, append([]any{number, l.ID}, args...)...)
	}
	if err := l.checkDistinct("pool", r.Pools); err != nil {
		return err
	}
	for _, pool := range r.Pools {
		if pool == AllPools || strings.HasPrefix(pool, LeasePrefix) {
			return wrong("names pool %s, of which no VMs can be reserved", pool)
		}
	}
	if _, err := ParseRequirements(r.Requires); err != nil {
		return err
	}
	switch {
	case r.Units != 0 && (r.MinHosts != 0 || r.MaxHosts != 0):
		return wrong("asks for units and for whole hosts: make two reservations")
	case r.Units < 0 || r.MinHosts < 0 || r.WholeHosts() && r.MinHosts == 0:
		return wrong("asks for nothing: name units of a pool, or how many whole hosts")
	case r.MaxHosts < r.MinHosts:
		return wrong("asks for at least %d hosts and at most %d", r.MinHosts, r.MaxHosts)
	case r.Units > MaxLeaseUnits || r.MaxHosts > MaxLeaseUnits:
		return Errorf(CodeLimit, l.ID, "reservation %d of lease %s asks for more than %d", number, l.ID, MaxLeaseUnits)
	case !r.WholeHosts() && len(r.Pools) != 1:
		return wrong("is of units, which are of one pool, not of %d", len(r.Pools))
	case len(r.Pools) == 0:
		return wrong("does not say VMs of which pools its hosts are for")
	case r.WholeHosts() && r.Affinity != AffinityNone:
		return wrong("is of whole hosts: only units have an affinity")
	case r.Affinity != AffinityNone && r.Affinity != AffinityTrue && r.Affinity != AffinityFalse:
		return wrong("has affinity %.40q: use true, false, or none", r.Affinity)
	}
	return l.checkAllocations(number, r)
}

func (l *Lease) checkAllocations(number int, r *Reservation) error {
	past := 0
	for i := range r.Allocations {
		a := &r.Allocations[i]
		if a.State != AllocationHeld {
			past++
		}
		if a.Units < 1 || r.WholeHosts() && a.Units != 1 {
			return Errorf(CodeInvalid, l.ID, "reservation %d of lease %s cannot have %d units on host %s", number, l.ID, a.Units, a.Host)
		}
		if !slices.Contains([]AllocationState{AllocationHeld, AllocationMoved, AllocationLost, AllocationFreed}, a.State) {
			return Errorf(CodeInvalid, l.ID, "an allocation of lease %s cannot be %.40q", l.ID, a.State)
		}
		if err := cmp.Or(CheckName("host", a.Host), CheckTimes(l.ID, a.Since, a.Until), CheckText(l.ID, "reason", a.Why, MaxReason)); err != nil {
			return err
		}
	}
	if past > MaxPastAllocations {
		return Errorf(CodeLimit, l.ID, "reservation %d of lease %s keeps %d past allocations, at most %d are kept", number, l.ID, past, MaxPastAllocations)
	}
	if most := max(r.Units, r.MaxHosts); r.Held() > most {
		return Errorf(CodeInvalid, l.ID, "reservation %d of lease %s holds %d, which is more than %d", number, l.ID, r.Held(), most)
	}
	return nil
}

func (l *Lease) checkLog() error {
	if len(l.Log) > MaxLeaseNotes {
		return Errorf(CodeLimit, l.ID, "lease %s keeps %d notes, at most %d are kept", l.ID, len(l.Log), MaxLeaseNotes)
	}
	for i := range l.Log {
		n := &l.Log[i]
		if !slices.Contains(LeaseEvents(), n.Event) {
			return Errorf(CodeInvalid, l.ID, "a note of lease %s has event %.40q, which is none of leases", l.ID, n.Event)
		}
		if n.Number < 1 || i > 0 && n.Number != l.Log[i-1].Number+1 {
			return Errorf(CodeInvalid, l.ID, "the notes of lease %s are not numbered one after the other", l.ID)
		}
		if err := cmp.Or(CheckTimes(l.ID, n.At), CheckText(l.ID, "note", n.Text, MaxReason), CheckOptional("user", n.By)); err != nil {
			return err
		}
	}
	return nil
}
