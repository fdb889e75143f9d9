package core

import (
	"context"
	"errors"
	"time"
)

// Row is a request in the result store: its spec, and its result once it has one.
type Row struct {
	Spec     Spec
	State    RequestState // queued until a terminal result is recorded
	Result   *Result      // of the current generation; nil until it is terminal
	Finished int64        // ms since 1970; 0 until it is terminal
}

// Attempt is one recorded try of a request.
type Attempt struct {
	Result   Result `json:"result"`
	Accepted bool   `json:"accepted"`    // it is its generation's terminal result
	Recorded int64  `json:"recorded_ms"` // ms since 1970
}

// Filter selects rows. A zero field matches every row.
type Filter struct {
	Submitter  string
	Pool       string
	Assignment string
	// Idempotency is a key chosen by the Submitter, who must be named as well: at most one row has it.
	Idempotency string
	States      []RequestState
	After       string // rows with ids after this one
	Before      string // rows with ids before this one (newest first): a page's cursor
	Limit       int    // 1 to 1000; 0 is 50
}

// Ledger is the part of the result store that a request needs from its submission to its end. A request is accepted
// once its row is durable there.
type Ledger interface {
	// Create makes a request durable. If the submitter used the same idempotency key before, it returns that row and
	// false. Returns CONFLICT if the id belongs to another spec.
	Create(ctx context.Context, spec Spec) (Row, bool, error)
	// Get returns NOTFOUND for an unknown id.
	Get(ctx context.Context, id string) (Row, error)
	// Record stores a result. The first one of a generation becomes its terminal result (true); a later one is kept
	// in the history as refused (false). Recording a result of the same claim (token and VM) again returns the first
	// answer, and so does recording the same state again if no claim made the result. With the terminal result of a
	// claim, the spec becomes that change of it which the claim ran with. Returns NOTFOUND for an unknown id or
	// generation.
	Record(ctx context.Context, r Result) (bool, error)
	// Terminal reports which of the keys have a terminal result.
	Terminal(ctx context.Context, keys []string) (map[string]RequestState, error)
	// BeginRequest records that a claim is about to start a request that must not run twice. By names the claim
	// uniquely. True if the claim may start it: no other claim of its generation has begun it, and it has not ended.
	// Beginning it again answers the same. Returns NOTFOUND for an unknown id or generation.
	BeginRequest(ctx context.Context, key, by string) (bool, error)
	// BegunRequests returns which of the keys were begun, and by which claim. Those never run again.
	BegunRequests(ctx context.Context, keys []string) (map[string]string, error)
}

// RequestLedger is the whole part of the result store that is about requests.
type RequestLedger interface {
	Ledger

	// List returns a page, newest first. Its results come without stdout and
	// stderr: Get has them.
	List(ctx context.Context, f Filter) ([]Row, error)
	// Unfinished lists specs without a terminal result and with ids after the given one, in order of id, for the
	// sweep.
	Unfinished(ctx context.Context, after string, limit int) ([]Spec, error)
	// ChangeSpec keeps a change of a request's spec and makes it the spec's. Was is the spec as the caller read it.
	// Returns the new spec, CONFLICT if the request has ended or its spec is another by now, LIMIT after MaxChanges,
	// NOTFOUND for an unknown id.
	ChangeSpec(ctx context.Context, was Spec, c Change) (Spec, error)
	// UseChange makes another of the changes kept of a request its spec's, since Redis has that one. Returns false if
	// the request has ended or its spec is not was any more, INVALID if no such change is kept, NOTFOUND for an unknown
	// id.
	UseChange(ctx context.Context, was Spec, number int) (bool, error)
	// Changes returns what is kept of the changes of a request's current generation: [0] is its submission. It is empty
	// if the request never changed. Returns NOTFOUND for an unknown id.
	Changes(ctx context.Context, id string) ([]Change, error)
	// MarkRemoved marks a request as to be removed once it has ended; it is not run again then. Returns CONFLICT for a
	// request that belongs to a submission, NOTFOUND for an unknown id.
	MarkRemoved(ctx context.Context, id string) error
	// MarkedRemoved lists the specs of marked requests with ids after the given one, in order of id.
	MarkedRemoved(ctx context.Context, after string, limit int) ([]Spec, error)
	// Remove removes a marked request that has ended, with its results and what is in the outbox for it. Returns false
	// if it has not ended, or is not there or not marked.
	Remove(ctx context.Context, id string) (bool, error)
	// Rerun starts a new generation of a terminal request. Returns CONFLICT if it is not terminal, or marked as to be
	// removed.
	Rerun(ctx context.Context, id string, submitted int64) (Spec, error)
	// Attempts returns the history of all generations, oldest first, with the
	// first 16 KiB of stdout and stderr. Returns NOTFOUND for an unknown id.
	Attempts(ctx context.Context, id string) ([]Attempt, error)
}

