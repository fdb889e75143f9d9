package simulate

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"

	"drover/core"
)

// Report is how a trace fared.
type Report struct {
	Requests int     `json:"requests"`
	Hosts    int     `json:"hosts"`
	Lasts    int64   `json:"lasts_ms"`    // until the last request has ended
	Hits     int     `json:"hits"`        // requests that found a clean VM, and a slot, the moment they were submitted
	HitRate  float64 `json:"hit_rate"`    // of all requests
	Cold     int     `json:"cold_starts"` // requests that did not
	Late     int     `json:"late"`        // requests that ended after they were due
	Made     int     `json:"vms_made"`

	// VM-hours.
	Warm   float64 `json:"warm_hours"` // clean: what it costs to have them
	Making float64 `json:"making_hours"`
	Busy   float64 `json:"busy_hours"`

	// Shares, of 1.
	VMsUsed   float64 `json:"vms_used"`   // of the time of VMs in which one was busy
	SlotsUsed float64 `json:"slots_used"` // of slots
	RoomUsed  float64 `json:"room_used"`  // of the hosts' memory for VMs, by VMs in any state

	Wait        Wait     `json:"wait"`
	ByPool      []Row    `json:"by_pool"`
	ByPriority  []Row    `json:"by_priority"`
	BySubmitter []Row    `json:"by_submitter"` // submitters by how much they sent
	Fairness    Fairness `json:"fairness"`

	Machines *Machines `json:"machines,omitempty"` // of the group; nil: there is none

	Step   int64   `json:"step_ms"`
	Points []Point `json:"points"` // one for each step
}

// Wait is how long requests waited, in ms.
type Wait struct {
	P50  int64 `json:"p50_ms"`
	P95  int64 `json:"p95_ms"`
	P99  int64 `json:"p99_ms"`
	Most int64 `json:"most_ms"`
}

// Row is what concerns some of the requests.
type Row struct {
	Value    string `json:"value"`
	Requests int    `json:"requests"`
	Cold     int    `json:"cold_starts"`
	Wait     Wait   `json:"wait"`
}

// Fairness is how alike submitters fared.
type Fairness struct {
	Submitters int `json:"submitters"`
	// Jain is Jain's index of the part of their time in the cluster in which submitters' requests ran: 1 if it is the
	// same for all, 1/n if only one ran at all.
	Jain   float64 `json:"jain"`
	Worst  int64   `json:"worst_p95_ms"`  // the longest p95 wait of a submitter
	Median int64   `json:"median_p95_ms"` // the middle one
}

// Point is one step of a chart.
type Point struct {
	At       int64   `json:"at_ms"`
	Waiting  int     `json:"waiting"` // at most
	P50      int64   `json:"wait_p50_ms"`
	P95      int64   `json:"wait_p95_ms"` // -1: nothing was claimed
	Clean    float64 `json:"clean"`       // on average
	Creating float64 `json:"creating"`
	Busy     float64 `json:"busy"`
	Cold     int     `json:"cold_starts"`
}

// Run replays a trace. Returns INVALID for settings with which it cannot end.
func Run(t Trace, s Settings) (Report, error) {
	if err := s.check(t); err != nil {
		return Report{}, err
	}
	c := newCluster(t, s)
	if err := c.run(); err != nil {
		return Report{}, err
	}
	return c.report(), nil
}

// HitRate returns which part of a trace's requests, of 1, would have found a clean VM with so many warm on each host at
// all times.
func HitRate(t Trace, s Settings, warm int) (float64, error) {
	r, err := Run(t, s.Fixed(warm))
	return r.HitRate, err
}

const hourMs = float64(3_600_000)

