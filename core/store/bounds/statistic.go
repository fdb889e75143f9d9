package bounds

import (
	"cmp"
	"strconv"
	"strings"

	"drover/core"
)

// The bounds of a change of state, in bytes.
const (
	maxThing     = 255
	maxChangeWhy = 1 << 10
	maxMark      = 255
)

// StateChanges checks changes of state. Returns INVALID or LIMIT.
func StateChanges(all []core.StateChange) error {
	if len(all) > core.MaxStateChanges {
		return core.Errorf(core.CodeLimit, "", "%d changes of state at once, at most %d are taken", len(all), core.MaxStateChanges)
	}
	for i := range all {
		c := &all[i]
		if err := cmp.Or(
			core.CheckTitle(c.Thing, "kind", string(c.Kind)), core.CheckTitle(c.Thing, "thing", c.Thing), core.CheckLine(c.Thing, "thing", c.Thing, maxThing),
			core.CheckLine(c.Thing, "state", c.State, maxThing), core.CheckLine(c.Thing, "operation", c.How, maxThing), core.CheckLine(c.Thing, "owner", c.By, maxThing),
			core.CheckLine(c.Thing, "thing", c.With, maxThing), core.CheckLine(c.Thing, "reason", c.Why, maxChangeWhy), core.CheckTimes(c.Thing, c.At, c.N, c.Until),
		); err != nil {
			return err
		}
	}
	return nil
}

// StateChangePage checks a filter and returns before which change it begins, and how many rows it asks for.
// Returns INVALID.
func StateChangePage(f core.StateChangeFilter) (at, n int64, limit int, err error) {
	const newest = int64(1)<<62 - 1
	at, n = newest, newest
	if f.Kind == "" || f.Thing == "" {
		return 0, 0, 0, core.Errorf(core.CodeInvalid, "", "changes of state are those of one thing: name it and its kind")
	}
	if f.Before != "" {
		ms, rest, ok := strings.Cut(f.Before, "-")
		var unreadable error
		at, err = strconv.ParseInt(ms, 10, 63)
		n, unreadable = strconv.ParseInt(rest, 10, 63)
		if !ok || err != nil || unreadable != nil || at < 0 || n < 0 {
			return 0, 0, 0, core.Errorf(core.CodeInvalid, "before", "%.60q is no place in a history: use the one of a change", f.Before)
		}
	}
	limit, err = rows(f.Limit)
	return at, n, limit, err
}

// Mark checks a mark. Returns INVALID or LIMIT.
func Mark(name, value string) error {
	return cmp.Or(core.CheckName("mark", name), core.CheckLine(name, "mark", value, maxMark))
}

// Buckets checks buckets. Returns INVALID or LIMIT.
func Buckets(all []core.Bucket) error {
	if len(all) > core.MaxBuckets {
		return core.Errorf(core.CodeLimit, "", "%d buckets at once, at most %d are taken", len(all), core.MaxBuckets)
	}
	for _, b := range all {
		if err := cmp.Or(core.CheckName("bucket", b.Name), core.CheckTimes(b.Name, b.At)); err != nil {
			return err
		}
		if b.Step < 1 {
			return core.Errorf(core.CodeInvalid, b.Name, "bucket %s covers %d ms: a step is above 0", b.Name, b.Step)
		}
		if len(b.Doc) > core.MaxBucketBytes {
			return core.Errorf(core.CodeLimit, b.Name, "bucket %s has %d bytes, at most %d are kept", b.Name, len(b.Doc), core.MaxBucketBytes)
		}
	}
	return nil
}