// Retention deletes old data of the result store, and lists the files to which the rest refers.
type Retention interface {
	// Purge deletes at most limit rows, tasks, leases and instances that ended before the given time, and batches that
	// were created before it and of which no request is left, and returns how many. It spares requests of submissions, tasks whose download
	// has not expired, and entries of the outbox.
	Purge(ctx context.Context, before time.Time, limit int) (int, error)
	// ExpireOutputs removes stdout, stderr and files from all results, including those of the history, of requests of
	// a pool that ended before the given time, and sets their Result.Expired. It handles at most limit requests,
	// those that ended first, and returns how many.
	ExpireOutputs(ctx context.Context, pool string, before time.Time, limit int) (int, error)
	// Digests calls fn with every blob digest to which a row, submission, assignment, experiment or image refers, or
	// a download of a task that has not expired, a job type, or a batch whose requests are not there yet. A digest may
	// be repeated.
	Digests(ctx context.Context, fn func(digest string) error) error
}

// PoolSettings keeps the settings of pools, so that they survive a loss of Redis.
type PoolSettings interface {
	PutPool(ctx context.Context, p Pool) error
	// RemovePool removes a pool's settings. Returns CONFLICT, naming some of them, if requests without an end, batches
	// whose requests are not there yet, assignments, job types or open leases use the pool. A pool that is not there is
	// no error.
	RemovePool(ctx context.Context, name string) error
	Pools(ctx context.Context) ([]Pool, error)
}

// Binding is a kind of what a result store belongs to, or works with.
type Binding string

// The bindings of a result store.
const (
	BindBlobs     Binding = "blobs"     // to a blob store, by its id
	BindNamespace Binding = "namespace" // to a namespace of Redis: two would run the same requests
)

// ErrOlderSchema is the cause of an error if a result store has to be migrated before this program can use it.
var ErrOlderSchema = errors.New("it has to be migrated first")

// ResultStore is the cluster's part of the result store. Adapters implement it together with the school's part, and
// pass storetest. Users of a store ask for the smaller interfaces.
type ResultStore interface {
	RequestLedger
	TaskLedger
	Retention
	PoolSettings
	JobTypes
	Batches
	Leases
	Instances
	HostWishes
	Images
	JoinTokens
	AuditLog
	Webhooks
	Schedules
	StateLog
	Statistics

	// ID returns the unique id of this store, valid by CheckName. It is created with the store and kept in it, so a
	// moved store keeps its id.
	ID(ctx context.Context) (string, error)
	// Bindings returns to what the store belongs, by kind.
	Bindings(ctx context.Context) (map[Binding]string, error)
	// PutBinding makes the store belong to what the id names, unless it belongs to another of the kind and move is not set.
	// Returns to which it belongs now.
	PutBinding(ctx context.Context, kind Binding, id string, move bool) (string, error)
	// Ping returns UNAVAILABLE if the store cannot write.
	Ping(ctx context.Context) error
	Close() error
}
