package core

import (
	"context"
	"slices"
)

// EntityBatch is the record of a batch, whose states only the result store has.
const EntityBatch Entity = "batch"

// BatchState is how far a batch's record has come, see BatchTransitions. What its requests do is not in it.
type BatchState string

// The states of a batch's record.
const (
	BatchMaking     BatchState = "making"     // accepted; some of its requests may not be there yet
	BatchMade       BatchState = "made"       // all its requests are there
	BatchCancelling BatchState = "cancelling" // its requests are being cancelled, and made before if they were not
	BatchCancelled  BatchState = "cancelled"  // all its requests were cancelled, or had ended before
)

// BatchTransitions is the part of the table of legal moves that is about batches. By names methods of ResultStore.
func BatchTransitions() []Transition {
	return []Transition{
		{EntityBatch, "", string(BatchMaking), []string{"CreateBatch"}, "accepted: its record is durable"},
		{EntityBatch, string(BatchMaking), string(BatchMade), []string{"MoveBatch"}, "all its requests are durable"},
		{EntityBatch, string(BatchMaking), string(BatchCancelling), []string{"MoveBatch"}, "somebody cancels it"},
		{EntityBatch, string(BatchMade), string(BatchCancelling), []string{"MoveBatch"}, "somebody cancels it"},
		{EntityBatch, string(BatchCancelling), string(BatchCancelled), []string{"MoveBatch"}, "each of its requests was cancelled, or had ended"},
	}
}

// MayBecome reports whether the table has a transition from s to the other state.
func (s BatchState) MayBecome(to BatchState) bool {
	return slices.ContainsFunc(BatchTransitions(), func(t Transition) bool { return t.From == string(s) && t.To == string(to) })
}

// Open reports whether something is left to do for the record.
func (s BatchState) Open() bool { return s == BatchMaking || s == BatchCancelling }

// Batch is the record of requests that were submitted together. All else follows from the requests: their ids are
// those between the batch's id and Last, one for each job, in order.
type Batch struct {
	ID          string     `json:"id"`
	Last        string     `json:"last"` // id of its last request
	Jobs        int        `json:"jobs"`
	Submitter   string     `json:"submitter"`
	Idempotency string     `json:"idempotency,omitempty"`
	Digest      string     `json:"digest"`       // of what was asked for: the same key with another digest is another batch
	Of          string     `json:"of,omitempty"` // the batch that it reruns
	Created     int64      `json:"created_ms"`   // ms since 1970
	State       BatchState `json:"state"`
	By          string     `json:"by,omitempty"`    // who cancelled it
	Specs       []Spec     `json:"specs,omitempty"` // of all its requests, until they are there
}

// Bounds of a batch.
const (
	MaxBatchJobs  = 1000
	MaxBatchBytes = 8 << 20 // encoded
)

// BatchFilter selects batches. A zero field matches every batch.
type BatchFilter struct {
	Submitter   string
	Idempotency string // of the Submitter, who must be named as well: at most one batch has it
	Before      string // batches with ids before this one (newest first): a page's cursor
	Limit       int    // 1 to 1000; 0 is 50
}

// Batches keeps the records of batches. Records come without Specs, except from OpenBatches.
type Batches interface {
	// CreateBatch makes a batch durable, in state making. If the submitter used the same idempotency key before, it
	// returns that batch and false. Returns CONFLICT if the id is taken.
	CreateBatch(ctx context.Context, b Batch) (Batch, bool, error)
	// GetBatch returns NOTFOUND for an unknown id.
	GetBatch(ctx context.Context, id string) (Batch, error)
	// ListBatches lists batches, newest first.
	ListBatches(ctx context.Context, f BatchFilter) ([]Batch, error)
	// OpenBatches lists batches with something left to do and with ids after the given one, in order of id.
	OpenBatches(ctx context.Context, after string, limit int) ([]Batch, error)
	// MoveBatch moves a batch from one state to another one, which drops the Specs unless it is cancelling; by says
	// who cancels it. Returns false if the batch is in another state,
	// CONFLICT if there is no such move.
	MoveBatch(ctx context.Context, id string, from, to BatchState, by string) (bool, error)
}

// NoBatch is the error for an unknown batch.
func NoBatch(id string) error {
	return Errorf(CodeNotFound, id, "there is no batch %.80q", id)
}

// BatchTaken is the error for an id that another batch has.
func BatchTaken(id string) error {
	return Errorf(CodeConflict, id, "the id %s belongs to another batch", id)
}
