package lease

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"drover/core"
)

// Audit is the consistency check with one more rule: no host holds more of leases than it has. All but that rule is the
// Consistency's that it embeds.
type Audit struct {
	core.Consistency

	Leases *Service
}

// CheckConsistency implements core.Consistency. What is healed within the interval is no finding, unless it stays so: the
// calendar is read twice.
func (a *Audit) CheckConsistency(ctx context.Context) ([]core.Violation, error) {
	broken, err := a.Consistency.CheckConsistency(ctx)
	if err != nil {
		return nil, err
	}
	g, _, err := a.Leases.ground(ctx)
	if err != nil || len(g.Leases) == 0 {
		return broken, err
	}
	found := g.Oversold()
	if len(found) == 0 {
		return broken, nil
	}
	if g, _, err = a.Leases.ground(ctx); err != nil {
		return nil, err
	}
	for _, f := range g.Oversold() {
		same := func(other Finding) bool { return other.Host == f.Host && other.Lease == f.Lease }
		if slices.ContainsFunc(found, same) {
			broken = append(broken, core.Violation{Rule: core.RuleOversold, ID: f.Lease, Text: fmt.Sprintf("%s at %s", f.Text, moment(f.At))})
		}
	}
	slices.SortStableFunc(broken, func(x, y core.Violation) int { return strings.Compare(string(x.Rule), string(y.Rule)) })
	return slices.CompactFunc(broken, func(x, y core.Violation) bool { return x.Rule == core.RuleOversold && x.Rule == y.Rule && x.ID == y.ID }), nil
}

// Mend implements core.Consistency: what a host cannot hold of a lease goes to others, or is missing, whenever the lease
// starts.
func (a *Audit) Mend(ctx context.Context, v core.Violation) (bool, error) {
	if v.Rule != core.RuleOversold {
		return a.Consistency.Mend(ctx, v)
	}
	mended := false
	err := a.Leases.decide(ctx, func(g Ground, revision int64) error {
		mended = false
		oversold := func(f Finding) bool { return f.Lease == v.ID }
		if !slices.ContainsFunc(g.Oversold(), oversold) {
			return nil
		}
		i := slices.IndexFunc(g.Leases, func(l core.Lease) bool { return l.ID == v.ID })
		next, did := g.Heal(g.Leases[i], nil)
		if len(did) == 0 {
			return nil
		}
		NoteHealed(&g.Leases[i], &next, g.Now, did)
		_, err := a.Leases.Store.PutLease(ctx, revision, next)
		mended = err == nil
		return err
	})
	return mended, err
}

// NoteHealed adds what healing did to a lease's log, and returns the event that it is: a lease is degraded each time that
// units of it are lost or move while it lacks any, and not when some come back.
func NoteHealed(was, next *core.Lease, now int64, did []string) string {
	event := core.EventLeaseUpdated
	switch {
	case next.Degraded() && (!was.Degraded() || lossesAt(next, now) > lossesAt(was, now)):
		event = core.EventLeaseDegraded
	case was.Degraded() && !next.Degraded():
		event = core.EventLeaseWhole
	}
	Note(next, now, event, strings.Join(did, "; "), "")
	return event
}

// lossesAt counts the units that a lease lost, or that moved, at a moment.
func lossesAt(l *core.Lease, moment int64) int {
	n := 0
	for i := range l.Reservations {
		for _, a := range l.Reservations[i].Allocations {
			if a.Until == moment && (a.State == core.AllocationLost || a.State == core.AllocationMoved) {
				n += a.Units
			}
		}
	}
	return n
}
