package problem

import (
	"time"

	"drover/core"
)

// TimeFrom sets a time limit that the package leaves to be measured, from the gradings of accepted submissions: a
// multiple of the slowest test.
func (p *Problem) TimeFrom(accepted []*core.Result) {
	var slowest time.Duration
	for _, r := range accepted {
		for i := range r.Tests {
			if u := r.Tests[i].Usage; u != nil {
				slowest = max(slowest, time.Duration(u.CPUMs)*time.Millisecond)
			}
		}
	}
	least, step := time.Duration(float64(slowest)*p.Limits.Multiplier), p.Limits.Resolution
	if p.Limits.Time = max(step, least.Truncate(step)); p.Limits.Time < least {
		p.Limits.Time += step
	}
}
