// Package metric has what a process counts and measures, in the text format that Prometheus collects.
package metric

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Set is what one process exports. A nil one exports nothing. Declaring a name twice panics.
type Set struct {
	mu       sync.Mutex
	families map[string]*Family
}

// Family is a metric: it has a series for each combination of its labels' values.
type Family struct {
	name, kind, help string

	labels []string
	bounds []float64     // of a histogram
	read   func(Reports) // of what is read when it is collected

	mu     sync.Mutex
	series map[string]*series // by labels as they are written
}

type series struct {
	value  float64  // of a histogram the sum
	counts []uint64 // of a histogram, by bound; the last one is of all values
}

// Reports takes the value of one series.
type Reports func(value float64, labels ...string)

const (
	counter   = "counter"
	gauge     = "gauge"
	histogram = "histogram"
)

// Counter declares what only grows.
func (s *Set) Counter(name, help string, labels ...string) *Family {
	return s.declare(&Family{name: name, kind: counter, help: help, labels: labels})
}

// Gauge declares what goes up and down.
func (s *Set) Gauge(name, help string, labels ...string) *Family {
	return s.declare(&Family{name: name, kind: gauge, help: help, labels: labels})
}

// Histogram declares what counts values by upper bounds: n of them from the first, each the factor of the one before.
func (s *Set) Histogram(name, help string, first, factor float64, n int, labels ...string) *Family {
	bounds := []float64{first}
	for len(bounds) < n {
		bounds = append(bounds, bounds[len(bounds)-1]*factor)
	}
	return s.declare(&Family{name: name, kind: histogram, help: help, labels: labels, bounds: bounds})
}

// GaugeFunc declares a gauge that is read whenever it is collected, by several goroutines at once.
func (s *Set) GaugeFunc(name, help string, read func(Reports), labels ...string) {
	s.declare(&Family{name: name, kind: gauge, help: help, labels: labels, read: read})
}

func (s *Set) declare(f *Family) *Family {
	f.Reset()
	if len(f.labels) == 0 && f.read == nil {
		f.of(nil) // what may happen is 0 before it does
	}
	if s == nil {
		return f
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.families[f.name] != nil {
		panic("the metric " + f.name + " is declared twice")
	}
	if s.families == nil {
		s.families = map[string]*Family{}
	}
	s.families[f.name] = f
	return f
}

// Add adds to a series.
func (f *Family) Add(value float64, labels ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of(labels).value += value
}

// Set sets a series.
func (f *Family) Set(value float64, labels ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of(labels).value = value
}

// Observe counts a value in the series of a histogram.
func (f *Family) Observe(value float64, labels ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.of(labels)
	s.value += value
	for i, bound := range f.bounds {
		if value <= bound {
			s.counts[i]++
		}
	}
	s.counts[len(f.bounds)]++
}

// Reset removes all series.
func (f *Family) Reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.series = map[string]*series{}
}

var escape = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// of returns the series of these labels. The caller has f.mu.
func (f *Family) of(labels []string) *series {
	if len(labels) != len(f.labels) {
		panic(fmt.Sprintf("the metric %s has the labels %q, not %d", f.name, f.labels, len(labels)))
	}
	var key []string
	for i, value := range labels {
		key = append(key, f.labels[i]+`="`+escape.Replace(strings.ToValidUTF8(value, "\uFFFD"))+`"`)
	}
	written := strings.Join(key, ",")
	s := f.series[written]
	if s == nil {
		s = &series{}
		if f.kind == histogram {
			s.counts = make([]uint64, len(f.bounds)+1)
		}
		f.series[written] = s
	}
	return s
}

// Text returns all metrics as they are now.
func (s *Set) Text() []byte {
	s.mu.Lock()
	families := maps.Clone(s.families)
	s.mu.Unlock()
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(families)) {
		families[name].write(&b)
	}
	return b.Bytes()
}

func (f *Family) write(b *bytes.Buffer) {
	if f.read != nil {
		now := &Family{name: f.name, kind: f.kind, help: f.help, labels: f.labels, series: map[string]*series{}}
		f.read(now.Set)
		f = now
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.series) == 0 {
		return
	}
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", f.name, f.help, f.name, f.kind)
	line := func(suffix, labels string, value float64) {
		if labels != "" {
			labels = "{" + labels + "}"
		}
		b.WriteString(f.name + suffix + labels + " " + number(value) + "\n")
	}
	for _, labels := range slices.Sorted(maps.Keys(f.series)) {
		s := f.series[labels]
		if f.kind != histogram {
			line("", labels, s.value)
			continue
		}
		before := labels
		if before != "" {
			before += ","
		}
		for i, n := range s.counts {
			bound := "+Inf"
			if i < len(f.bounds) {
				bound = number(f.bounds[i])
			}
			line("_bucket", before+`le="`+bound+`"`, float64(n))
		}
		line("_sum", labels, s.value)
		line("_count", labels, float64(s.counts[len(f.bounds)]))
	}
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
