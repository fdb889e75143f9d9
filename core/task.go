package core

import (
	"context"
	"encoding/json"
	"time"
)

// TaskState is where a task is.
type TaskState string

// The task states.
const (
	TaskQueued TaskState = "queued"
	TaskDone   TaskState = "done"
	TaskDead   TaskState = "dead" // attempts used up
)

// KindPurge is the kind of task that deletes finished work past its retention,
// and then files that nothing names any more.
const KindPurge = "purge"

// PurgeArgs are the arguments of a purge.
type PurgeArgs struct {
	Keep time.Duration `json:"keep_ns"` // how long finished work stays
}

// Task is background work that needs no VM.
type Task struct {
	ID      string          `json:"id"`
	Kind    string          `json:"kind"`
	Args    json.RawMessage `json:"args,omitempty"`
	Unique  string          `json:"unique,omitempty"` // at most one unfinished task has this key
	Created int64           `json:"created_ms"`
	State   TaskState       `json:"state"`
	Ended   int64           `json:"ended_ms,omitempty"`
	Note    string          `json:"note,omitempty"` // why it is dead, or what it did
}

// TaskClaim is a task in an owner's slot.
type TaskClaim struct {
	Task     Task
	Token    string
	Attempts int // tries that ended badly so far
}

// TaskFinish ends a task's claim. Retry waits Delay before the next try.
type TaskFinish struct {
	ID      string
	Token   string
	Outcome Outcome
	Delay   time.Duration
}

// Tasks is the queue of tasks.
type Tasks interface {
	// EnqueueTask queues an accepted task; one that Redis has stays as it is.
	EnqueueTask(ctx context.Context, t Task) error
	// ExchangeTasks finishes and claims in one script; lane and seq as in Exchange.
	ExchangeTasks(ctx context.Context, x TaskExchange) (TaskExchanged, error)
	// WaitTask returns when a task may be there, or after poll.
	WaitTask(ctx context.Context, poll time.Duration) error
	// PresentTasks says which ids Redis has anywhere.
	PresentTasks(ctx context.Context, ids []string) ([]bool, error)
}

// TaskExchange is one call of a taskrunner.
type TaskExchange struct {
	Owner     string
	Epoch     int64
	Lane      int
	Seq       int64
	Finish    []TaskFinish
	Want      int
	TokenBase int64
	Beat      time.Duration
}

// TaskExchanged is its answer.
type TaskExchanged struct {
	Finished []bool
	Claims   []TaskClaim
}
