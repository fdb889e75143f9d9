package history

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"drover/core"
)

// ByDay parts what ended by day (UTC). The other ways are the dimensions.
const ByDay = "day"

// Ways lists by what statistics can be parted.
func Ways() []string {
	ways := []string{ByDay}
	for _, d := range dimensions[1:] {
		ways = append(ways, d.name)
	}
	return ways
}

// Stats is what ended in a span of time.
type Stats struct {
	From  int64  `json:"from_ms"` // as far as the buckets that were counted begin and end
	Until int64  `json:"until_ms"`
	By    string `json:"by,omitempty"`
	Total Row    `json:"total"`
	Rows  []Row  `json:"rows"` // most ends first; days in order
}

// Row is what ended of one value.
type Row struct {
	Value   string                    `json:"value"` // "*": all that had fewer than those named
	Total   int                       `json:"total"`
	Ends    map[core.RequestState]int `json:"ends"`
	Faults  map[core.Blame]int        `json:"faults"`  // ends that were somebody's fault: submission, harness, platform
	Reruns  int                       `json:"reruns"`  // ends of what had ended before
	Retries int                       `json:"retries"` // attempts before the last one
	CPUMs   int64                     `json:"cpu_ms"`
	AgainMs int64                     `json:"again_ms"` // of it: of runs of tests that count for nothing, because the host was noisy
	Warm    int                       `json:"warm"`     // claims whose VM was begun before their request was queued
	Cold    int                       `json:"cold"`     // those that waited until a VM was made
	Wait    Quantiles                 `json:"wait"`
	Run     Quantiles                 `json:"run"`
}

// Met returns which part of the claims met a VM that was there, or being made, when their request came, as "97 %"; "-"
// if that is not known of any.
func (r Row) Met() string {
	if r.Warm+r.Cold == 0 {
		return "-"
	}
	return strconv.Itoa(100*r.Warm/(r.Warm+r.Cold)) + " %"
}

// Again returns which part of the processor time went to runs of tests that count for nothing, as "3 %"; "-" if none did.
func (r Row) Again() string {
	if r.AgainMs <= 0 || r.CPUMs <= 0 {
		return "-"
	}
	const percent = 100
	return strconv.FormatInt(max(1, min(percent, percent*r.AgainMs/r.CPUMs)), 10) + " %"
}

// Quantiles say how times spread, ms. Of nothing all are 0.
type Quantiles struct {
	N    int   `json:"n"`
	Mean int64 `json:"mean_ms"`
	P50  int64 `json:"p50_ms"`
	P95  int64 `json:"p95_ms"`
	Max  int64 `json:"max_ms"`
}

// The quantiles that are shown.
const (
	half = 0.5
	most = 0.95
)

func (s Spread) times() Quantiles {
	return Quantiles{N: s.N, Mean: s.Mean(), P50: s.Quantile(half), P95: s.Quantile(most), Max: s.Max}
}

func (t Tally) row(value string) Row {
	ends, faults := t.Ends, t.Faults
	if ends == nil {
		ends = map[core.RequestState]int{}
	}
	if faults == nil {
		faults = map[core.Blame]int{}
	}
	return Row{
		Value: value, Total: t.Total(), Ends: ends, Faults: faults, Reruns: t.Reruns, Retries: t.Retries, CPUMs: t.CPUMs, AgainMs: t.AgainMs,
		Warm: t.Warm, Cold: t.Cold, Wait: t.Wait.times(), Run: t.Run.times(),
	}
}

// check returns INVALID for a span of time that is none, or a way that there is not.
func check(by string, ways []string, from, until time.Time) error {
	if by != "" && !slices.Contains(ways, by) {
		return core.Errorf(core.CodeInvalid, "by", "statistics are not parted by %.40q: use one of %q", by, ways)
	}
	if !from.Before(until) || from.UnixMilli() < 0 || until.Sub(from) > keepDays {
		return core.Errorf(core.CodeInvalid, "since", "a span of time begins before it ends, and is no longer than two years")
	}
	return nil
}

// Read returns what ended from a time until another one, to the bucket. Returns INVALID.
func Read(ctx context.Context, store core.Counted, by string, from, until, now time.Time) (Stats, error) {
	if err := check(by, Ways(), from, until); err != nil {
		return Stats{}, err
	}
	return read(ctx, store, cmp.Or(by, All), by, from, until, now)
}

