package core

import (
	"context"
	"encoding/json"
)

// Ended is what statistics count of a terminal result.
type Ended struct {
	Key        string // of the generation that ended
	At         int64  // ms since 1970, when it was recorded
	Pool       string
	Type       string // its job type; "": it named none
	VM         string // of the last attempt
	Priority   Priority
	Submitter  string
	Assignment string
	State      RequestState
	Blame      Blame
	Attempt    int
	Times      Times
	CPUMs      int64
	AgainMs    int64 // of CPUMs: of runs of tests that count for nothing
}

// ReadEnded reads the few fields that are counted of the documents of a spec and of a result.
func ReadEnded(spec, result []byte, at int64) (Ended, error) {
	var s struct {
		Pool       string   `json:"pool"`
		Type       string   `json:"type"`
		Priority   Priority `json:"priority"`
		Submitter  string   `json:"submitter"`
		Assignment string   `json:"assignment"`
	}
	var r struct {
		ID         string       `json:"id"`
		Generation int          `json:"generation"`
		State      RequestState `json:"state"`
		Blame      Blame        `json:"blame"`
		Attempt    int          `json:"attempt"`
		VM         string       `json:"vm"`
		Times      Times        `json:"times"`
		Usage      Usage        `json:"usage"`
		Receipt    struct {
			AgainMs int64 `json:"again_ms"`
		} `json:"receipt"`
	}
	if err := json.Unmarshal(spec, &s); err != nil {
		return Ended{}, err
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return Ended{}, err
	}
	return Ended{
		Key: Key(r.ID, r.Generation), At: at, Pool: s.Pool, Type: s.Type, VM: r.VM, Priority: s.Priority, Submitter: s.Submitter, Assignment: s.Assignment,
		State: r.State, Blame: r.Blame, Attempt: r.Attempt, Times: r.Times, CPUMs: r.Usage.CPUMs, AgainMs: r.Receipt.AgainMs,
	}, nil
}

// Bucket is what was counted or measured in one span of time. Its writer defines the content of its document.
type Bucket struct {
	Step int64 // ms that it covers
	Name string
	At   int64 // ms since 1970, when it begins
	Doc  json.RawMessage
}

// Counted reads what was counted.
type Counted interface {
	// Buckets returns the buckets of a step and a name that begin from a time until before another one (ms),
	// in order of time, at most MaxBuckets.
	Buckets(ctx context.Context, step int64, name string, from, until int64) ([]Bucket, error)
}

// Statistics keeps what was counted, and reads what is to be counted.
type Statistics interface {
	Counted

	// Ended calls fn with the terminal results of all generations that were recorded from a time until before
	// another one (ms), each once, in no order.
	Ended(ctx context.Context, from, until int64, fn func(Ended) error) error
	// PutBuckets keeps buckets in place of what is there under their steps, names and times. Returns INVALID, LIMIT.
	PutBuckets(ctx context.Context, all []Bucket) error
	// TrimBuckets deletes the buckets of a step that begin before a time (ms). Returns how many.
	TrimBuckets(ctx context.Context, step, before int64) (int, error)
}

// Bounds on buckets.
const (
	MaxBuckets     = 1000      // of one reading, or one writing
	MaxBucketBytes = 512 << 10 // a document's
)
