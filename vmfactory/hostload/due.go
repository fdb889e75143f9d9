package hostload

import (
	"slices"
	"time"

	"drover/core"
)

// A change matters that is as large as one part in so many of the whole, or a pressure that crosses one of the steps
// and has changed by so much.
const part = 10

const leastChange = 3

var steps = []float64{5, 20, 50} // percent

// Due reports whether a host sends what it measured now. The measure before was sent since ago, and its answer was the
// time within which the next one is to follow.
func Due(sent, now core.HostMeasure, whole core.Size, since, within time.Duration) bool {
	return since >= within || since >= within/core.MeasureSoonest && changed(sent, now, whole)
}

func changed(a, b core.HostMeasure, whole core.Size) bool {
	free, was := b.Free, a.Free
	if much(was.CPU, free.CPU, whole.CPU) || much(was.Memory, free.Memory, whole.Memory) || much(was.Disk, free.Disk, whole.Disk) {
		return true
	}
	p, q := a.Pressure, b.Pressure
	if p == nil || q == nil {
		return p != q
	}
	return crossed(p.CPU, q.CPU) || crossed(p.Memory, q.Memory) || crossed(p.IO, q.IO)
}

func much(a, b, whole int64) bool {
	return whole > 0 && max(a-b, b-a) >= max(1, whole/part)
}

func crossed(a, b float64) bool {
	low, high := min(a, b), max(a, b)
	return high-low >= leastChange && slices.ContainsFunc(steps, func(s float64) bool { return low < s && s <= high })
}
