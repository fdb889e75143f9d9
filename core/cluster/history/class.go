package history

import (
	"context"
	"time"

	"drover/core"
)

// ByAssignment parts what ended of a class by assignment.
const ByAssignment = "assignment"

// ClassWays lists by what the statistics of a class can be parted.
func ClassWays() []string { return []string{ByAssignment, ByDay} }

// ReadClass returns what ended of a class from a time until another one, to the bucket. Returns INVALID.
func ReadClass(ctx context.Context, store core.Counted, class, by string, from, until, now time.Time) (Stats, error) {
	if err := check(by, ClassWays(), from, until); err != nil {
		return Stats{}, err
	}
	return read(ctx, store, inClass(class), by, from, until, now)
}

// ReadClassSeries returns what ended of a class over a span of time; of the cluster it has no samples. Returns INVALID.
func ReadClassSeries(ctx context.Context, store core.Counted, class string, from, until, now time.Time) (Series, error) {
	if err := check("", nil, from, until); err != nil {
		return Series{}, err
	}
	return endedSeries(ctx, store, inClass(class), from, until, now)
}
