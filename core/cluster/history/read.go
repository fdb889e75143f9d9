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
	Value    string                    `json:"value"` // "*": all that had fewer than those named
	Total    int                       `json:"total"`
	Ends     map[core.RequestState]int `json:"ends"`
	Retries  int                       `json:"retries"`  // attempts before the last one
	Platform int                       `json:"platform"` // ends that were the platform's fault
	CPUMs    int64                     `json:"cpu_ms"`
	Warm     int                       `json:"warm"` // claims whose VM was begun before their request was queued
	Cold     int                       `json:"cold"` // those that waited until a VM was made
	Wait     Quantiles                 `json:"wait"`
	Run      Quantiles                 `json:"run"`
}

// Met returns which part of the claims met a VM that was there, or being made, when their request came, as "97 %"; "-"
// if that is not known of any.
func (r Row) Met() string {
	if r.Warm+r.Cold == 0 {
		return "-"
	}
	return strconv.Itoa(100*r.Warm/(r.Warm+r.Cold)) + " %"
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
	ends := t.Ends
	if ends == nil {
		ends = map[core.RequestState]int{}
	}
	return Row{
		Value: value, Total: t.Total(), Ends: ends, Retries: t.Retries, Platform: t.Platform, CPUMs: t.CPUMs,
		Warm: t.Warm, Cold: t.Cold, Wait: t.Wait.times(), Run: t.Run.times(),
	}
}

// stepFor is the step of the buckets that are read of a span of time: few, and not trimmed yet.
func stepFor(from, until, now int64) int64 {
	const most = 2 * day
	switch {
	case until-from <= most && from > now-keepPieces.Milliseconds():
		return piece
	case until-from <= 31*day:
		return hour
	}
	return day
}

// Check returns INVALID for a span of time that is none, or a way that there is not.
func check(by string, from, until time.Time) error {
	if by != "" && !slices.Contains(Ways(), by) {
		return core.Errorf(core.CodeInvalid, "by", "statistics are not parted by %.40q: use one of %q", by, Ways())
	}
	if !from.Before(until) || from.UnixMilli() < 0 || until.Sub(from) > keepDays {
		return core.Errorf(core.CodeInvalid, "since", "a span of time begins before it ends, and is no longer than two years")
	}
	return nil
}

// Read returns what ended from a time until another one, to the bucket.
func Read(ctx context.Context, store core.Statistics, by string, from, until, now time.Time) (Stats, error) {
	if err := check(by, from, until); err != nil {
		return Stats{}, err
	}
	step := stepFor(from.UnixMilli(), until.UnixMilli(), now.UnixMilli())
	out := Stats{From: floor(from.UnixMilli(), step), Until: floor(until.UnixMilli()-1, step) + step, By: by, Rows: []Row{}}
	name, group := by, func(int64) int64 { return 0 }
	if by == "" || by == ByDay {
		name, group = All, func(at int64) int64 { return floor(at, day) }
	}
	all, err := tallied(ctx, store, step, name, out.From, out.Until, group)
	if err != nil {
		return Stats{}, err
	}
	var total Tally
	for _, at := range slices.Sorted(maps.Keys(all)) {
		for value, t := range all[at] {
			total.merge(*t)
			if by == ByDay {
				value = time.UnixMilli(at).UTC().Format(time.DateOnly)
			}
			if by != "" {
				out.Rows = append(out.Rows, t.row(value))
			}
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
	At     int64          `json:"at_ms"`
	Total  int            `json:"total,omitempty"`
	Wait   *Quantiles     `json:"wait,omitempty"`
	Run    *Quantiles     `json:"run,omitempty"`
	Values map[string]int `json:"values,omitempty"` // of a sample: waiting/POOL, running/POOL, vms/STATE, hosts/STATE
}

// mostPoints is how many points a series has at most.
const mostPoints = 240

// ReadSeries returns what ended and what was sampled over a span of time.
func ReadSeries(ctx context.Context, store core.Statistics, from, until, now time.Time) (Series, error) {
	if err := check("", from, until); err != nil {
		return Series{}, err
	}
	first, last := from.UnixMilli(), until.UnixMilli()
	s := Series{From: first, Until: last, Ended: []Point{}, Samples: []Point{}}
	step := stepFor(first, last, now.UnixMilli())
	s.Step = wide(step, last-first)
	all, err := tallied(ctx, store, step, All, floor(first, s.Step), last, func(at int64) int64 { return floor(at, s.Step) })
	if err != nil {
		return Series{}, err
	}
	for _, at := range slices.Sorted(maps.Keys(all)) {
		row := all[at].of(All).row(All)
		s.Ended = append(s.Ended, Point{At: at, Total: row.Total, Wait: &row.Wait, Run: &row.Run})
	}
	step = sampleStep(first, last, now.UnixMilli())
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
