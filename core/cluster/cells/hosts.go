package cells

import (
	"cmp"
	"context"
	"slices"
	"time"

	"drover/core"
)

// ListHosts implements core.Hosts. Each host names its cell.
func (c *Cells) ListHosts(ctx context.Context) ([]core.HostInfo, error) {
	all, err := readAll(ctx, c, func(ctx context.Context, r Redis) ([]core.HostInfo, error) { return r.ListHosts(ctx) })
	if err != nil {
		return nil, err
	}
	out := []core.HostInfo{}
	for _, of := range all {
		for i := range of.value {
			of.value[i].Cell = of.cell.Name
		}
		out = append(out, of.value...)
	}
	slices.SortStableFunc(out, func(a, b core.HostInfo) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// ListOwners implements core.Owners.
func (c *Cells) ListOwners(ctx context.Context) ([]core.OwnerInfo, error) {
	return list(ctx, c, func(ctx context.Context, r Redis) ([]core.OwnerInfo, error) { return r.ListOwners(ctx) })
}

// ListVMs implements core.VMs.
func (c *Cells) ListVMs(ctx context.Context, host string) ([]core.VMInfo, error) {
	return list(ctx, c, func(ctx context.Context, r Redis) ([]core.VMInfo, error) { return r.ListVMs(ctx, host) })
}

// rooms are what one cell's hosts have room for, and at which version of its state.
type rooms struct {
	of     []core.Room
	placed int64
}

// Rooms lists the rooms of all hosts. The version is that of the first cell that answers: nobody places in several.
func (c *Cells) Rooms(ctx context.Context) (out []core.Room, placed int64, err error) {
	all, err := readAll(ctx, c, func(ctx context.Context, r Redis) (rooms, error) {
		of, placed, err := r.Rooms(ctx)
		return rooms{of, placed}, err
	})
	if len(all) > 0 {
		placed = all[0].value.placed
	}
	for _, of := range all {
		out = append(out, of.value.of...)
	}
	return out, placed, err
}

// Evacuations implements core.Evacuations.
func (c *Cells) Evacuations(ctx context.Context) ([]core.Evacuation, error) {
	return list(ctx, c, func(ctx context.Context, r Redis) ([]core.Evacuation, error) { return r.Evacuations(ctx) })
}

// Overseen returns the heartbeat of the cell whose overseers are worst off: one that has none is not healed.
func (c *Cells) Overseen(ctx context.Context) (core.Overseen, error) {
	all, err := readAll(ctx, c, func(ctx context.Context, r Redis) (core.Overseen, error) { return r.Overseen(ctx) })
	if err != nil {
		return core.Overseen{}, err
	}
	return slices.MinFunc(all, func(a, b answer[core.Overseen]) int {
		if a.value.Late != b.value.Late {
			if a.value.Late {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.value.At, b.value.At)
	}).value, nil
}

// CheckConsistency implements core.Consistency.
func (c *Cells) CheckConsistency(ctx context.Context) ([]core.Violation, error) {
	return list(ctx, c, func(ctx context.Context, r Redis) ([]core.Violation, error) { return r.CheckConsistency(ctx) })
}

// Mend implements core.Consistency. A finding does not say whose it is, and what is right in one cell may be wrong in
// another: where there are several, the overseers of its own cell mend it.
func (c *Cells) Mend(ctx context.Context, v core.Violation) (bool, error) {
	if c.Several() {
		return false, core.Errorf(core.CodeConflict, v.ID, "a finding is mended in its own cell")
	}
	return ask(ctx, c.ofTask, "", func(r Redis) (bool, error) { return r.Mend(ctx, v) })
}

// SetHost implements core.Hosts.
func (c *Cells) SetHost(ctx context.Context, host string, s core.HostSettings) error {
	return tell(ctx, c.ofHost, host, func(r Redis) error { return r.SetHost(ctx, host, s) })
}

// Drain implements core.Hosts.
func (c *Cells) Drain(ctx context.Context, host string, on bool, deadline time.Duration) error {
	return tell(ctx, c.ofHost, host, func(r Redis) error { return r.Drain(ctx, host, on, deadline) })
}

// Probation implements core.Hosts.
func (c *Cells) Probation(ctx context.Context, host, reason string, delay time.Duration, needed int) error {
	return tell(ctx, c.ofHost, host, func(r Redis) error { return r.Probation(ctx, host, reason, delay, needed) })
}

// ForgetHost implements core.Hosts.
func (c *Cells) ForgetHost(ctx context.Context, host string) error {
	return tell(ctx, c.ofHost, host, func(r Redis) error { return r.ForgetHost(ctx, host) })
}

// AddHostReport implements core.Reports.
func (c *Cells) AddHostReport(ctx context.Context, report core.HostReport) error {
	return tell(ctx, c.ofHost, report.Host, func(r Redis) error { return r.AddHostReport(ctx, report) })
}