// read is Read of the buckets of a name.
func read(ctx context.Context, store core.Counted, name, by string, from, until, now time.Time) (Stats, error) {
	stretches := stretchesOf(from.UnixMilli(), until.UnixMilli(), now.UnixMilli())
	finest := stepFor(from.UnixMilli(), until.UnixMilli(), now.UnixMilli())
	out := Stats{From: stretches[0].from, Until: floor(until.UnixMilli()-1, finest) + finest, By: by, Rows: []Row{}}
	group := func(int64) int64 { return 0 }
	if by == ByDay {
		group = func(at int64) int64 { return floor(at, day) }
		if name == ByDay {
			name = All
		}
	}
	all, err := tallied(ctx, store, stretches, name, group)
	if err != nil {
		return Stats{}, err
	}
	var total Tally
	for _, at := range slices.Sorted(maps.Keys(all)) {
		if by == "" || by == ByDay {
			one := all[at].sum()
			total.merge(one)
			if by == ByDay {
				out.Rows = append(out.Rows, one.row(time.UnixMilli(at).UTC().Format(time.DateOnly)))
			}
			continue
		}
		for value, t := range all[at] {
			total.merge(*t)
			out.Rows = append(out.Rows, t.row(value))
		}
	}
	out.Total = total.row(All)
	if by != ByDay {
		slices.SortFunc(out.Rows, func(a, b Row) int { return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Value, b.Value)) })
	}
	return out, nil
}

// Series is what a chart shows.
type Series struct {
	From    int64   `json:"from_ms"`
	Until   int64   `json:"until_ms"`
	Step    int64   `json:"step_ms"`    // of ended
	Sampled int64   `json:"sampled_ms"` // the step of samples
	Ended   []Point `json:"ended"`      // steps in which nothing ended are left out
	Samples []Point `json:"samples"`    // steps in which nobody sampled are left out
}

// Point is one moment of a chart.
type Point struct {
	At      int64              `json:"at_ms"`
	Total   int                `json:"total,omitempty"`
	Wait    *Quantiles         `json:"wait,omitempty"`
	Run     *Quantiles         `json:"run,omitempty"`
	Faults  map[core.Blame]int `json:"faults,omitempty"`
	Retries int                `json:"retries,omitempty"` // attempts that were lost before the last one
	Values  map[string]int     `json:"values,omitempty"`  // of a sample: waiting/POOL, running/POOL, vms/STATE, hosts/STATE
}

// Lost is how many attempts were lost to faults of the platform, with or without another try.
func (p *Point) Lost() int { return p.Retries + p.Faults[core.BlamePlatform] }

// mostPoints is how many points a series has at most.
const mostPoints = 240

// ReadSeries returns what ended and what was sampled over a span of time. Returns INVALID.
func ReadSeries(ctx context.Context, store core.Counted, from, until, now time.Time) (Series, error) {
	if err := check("", nil, from, until); err != nil {
		return Series{}, err
	}
	s, err := endedSeries(ctx, store, All, from, until, now)
	if err != nil {
		return Series{}, err
	}
	first, last := s.From, s.Until
	step := sampleStep(first, last, now.UnixMilli())
	s.Sampled = wide(step, last-first)
	samples := make(map[int64]sample)
	if err := each(ctx, store, step, ofSample, floor(first, s.Sampled), last, func(at int64, of sample) {
		at = floor(at, s.Sampled)
		if samples[at] == nil {
			samples[at] = sample{}
		}
		samples[at].most(of)
	}); err != nil {
		return Series{}, err
	}
	for _, at := range slices.Sorted(maps.Keys(samples)) {
		s.Samples = append(s.Samples, Point{At: at, Values: samples[at]})
	}
	return s, nil
}

// endedSeries is what ended over a span of time, of the buckets of a name.
func endedSeries(ctx context.Context, store core.Counted, name string, from, until, now time.Time) (Series, error) {
	first, last := from.UnixMilli(), until.UnixMilli()
	step := stepFor(first, last, now.UnixMilli())
	s := Series{From: first, Until: last, Step: wide(step, last-first), Ended: []Point{}, Samples: []Point{}}
	all, err := tallied(ctx, store, []stretch{{step, floor(first, s.Step), last}}, name, func(at int64) int64 { return floor(at, s.Step) })
	if err != nil {
		return Series{}, err
	}
	for _, at := range slices.Sorted(maps.Keys(all)) {
		row := all[at].sum().row(All)
		s.Ended = append(s.Ended, Point{At: at, Total: row.Total, Wait: &row.Wait, Run: &row.Run, Faults: row.Faults, Retries: row.Retries})
	}
	return s, nil
}

// sampleStep is the step of samples that are read.
func sampleStep(from, until, now int64) int64 {
	switch {
	case until-from <= 3*hour && from > now-keepPieces.Milliseconds():
		return minute
	case until-from <= 2*day:
		return tenMin
	}
	return hour
}

// wide is the least multiple of a step by which a span of time has few enough points.
func wide(step, span int64) int64 {
	return step * max(1, (span+step*mostPoints-1)/(step*mostPoints))
}

// Completed is how many ran to their end.
func (r Row) Completed() int { return r.Ends[core.RequestCompleted] }

// Fault is how many ends were somebody's fault.
func (r Row) Fault(of core.Blame) int { return r.Faults[of] }
