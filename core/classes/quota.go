package classes

import (
	"context"
	"time"

	"drover/core"
)

// Quota bounds what each student submits, in all classes together. The zero value is no bound.
type Quota struct {
	Limits core.Limiter
	Rate   core.Rate // of submissions and retests
	Bytes  int64     // of files, in an hour; 0: no bound
}

// Bytes are counted in units, at least one for each submission, because a limiter counts to a thousand only.
const (
	quotaUnit  = 1 << 20
	quotaUnits = 1000
)

// submits counts a submission of the actor's own. Staff of the class are not limited. Returns FULL.
func (r *Service) submits(ctx context.Context, a core.Actor, class string) error {
	return r.spend(ctx, a, class, "submit", r.Quota.Rate, 1, "you have submitted much in a short time: try again in %s")
}

// keeps counts the bytes of a submission of the actor's own. Returns FULL.
func (r *Service) keeps(ctx context.Context, a core.Actor, class string, files []core.File) error {
	if r.Quota.Bytes <= 0 {
		return nil
	}
	bytes := int64(0)
	for i := range files {
		bytes += files[i].Size
	}
	unit := max(quotaUnit, (r.Quota.Bytes+quotaUnits-1)/quotaUnits)
	most := max(r.Quota.Bytes/unit, 1)
	n := min(max((bytes+unit-1)/unit, 1), most) // one submission is bounded by the assignment
	rate := core.Rate{Every: time.Hour / time.Duration(most), Burst: int(most)}
	return r.spend(ctx, a, class, "submit_bytes", rate, int(n), "you have submitted large files in a short time: try again in %s, or with smaller ones")
}

// spend takes n from what a rate allows. If Redis is away nothing is counted, and the submission is accepted.
func (r *Service) spend(ctx context.Context, a core.Actor, class, what string, rate core.Rate, n int, refusal string) error {
	if r.Quota.Limits == nil || rate == (core.Rate{}) || core.Allow(a, core.ActSubmitFor, core.Object{Class: class}) == nil {
		return nil
	}
	left, err := r.Quota.Limits.Take(ctx, what+":"+a.Handle, rate, n)
	if core.Is(err, core.CodeUnavailable) {
		return nil
	}
	if err != nil || left.Allowed {
		return err
	}
	wait := left.Retry.Truncate(time.Second) + time.Second
	return core.Errorf(core.CodeFull, a.Handle, refusal, wait)
}
