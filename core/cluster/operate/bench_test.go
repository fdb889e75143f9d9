package operate_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"drover/core"
	"drover/core/cluster/history"
	"drover/core/cluster/operate"
	"drover/core/service/clock"
	"drover/core/store/sqlite"
	"drover/core/store/storetest"
)

// What is read: so many results of so many submitters and pools, spread evenly over a day.
const (
	benchResults    = 100_000
	benchSubmitters = 200
	benchPools      = 4
	benchSteps      = 288 // of five minutes
)

// benchDay is when the first results are recorded.
var benchDay = time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC)

func benchBegin() string { return strconv.FormatInt(benchDay.UnixMilli(), 10) }

// benchHosts are hosts that say what they have.
type benchHosts struct {
	operate.Cluster

	n int
}

func (h benchHosts) GetPool(_ context.Context, name string) (core.Pool, error) {
	return core.DefaultPool(name), nil
}

func (h benchHosts) ListHosts(context.Context) ([]core.HostInfo, error) {
	all := make([]core.HostInfo, h.n)
	for i := range all {
		all[i] = core.HostInfo{Name: fmt.Sprintf("h%d", i), State: core.HostUp, Serves: []string{"p0", "p1", "p2", "p3"}}
		all[i].CPU, all[i].Memory, all[i].Disk = 8, 16<<30, 100<<30
	}
	return all, nil
}

// end records the end of a request.
func end(ctx context.Context, s *sqlite.Store, now time.Time, i int64) (core.Spec, error) {
	spec := storetest.Spec(fmt.Sprintf("s%03d", i%benchSubmitters))
	spec.Pool, spec.Type, spec.Assignment = fmt.Sprintf("p%d", i%benchPools), "tests", fmt.Sprintf("cs%d/hw%d", i%10, i%7)
	spec.Submitted = now.UnixMilli() - 60_000 - i%60_000
	if _, _, err := s.Create(ctx, spec); err != nil {
		return spec, err
	}
	var begun ulid.ULID
	if err := begun.SetTime(uint64(spec.Submitted - 500)); err != nil {
		return spec, err
	}
	r := storetest.Result(spec, "1.1")
	r.Times = core.Times{Submitted: spec.Submitted, Claimed: i % 900, Started: 1000, Finished: 2000 + i%5000}
	r.VM = strings.ToLower(begun.String())
	_, err := s.Record(ctx, r)
	return spec, err
}

