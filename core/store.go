package core

import (
	"context"
	"time"
)

// Row is a request in the result store: its spec, and its result once it has one.
type Row struct {
	Spec     Spec
	State    RequestState // queued until a terminal result is recorded
	Result   *Result      // of the current generation; nil until then
	Finished int64        // ms since 1970; 0 until then
}

// Attempt is one recorded try of a request.
type Attempt struct {
	Result   Result `json:"result"`
	Accepted bool   `json:"accepted"`    // it is its generation's terminal result
	Recorded int64  `json:"recorded_ms"` // ms since 1970
}

// Filter selects rows. Zero fields do not select.
type Filter struct {
	Submitter  string
	Pool       string
	Assignment string
	// Idempotency is a key of the Submitter, which must be named then: at most one row has it.
	Idempotency string
	States      []RequestState
	Before      string // rows with ids before this one (newest first): a page's cursor
	Limit       int    // 1 to 1000; 0 is 50
}

// Ledger is what a request needs of the result store from its submit to its end.
// Accepted means: the row is durable there.
type Ledger interface {
	// Create makes a request durable. If the submitter used the same
	// idempotency key before, it returns that row and false.
	// Returns CONFLICT if the id is taken by another spec.
	Create(ctx context.Context, spec Spec) (Row, bool, error)
	// Get returns NOTFOUND for an unknown id.
	Get(ctx context.Context, id string) (Row, error)
	// Record stores a result. The first one of a generation becomes its
	// terminal result (true); a later one is kept in the history as refused
	// (false). The same claim (token and VM) recorded again returns its first
	// answer; so does the same state of results that no claim made.
	// Returns NOTFOUND for an unknown id or generation.
	Record(ctx context.Context, r Result) (bool, error)
	// Terminal says which of the keys have their terminal result.
	Terminal(ctx context.Context, keys []string) (map[string]RequestState, error)
}

// RequestLedger is all that the result store knows of requests.
type RequestLedger interface {
	Ledger

	// List returns a page, newest first. Its results come without stdout and
	// stderr: Get has them.
	List(ctx context.Context, f Filter) ([]Row, error)
	// Unfinished lists specs without a terminal result and with ids after the
	// given one, in order of id: the sweeper's cursor.
	Unfinished(ctx context.Context, after string, limit int) ([]Spec, error)
	// Rerun starts a new generation of a terminal request. Returns CONFLICT if it is not terminal.
	Rerun(ctx context.Context, id string, submitted int64) (Spec, error)
	// Attempts returns the history of all generations, oldest first, with the
	// first 16 KiB of stdout and stderr. Returns NOTFOUND for an unknown id.
	Attempts(ctx context.Context, id string) ([]Attempt, error)
}

// Retention is how long the result store keeps things, and which files they name.
type Retention interface {
	// Purge deletes rows finished and tasks ended before the time, at most limit,
	// and returns how many. It spares requests that a submission names, tasks whose
	// download has not expired, and what is in the outbox.
	Purge(ctx context.Context, before time.Time, limit int) (int, error)
	// ExpireOutputs takes stdout, stderr and files out of all results, the history's
	// too, of requests of a pool that ended before the time, and marks them with
	// Result.Expired. It does so for at most limit requests, those that ended first,
	// and returns how many.
	ExpireOutputs(ctx context.Context, pool string, before time.Time, limit int) (int, error)
	// Digests calls fn with every blob digest that a row, a submission, an assignment,
	// an experiment, a task's download that has not expired, or an image names, perhaps
	// more than once.
	Digests(ctx context.Context, fn func(digest string) error) error
}

// PoolSettings keeps the pools' settings through a loss of Redis.
type PoolSettings interface {
	PutPool(ctx context.Context, p Pool) error
	Pools(ctx context.Context) ([]Pool, error)
}

// ResultStore is what the cluster keeps in the result store. Adapters do this and what the
// school keeps; they pass storetest. A user of a store asks for the part that it needs.
type ResultStore interface {
	RequestLedger
	TaskLedger
	Retention
	PoolSettings
	HostWishes
	Images
	AuditLog
	Webhooks
	Schedules

	// ID names this store, as CheckName allows. It was made with the store and is kept
	// in it, so it goes with the store wherever that is moved; no other one has it.
	ID(ctx context.Context) (string, error)
	// Ping returns UNAVAILABLE if the store cannot write.
	Ping(ctx context.Context) error
	Close() error
}
