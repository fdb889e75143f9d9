package history

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"drover/core"
)

// The steps of buckets, ms, and how long those of each stay. An hour is put together from its pieces, and a day (UTC)
// from its hours, so any of them can be made anew.
const (
	minute   = int64(time.Minute / time.Millisecond)
	tenMin   = 10 * minute
	piece    = 5 * minute
	hour     = 60 * minute
	day      = 24 * hour
	ofPieces = "ended-"
	ofSample = "sample"
)

const (
	keepPieces = 3 * 24 * time.Hour
	keepDays   = 2 * 365 * 24 * time.Hour
)

// markCounted is until when all pieces are complete, ms.
const markCounted = "statistics"

// late is how long after a piece's end a result may still be recorded in it, by the clock of another machine.
const late = 2 * time.Minute

// Cluster is what a Counter samples.
type Cluster struct {
	Hosts   func(ctx context.Context) ([]core.HostInfo, error)
	Waiting func(ctx context.Context) ([]core.QueueInfo, error)
}

// Counter counts what ended and samples the cluster.
type Counter struct {
	Store interface {
		core.Statistics
		core.StateLog
	}
	Cluster Cluster
	Now     func() time.Time
	Keep    time.Duration // how long changes of state and buckets of an hour stay
}

// countRounds bounds one run: a Counter that is new to a store has as many days behind it as are kept.
const countRounds = 400

// Count counts what ended since the last run, a day's in each round, until everything is counted or ctx ends.
func (c Counter) Count(ctx context.Context) (counted int, err error) {
	mark, err := c.Store.Mark(ctx, markCounted)
	for round := 0; err == nil && round < countRounds; round++ {
		now := c.Now()
		start := c.start(mark, now)
		end := min(start+day, floor(now.UnixMilli(), piece)+piece)
		var n int
		if n, err = c.count(ctx, start, end); err != nil {
			break
		}
		counted += n
		sealed := strconv.FormatInt(min(end, floor(now.Add(-late).UnixMilli(), piece)), 10)
		if sealed != mark {
			// Another overseer that moved it meanwhile has counted the same.
			_, err = c.Store.MoveMark(ctx, markCounted, mark, sealed)
			mark = sealed
		}
		if end > now.UnixMilli() {
			break
		}
	}
	return counted, err
}

// start says from when on to count. After a clock was set back, what was counted is counted again.
func (c Counter) start(mark string, now time.Time) int64 {
	at, unreadable := strconv.ParseInt(mark, 10, 64)
	if unreadable != nil {
		at = floor(now.Add(-c.Keep).UnixMilli(), day)
	}
	return max(0, min(floor(at, piece), floor(now.Add(-late).UnixMilli(), piece)))
}

func floor(at, step int64) int64 { return at - at%step }

// count makes the pieces of a span of time from what ended, and what is made from them.
func (c Counter) count(ctx context.Context, start, end int64) (int, error) {
	pieces, n := make(map[int64]map[string]tallies), 0
	err := c.Store.Ended(ctx, start, end, func(e core.Ended) error {
		at := floor(e.At, piece)
		if pieces[at] == nil {
			pieces[at] = make(map[string]tallies, len(dimensions))
		}
		tell(pieces[at], e)
		n++
		return nil
	})
	if err != nil || n == 0 {
		return 0, err
	}
	hours := make(map[int64]map[string]bool)
	for at, of := range pieces {
		touch(hours, floor(at, hour), of)
		if err := c.put(ctx, piece, at, of); err != nil {
			return 0, err
		}
	}
	days := make(map[int64]map[string]bool)
	for at, names := range hours {
		touch(days, floor(at, day), names)
		if err := c.together(ctx, piece, hour, at, names); err != nil {
			return 0, err
		}
	}
	for at, names := range days {
		if err := c.together(ctx, hour, day, at, names); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// tell adds an end to the tallies of every dimension, and of its class, by their names.
func tell(of map[string]tallies, e core.Ended) {
	add := func(name, value string) {
		if of[name] == nil {
			of[name] = tallies{}
		}
		of[name].of(value).add(e)
	}
	for _, d := range dimensions {
		if value := d.of(e); value != "" {
			add(d.name, value)
		}
	}
	if class, assignment, of := strings.Cut(e.Assignment, "/"); of {
		add(inClass(class), assignment)
	}
}

// touch notes whose buckets of a longer step have to be made anew.
func touch[T any](of map[int64]map[string]bool, at int64, names map[string]T) {
	if of[at] == nil {
		of[at] = make(map[string]bool, len(names))
	}
	for name := range names {
		of[at][name] = true
	}
}

func (c Counter) put(ctx context.Context, step, at int64, of map[string]tallies) error {
	all := make([]core.Bucket, 0, len(of))
	for name, its := range of {
		doc, err := json.Marshal(its.bounded())
		if err != nil {
			return core.Wrap(err, core.CodeInternal, name, "what ended cannot be written as JSON")
		}
		all = append(all, core.Bucket{Step: step, Name: ofPieces + name, At: at, Doc: doc})
	}
	for some := range slices.Chunk(all, core.MaxBuckets) {
		if err := c.Store.PutBuckets(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// together makes one bucket of each of the names from those of a smaller step.
func (c Counter) together(ctx context.Context, from, to, at int64, names map[string]bool) error {
	of := make(map[string]tallies, len(names))
	for name := range names {
		its, err := tallied(ctx, c.Store, []stretch{{from, at, at + to}}, name, func(int64) int64 { return at })
		if err != nil {
			return err
		}
		if sum := its[at]; len(sum) > 0 {
			of[name] = sum
		}
	}
	return c.put(ctx, to, at, of)
}

// tallied reads what ended in stretches of time, and puts together what group gives the same time.
func tallied(ctx context.Context, store core.Counted, stretches []stretch, name string, group func(int64) int64) (map[int64]tallies, error) {
	out := make(map[int64]tallies)
	for _, s := range stretches {
		if err := each(ctx, store, s.step, ofPieces+name, s.from, s.until, func(at int64, of tallies) {
			at = group(at)
			if out[at] == nil {
				out[at] = tallies{}
			}
			for value, t := range of {
				out[at].of(value).merge(*t)
			}
		}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// each reads all buckets of a span of time.
func each[T any](ctx context.Context, store core.Counted, step int64, name string, from, until int64, fn func(at int64, doc T)) error {
	for {
		page, err := store.Buckets(ctx, step, name, from, until)
		if err != nil {
			return err
		}
		for _, b := range page {
			var doc T
			if err := json.Unmarshal(b.Doc, &doc); err != nil {
				return core.Wrap(err, core.CodeUnavailable, name, "the result store holds unreadable statistics")
			}
			fn(b.At, doc)
			from = b.At + 1
		}
		if len(page) < core.MaxBuckets {
			return nil
		}
	}
}

// Trim deletes what is older than it is kept. Returns how many rows.
func (c Counter) Trim(ctx context.Context) (int, error) {
	const most = 50_000 // of one run
	now := c.Now()
	total, err := c.Store.TrimStateChanges(ctx, now.Add(-c.Keep).UnixMilli(), core.MostStateChanges, most)
	for step, keep := range map[int64]time.Duration{
		LoadStep: keepLoads, minute: keepPieces, piece: keepPieces, tenMin: max(c.Keep, keepPieces), hour: max(c.Keep, keepPieces), day: max(c.Keep, keepDays),
	} {
		if err != nil {
			break
		}
		var n int
		n, err = c.Store.TrimBuckets(ctx, step, now.Add(-keep).UnixMilli())
		total += n
	}
	return total, err
}