// filled is a store of results, and the time after the last one.
func filled(b *testing.B) (*sqlite.Store, time.Time) {
	b.Helper()
	hands := clock.NewManual(benchDay)
	s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "drover.db"), sqlite.Options{Clock: hands})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	for step := range int64(benchSteps) {
		var all sync.WaitGroup
		const callers = 64
		for caller := range int64(callers) {
			all.Go(func() {
				for i := caller; i < benchResults/benchSteps; i += callers {
					if _, err := end(b.Context(), s, hands.Now(), step*benchResults/benchSteps+i); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		hands.Advance(24 * time.Hour / benchSteps)
	}
	return s, hands.Now()
}

// BenchmarkStats counts 100,000 results, reads them as the page of statistics does, and replays the newest 5,000 of a
// pool six times, as a pool's page does.
func BenchmarkStats(b *testing.B) {
	s, until := filled(b)
	now := func() time.Time { return until }
	counter := history.Counter{Store: s, Now: now, Keep: 30 * 24 * time.Hour}
	b.Run("count", func(b *testing.B) {
		for b.Loop() {
			mark, err := s.Mark(b.Context(), "statistics")
			if err != nil {
				b.Fatal(err)
			}
			if _, err := s.MoveMark(b.Context(), "statistics", mark, benchBegin()); err != nil { // as if nothing were counted
				b.Fatal(err)
			}
			if _, err := counter.Count(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, length := range map[string]time.Duration{"1d": 24 * time.Hour, "30d": 30 * 24 * time.Hour} {
		b.Run("page="+name, func(b *testing.B) {
			o := operate.Service{Store: s, Now: now}
			for b.Loop() {
				if _, err := o.Stats(b.Context(), otto, "submitter", until.Add(-length), until); err != nil {
					b.Fatal(err)
				}
				if _, err := o.Series(b.Context(), otto, until.Add(-length), until); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for _, hosts := range []int{4, 100} {
		b.Run(fmt.Sprintf("replay/hosts=%d", hosts), func(b *testing.B) {
			for b.Loop() {
				o := operate.Service{Store: s, Now: now, Cluster: benchHosts{n: hosts}} // which has replayed nothing
				h, err := o.Hits(b.Context(), otto, "p1", until.Add(-24*time.Hour), until, true)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(h.Replayed), "requests")
				b.ReportMetric(float64(1+len(h.Fixed)), "runs")
			}
		})
	}
}

// BenchmarkHistoryOfJobs takes jobs from their beginning to their end, and then copies and counts what happened, in
// turns: "copied" and "counted" are the time of these in that of the jobs' own writes.
func BenchmarkHistoryOfJobs(b *testing.B) {
	const jobs, callers = 2000, 64
	hands := clock.NewManual(benchDay)
	s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "drover.db"), sqlite.Options{Clock: hands})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	events := &benchStream{}
	copier := history.Copier{Events: events.after, Store: s, Now: func(context.Context) (time.Time, error) { return hands.Now(), nil }}
	counter := history.Counter{Store: s, Now: hands.Now, Keep: 30 * 24 * time.Hour}
	if _, err := counter.Count(b.Context()); err != nil {
		b.Fatal(err)
	}
	var own, copied, counted time.Duration
	changes := 0
	for b.Loop() {
		begun := time.Now()
		specs := make([]core.Spec, jobs)
		var all sync.WaitGroup
		for first := range callers {
			all.Go(func() {
				for i := first; i < jobs; i += callers {
					var err error
					if specs[i], err = end(b.Context(), s, hands.Now(), int64(i)); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		own += time.Since(begun)
		for i := range specs {
			events.job(hands.Now().UnixMilli(), specs[i].Key())
		}
		begun = time.Now()
		done, err := copier.Run(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		copied += time.Since(begun)
		changes += done.Changes
		begun = time.Now()
		if _, err := counter.Count(b.Context()); err != nil {
			b.Fatal(err)
		}
		counted += time.Since(begun)
		hands.Advance(5 * time.Minute)
	}
	b.ReportMetric(float64(changes)/float64(jobs*b.N), "changes/job")
	b.ReportMetric(float64(own.Microseconds())/float64(jobs*b.N), "own-µs/job")
	b.ReportMetric(copied.Seconds()/own.Seconds(), "copied")
	b.ReportMetric(counted.Seconds()/own.Seconds(), "counted")
}

// benchStream is Redis' stream of events.
type benchStream struct {
	all []core.Event
	n   int64
}

// job adds the events of a request with a VM of its own, as Redis notes them.
func (s *benchStream) job(at int64, key string) {
	vm := "vm" + strconv.FormatInt(s.n, 10)
	for _, e := range []core.Event{
		{Op: "create", By: "vmfactory@h1#0", Moved: vm},
		{Op: "ready", By: "vmfactory@h1#0", Moved: vm + "=1"},
		{Op: "enqueue", By: "-", Moved: key},
		{Op: "exchange", By: "testrunner@h1#0", Claimed: key, VMs: "=claimed " + vm},
		{Op: "running", By: "testrunner@h1#0", Moved: key},
		{Op: "exchange", By: "testrunner@h1#0", Moved: key, VMs: "=dirty " + vm},
		{Op: "destroy", By: "vmfactory@h1#0", Moved: vm},
		{Op: "gone", By: "vmfactory@h1#0", Moved: vm},
	} {
		s.n++
		e.At, e.ID = at, fmt.Sprintf("%d-%d", at, s.n)
		s.all = append(s.all, e)
	}
}

// after is core.History's Events, by pages as Redis has them.
func (s *benchStream) after(_ context.Context, id string) ([]core.Event, error) {
	const page = 1000
	from := 0
	if id != "" {
		var ms, n int64
		if _, err := fmt.Sscanf(id, "%d-%d", &ms, &n); err != nil {
			return nil, err
		}
		from = sort.Search(len(s.all), func(i int) bool {
			var m, k int64
			_, _ = fmt.Sscanf(s.all[i].ID, "%d-%d", &m, &k)
			return m > ms || m == ms && k > n
		})
	}
	return s.all[from:min(len(s.all), from+page)], nil
}
