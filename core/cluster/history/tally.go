package history

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/oklog/ulid/v2"

	"drover/core"
)

// A dimension parts what ended. Of "" nothing is counted. Another dimension is one more line.
type dimension struct {
	name string
	of   func(core.Ended) string
}

// All is the dimension that has everything as one value of that name.
const All = "all"

var dimensions = []dimension{
	{All, func(core.Ended) string { return All }},
	{"pool", func(e core.Ended) string { return e.Pool }},
	{"submitter", func(e core.Ended) string { return e.Submitter }},
	{"class", func(e core.Ended) string {
		class, _, of := strings.Cut(e.Assignment, "/")
		if !of {
			return ""
		}
		return class
	}},
	{"type", func(e core.Ended) string { return e.Type }},
	{"priority", func(e core.Ended) string { return string(e.Priority) }},
}

// inClass names the buckets of a class: its assignments are their values. So a class is read without the others, and
// is not among those that a bucket of all classes leaves out. A class's name and a prefix would be too long for a name.
func inClass(class string) string {
	const enough = 16 // bytes: no two classes share a bucket
	sum := sha256.Sum256([]byte(class))
	return "in-" + hex.EncodeToString(sum[:enough])
}

// Others are, of a dimension with many values, those that had the fewest.
const Others = "*"

// mostValues is how many values of a dimension a bucket names.
const mostValues = 200

// Spread is a sum of times and how they spread: counts by powers of the fourth root of two.
type Spread struct {
	N      int         `json:"n,omitempty"`
	Sum    int64       `json:"sum_ms,omitempty"`
	Max    int64       `json:"max_ms,omitempty"`
	Counts map[int]int `json:"counts,omitempty"`
}

// perDouble is how many classes of the histogram there are between a time and its double.
const perDouble = 4

func (s *Spread) add(ms int64) {
	if s.Counts == nil {
		s.Counts = make(map[int]int)
	}
	ms = max(0, ms)
	s.N, s.Sum, s.Max = s.N+1, s.Sum+ms, max(s.Max, ms)
	s.Counts[int(math.Ceil(perDouble*math.Log2(float64(ms+1))))]++
}

func (s *Spread) merge(o Spread) {
	if s.Counts == nil && len(o.Counts) > 0 {
		s.Counts = make(map[int]int, len(o.Counts))
	}
	s.N, s.Sum, s.Max = s.N+o.N, s.Sum+o.Sum, max(s.Max, o.Max)
	for class, n := range o.Counts {
		s.Counts[class] += n
	}
}

// Mean is the mean, ms; 0 of nothing.
func (s Spread) Mean() int64 { return s.Sum / max(1, int64(s.N)) }

// Quantile is the time within which this part of all was, ms, at most a fifth too long; 0 of nothing.
func (s Spread) Quantile(part float64) int64 {
	rank, seen := int(math.Ceil(part*float64(s.N))), 0
	for _, class := range slices.Sorted(maps.Keys(s.Counts)) {
		if seen += s.Counts[class]; seen >= max(1, rank) {
			return min(s.Max, int64(math.Exp2(float64(class)/perDouble))-1)
		}
	}
	return 0
}

// Tally is what ended, of one value of a dimension in one span of time.
type Tally struct {
	Ends    map[core.RequestState]int `json:"ends"`
	Faults  map[core.Blame]int        `json:"faults,omitempty"`  // ends that were somebody's fault, by whose
	Reruns  int                       `json:"reruns,omitempty"`  // ends of a generation after the first
	Retries int                       `json:"retries,omitempty"` // attempts before the last one
	CPUMs   int64                     `json:"cpu_ms,omitempty"`
	AgainMs int64                     `json:"again_ms,omitempty"` // of CPUMs: of runs of tests that count for nothing
	Warm    int                       `json:"warm,omitempty"`     // claims whose VM was begun before their request was queued
	Cold    int                       `json:"cold,omitempty"`     // those that waited until a VM was made
	Wait    Spread                    `json:"wait"`               // from the queue to the claim, of the last attempt
	Run     Spread                    `json:"run"`                // of the command
}

// Total is how many ended.
func (t Tally) Total() (n int) {
	for _, of := range t.Ends {
		n += of
	}
	return n
}

func (t *Tally) add(e core.Ended) {
	if t.Ends == nil {
		t.Ends = make(map[core.RequestState]int)
	}
	t.Ends[e.State]++
	t.Retries += max(0, e.Attempt-1)
	if e.Blame != core.BlameNone {
		if t.Faults == nil {
			t.Faults = make(map[core.Blame]int)
		}
		t.Faults[e.Blame]++
	}
	if _, generation, err := core.ParseKey(e.Key); err == nil && generation > 1 {
		t.Reruns++
	}
	t.CPUMs, t.AgainMs = t.CPUMs+max(0, e.CPUMs), t.AgainMs+max(0, e.AgainMs)
	if e.Times.Claimed >= 0 && e.Attempt > 0 {
		t.Wait.add(e.Times.Claimed - max(0, e.Times.Queued))
	}
	if warm, known := MetWarm(e.VM, e.Times); known && warm {
		t.Warm++
	} else if known {
		t.Cold++
	}
	if e.Times.Started >= 0 && e.Times.Finished >= e.Times.Started {
		t.Run.add(e.Times.Finished - e.Times.Started)
	}
}

// MetWarm says whether a claim met a VM that was begun before its request was queued, if the VM's name tells when that
// was.
func MetWarm(vm string, t core.Times) (warm, known bool) {
	begun, err := ulid.Parse(vm)
	if err != nil || t.Claimed < 0 {
		return false, false
	}
	return int64(begun.Time()) <= t.Submitted+max(0, t.Queued), true //nolint:gosec // 48 bits
}

func (t *Tally) merge(o Tally) {
	if t.Ends == nil {
		t.Ends = make(map[core.RequestState]int, len(o.Ends))
	}
	for state, n := range o.Ends {
		t.Ends[state] += n
	}
	if t.Faults == nil && len(o.Faults) > 0 {
		t.Faults = make(map[core.Blame]int, len(o.Faults))
	}
	for blame, n := range o.Faults {
		t.Faults[blame] += n
	}
	t.Retries, t.Reruns, t.CPUMs = t.Retries+o.Retries, t.Reruns+o.Reruns, t.CPUMs+o.CPUMs
	t.AgainMs += o.AgainMs
	t.Warm, t.Cold = t.Warm+o.Warm, t.Cold+o.Cold
	t.Wait.merge(o.Wait)
	t.Run.merge(o.Run)
}

// tallies are those of a dimension by value.
type tallies map[string]*Tally

func (ts tallies) of(value string) *Tally {
	if ts[value] == nil {
		ts[value] = &Tally{}
	}
	return ts[value]
}

// sum puts all together.
func (ts tallies) sum() (all Tally) {
	for _, t := range ts {
		all.merge(*t)
	}
	return all
}

// bounded puts together those that have the fewest, so that a bucket stays small whatever submitters are called.
func (ts tallies) bounded() tallies {
	if len(ts) <= mostValues {
		return ts
	}
	values := slices.SortedFunc(maps.Keys(ts), func(a, b string) int { return cmp.Or(ts[b].Total()-ts[a].Total(), cmp.Compare(a, b)) })
	out := make(tallies, mostValues)
	for i, value := range values {
		if i >= mostValues-1 {
			value = Others
		}
		out.of(value).merge(*ts[values[i]])
	}
	return out
}
