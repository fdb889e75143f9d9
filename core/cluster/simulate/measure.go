package simulate

import (
	"slices"
)

// maxPoints is how many points a chart has at most: then two become one.
const maxPoints = 400

// measure collects what happens.
type measure struct {
	trace   Trace
	claimAt []int64 // by request; -1: not yet
	endAt   []int64
	made    []int // by pool: VMs

	clean, creating, busy int64 // VM-time in ms
	memory                float64
	last                  int64 // when the last request ended

	step   int64
	points []sums
}

// sums is what is collected for one point.
type sums struct {
	queued                int
	clean, creating, busy int64
	waits                 []int64
	cold                  int
}

func newMeasure(t Trace, pools int) *measure {
	m := &measure{trace: t, claimAt: slices.Repeat([]int64{-1}, len(t)), endAt: slices.Repeat([]int64{-1}, len(t)), made: make([]int, pools)}
	m.step = max(second, t[len(t)-1].At/(maxPoints/2)+1)
	return m
}

// point returns the point of a moment.
func (m *measure) point(at int64) *sums {
	for at/m.step >= maxPoints {
		m.merge()
	}
	for int64(len(m.points)) <= at/m.step {
		m.points = append(m.points, sums{})
	}
	return &m.points[at/m.step]
}

// merge makes one point of two.
func (m *measure) merge() {
	m.step *= 2
	for i := range m.points {
		if i%2 == 0 {
			m.points[i/2] = m.points[i]
			continue
		}
		a, b := &m.points[i/2], &m.points[i]
		*a = sums{
			queued: max(a.queued, b.queued), clean: a.clean + b.clean, creating: a.creating + b.creating, busy: a.busy + b.busy,
			waits: append(a.waits, b.waits...), cold: a.cold + b.cold,
		}
	}
	m.points = m.points[:(len(m.points)+1)/2]
}

// advance counts what the cluster has, until a moment.
func (m *measure) advance(c *cluster, until int64) {
	var clean, creating, busy int64
	var memory float64
	for _, p := range c.pools {
		clean, creating, busy = clean+int64(p.clean), creating+int64(p.creating), busy+int64(p.busy)
		memory += float64(p.size.Memory) * float64(p.clean+p.creating+p.busy)
	}
	for at := max(0, c.now); at < until; {
		p := m.point(at)
		to := min(until, (at/m.step+1)*m.step)
		d := to - at
		p.queued = max(p.queued, c.queued)
		p.clean, p.creating, p.busy = p.clean+d*clean, p.creating+d*creating, p.busy+d*busy
		m.clean, m.creating, m.busy = m.clean+d*clean, m.creating+d*creating, m.busy+d*busy
		m.memory += float64(d) * memory
		at = to
	}
}

func (m *measure) claimed(request int, at int64) {
	m.claimAt[request] = at
	if at > m.trace[request].At {
		m.point(m.trace[request].At).cold++
	}
	p := m.point(at)
	p.waits = append(p.waits, m.wait(request))
}

func (m *measure) isClaimed(request int) bool { return m.claimAt[request] >= 0 }

func (m *measure) end(request int, at int64) { m.endAt[request], m.last = at, at }

// wait is how long a request waited.
func (m *measure) wait(request int) int64 { return m.claimAt[request] - m.trace[request].At }
