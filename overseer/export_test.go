package overseer

import (
	"context"
	"time"

	"github.com/oklog/ulid/v2"

	"drover/core"
	"drover/core/cluster/placement"
)

// Schedules does the chore once.
func (o *Overseer) Schedules(ctx context.Context) (Counts, error) { return o.schedules(ctx) }

// FailBroken does the chore once.
func (o *Overseer) FailBroken(ctx context.Context) (Counts, error) {
	return o.failBroken(o.deps.Intake.FailBroken)(ctx)
}

// MomentOf is the moment that a scheduled task was made for.
func MomentOf(id string) time.Time { return ulid.Time(ulid.MustParse(id).Time()).UTC() }

// Placed is the round for a ground, without rates that are expected.
func Placed(g core.Ground) core.Round { return placed(g, nil, nil) }

// Reserve lets the next rounds of placement keep what leases reserve.
func (o *Overseer) Reserve(r placement.Reserved) { o.reserved.Store(&r) }

// Place does one round of placement.
func (o *Overseer) Place(ctx context.Context) (Counts, error) { return o.place(ctx) }

// Leases does the chore once.
func (o *Overseer) Leases(ctx context.Context) (Counts, error) { return o.leases(ctx) }

// Scale does the chore once.
func (o *Overseer) Scale(ctx context.Context) (Counts, error) { return o.scale(ctx) }

// Chores are the names of all chores.
func (o *Overseer) Chores() (names []string) {
	for _, c := range o.chores {
		names = append(names, c.Name)
	}
	return names
}

// Do does one chore once.
func (o *Overseer) Do(ctx context.Context, name string) error {
	for _, c := range o.chores {
		if c.Name == name {
			_, err := c.Run(ctx)
			return err
		}
	}
	return nil
}