func (c *cluster) report() Report {
	m, n := c.measured, len(c.trace)
	r := Report{
		Requests: n, Hosts: c.given, Lasts: m.last, Warm: float64(m.clean) / hourMs, Making: float64(m.creating) / hourMs, Busy: float64(m.busy) / hourMs,
		VMsUsed: part(float64(m.busy), float64(m.clean+m.creating+m.busy)), Step: m.step, Fairness: m.fairness(),
		ByPool:     m.rows(func(q *Request) string { return q.Pool }, cmp.Compare),
		ByPriority: m.rows(func(q *Request) string { return string(q.Priority) }, byWeight),
	}
	all := m.rows(func(*Request) string { return "" }, cmp.Compare)[0]
	r.Wait, r.Cold, r.Hits = all.Wait, all.Cold, all.Requests-all.Cold
	r.HitRate = part(float64(r.Hits), float64(all.Requests))
	if c.elastic != nil {
		r.Machines = c.elastic.told()
	}
	sent := make(map[string]int)
	for i := range c.trace {
		sent[c.trace[i].Submitter]++
		if due := c.trace[i].Due; due > 0 && m.endAt[i] > due {
			r.Late++
		}
	}
	r.BySubmitter = m.rows(func(q *Request) string { return size(sent[q.Submitter]) }, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	for _, made := range m.made {
		r.Made += made
	}
	var slots, memory float64
	for _, h := range c.hosts {
		slots, memory = slots+float64(h.Slots), memory+float64(h.Size.Memory)
	}
	r.SlotsUsed, r.RoomUsed = part(float64(m.busy), slots*float64(m.last)), part(m.memory, memory*float64(m.last))
	r.Points = m.chart()
	return r
}

// part is a share of 1, 0 of nothing.
func part(of, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return of / whole
}

func byWeight(a, b string) int {
	return cmp.Compare(slices.Index(core.Priorities(), core.Priority(a)), slices.Index(core.Priorities(), core.Priority(b)))
}

// size is the class of submitters that sent so many requests.
func size(n int) string {
	least := int(math.Pow10(len(strconv.Itoa(n)) - 1))
	return strconv.Itoa(least) + " to " + strconv.Itoa(10*least-1)
}

// rows parts the requests.
func (m *measure) rows(by func(*Request) string, order func(a, b string) int) (all []Row) {
	waits := make(map[string][]int64)
	for i := range m.trace {
		value := by(&m.trace[i])
		waits[value] = append(waits[value], m.wait(i))
	}
	for _, value := range slices.SortedFunc(maps.Keys(waits), order) {
		its := waits[value]
		slices.Sort(its)
		hits, _ := slices.BinarySearch(its, 1)
		all = append(all, Row{Value: value, Requests: len(its), Cold: len(its) - hits, Wait: Wait{
			P50: quantile(its, 0.5), P95: quantile(its, 0.95), P99: quantile(its, 0.99), Most: its[len(its)-1],
		}})
	}
	return all
}

// quantile returns the smallest of sorted values that is not exceeded by such a part of them.
func quantile(sorted []int64, q float64) int64 {
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

func (m *measure) fairness() Fairness {
	waits, runs := make(map[string][]int64), make(map[string]int64)
	for i := range m.trace {
		by := m.trace[i].Submitter
		waits[by], runs[by] = append(waits[by], m.wait(i)), runs[by]+max(1, m.trace[i].Run)
	}
	var p95 []int64
	var sum, squares float64
	for _, by := range slices.Sorted(maps.Keys(waits)) {
		its := waits[by]
		slices.Sort(its)
		p95 = append(p95, quantile(its, 0.95))
		in := runs[by]
		for _, w := range its {
			in += w
		}
		x := float64(runs[by]) / float64(in)
		sum, squares = sum+x, squares+x*x
	}
	slices.Sort(p95)
	return Fairness{Submitters: len(p95), Jain: part(sum*sum, float64(len(p95))*squares), Worst: p95[len(p95)-1], Median: quantile(p95, 0.5)}
}

// chart returns the points.
func (m *measure) chart() []Point {
	all := make([]Point, len(m.points))
	for i := range m.points {
		p, span := &m.points[i], float64(min(m.step, max(1, m.last-int64(i)*m.step)))
		all[i] = Point{
			At: int64(i) * m.step, Waiting: p.queued, P50: -1, P95: -1,
			Clean: float64(p.clean) / span, Creating: float64(p.creating) / span, Busy: float64(p.busy) / span, Cold: p.cold,
		}
		if len(p.waits) > 0 {
			slices.Sort(p.waits)
			all[i].P50, all[i].P95 = quantile(p.waits, 0.5), quantile(p.waits, 0.95)
		}
	}
	return all
}
