package bench

import (
	"context"
	"math/rand/v2"
	"time"

	"drover/cmd/drover/access"
)

const (
	mostLoad    = 99  // percent
	mostWaiting = 512 // jobs that are under way at once; later ones are submitted late
)

// loaded measures jobs of a kind that come at random moments, at a part of the rate of a cluster that always has work.
// Their submitters wait for nobody, so a job that takes long does not spare the next one.
func (b jobsBench) loaded(ctx context.Context, asked []access.Backend, m usageMeter, k kind) (kindReport, error) {
	begun := time.Now()
	if _, err := b.ridesAt(ctx, asked, k, b.Jobs, 2*b.Slots, func(context.Context, int) {}); err != nil {
		return kindReport{}, err
	}
	pause := float64(time.Since(begun)) / float64(b.Jobs) * 100 / float64(b.Load) // from job to job
	draw := rand.New(rand.NewPCG(1, uint64(b.Load)))                              //nolint:gosec // each run has the same moments
	comes := make([]time.Duration, b.Jobs)
	for i := range comes {
		comes[i] = time.Duration(draw.ExpFloat64() * pause)
		if i > 0 {
			comes[i] += comes[i-1]
		}
	}
	begun = time.Now()
	one, err := measured(ctx, asked, m, k, func() ([]ride, error) {
		return b.ridesAt(ctx, asked, k, b.Jobs, mostWaiting, func(ctx context.Context, i int) {
			select {
			case <-time.After(time.Until(begun.Add(comes[i]))):
			case <-ctx.Done():
			}
		})
	})
	one.Load = b.Load
	return one, err
}
