package core

import (
	"context"
	"encoding/json"
	"time"
)

// TaskState is where a task is. Until its end the store says queued, and Redis has the exact state.
type TaskState string

// The task states.
const (
	TaskQueued     TaskState = "queued"
	TaskDelayed    TaskState = "delayed" // waits for its time, for the end of a pause after a failure, or for its children
	TaskRunning    TaskState = "running"
	TaskCancelling TaskState = "cancelling" // in a slot, and cancelled
	TaskDone       TaskState = "done"
	TaskDead       TaskState = "dead" // attempts used up, or another try would be useless
	TaskCancelled  TaskState = "cancelled"
)

// Terminal reports whether only a retry leaves s.
func (s TaskState) Terminal() bool {
	return s == TaskDone || s == TaskDead || s == TaskCancelled
}

// Task is background work that needs no VM.
type Task struct {
	ID         string          `json:"id"`
	Generation int             `json:"gen"` // 1 for the first; a retry by hand is the next
	Kind       string          `json:"kind"`
	Args       json.RawMessage `json:"args,omitempty"`
	Unique     string          `json:"unique,omitempty"`    // at most one unfinished task has this key
	Priority   Priority        `json:"priority"`            // "" is normal
	Lane       string          `json:"lane,omitempty"`      // lanes of a kind take turns; "" is the requester's
	Requester  string          `json:"requester,omitempty"` // handle; "" is drover itself
	About      string          `json:"about,omitempty"`     // the class, or class/assignment, whose staff may see it
	Parent     string          `json:"parent,omitempty"`    // id of the task that it is a part of
	NotBefore  int64           `json:"not_before_ms,omitempty"`
	Notify     []string        `json:"notify,omitempty"` // webhooks notified of its end
	Created    int64           `json:"created_ms"`

	State    TaskState     `json:"state"`
	Ended    int64         `json:"ended_ms,omitempty"`
	Note     string        `json:"note,omitempty"` // what it did, or why it is dead; for people
	Progress *TaskProgress `json:"progress,omitempty"`
	Failures []TaskFailure `json:"failures,omitempty"` // the last MaxTaskFailures, oldest first
	Download *Download     `json:"download,omitempty"` // the file that it made
}

// MaxTaskFailures bounds the failures that a task's row remembers.
const MaxTaskFailures = 8

// Key is the task's name in Redis.
func (t *Task) Key() string { return Key(t.ID, t.Generation) }

// TaskProgress is how far a task has come.
type TaskProgress struct {
	Done  int64  `json:"done"`
	Total int64  `json:"total"`          // 0: not known
	Text  string `json:"text,omitempty"` // what it is doing, for people
}

// TaskFailure is a failed try of a task.
type TaskFailure struct {
	Generation int    `json:"gen"`
	Attempt    int    `json:"attempt"`
	At         int64  `json:"at_ms"`
	Text       string `json:"text"`
}

// Download is a file that a task made for its requester.
type Download struct {
	Name    string `json:"name"` // under which a browser saves it
	Type    string `json:"type"` // such as application/zip
	Digest  string `json:"digest"`
	Size    int64  `json:"size"`
	Expires int64  `json:"expires_ms"` // ms since 1970; it may be deleted after that
}

// TaskEnd is how a generation of a task ended.
type TaskEnd struct {
	ID         string
	Generation int
	State      TaskState
	Note       string
	Progress   *TaskProgress
	Download   *Download
}

// TaskFilter selects tasks. A zero field matches every task.
type TaskFilter struct {
	States    []TaskState // queued, done, dead, cancelled: those that the store knows
	Kind      string
	Requester string
	Class     string // class of About, or of the assignment there
	Parent    string
	Lane      string
	Before    string // ids before this one, newest first: a page's cursor
	Limit     int    // 1 to 1000; 0 is 50
}

// TaskTally counts the children of a task by state.
type TaskTally struct {
	Total, Done, Dead, Cancelled int
}

// Open returns how many have not ended.
func (t TaskTally) Open() int { return t.Total - t.Done - t.Dead - t.Cancelled }

// TaskLedger is the durable side of tasks.
type TaskLedger interface {
	// CreateTask makes a task of generation 1 durable. It returns false if a task with the same Unique key waits
	// already, or if this very task was created before, whatever its state is now. Returns CONFLICT if the id belongs
	// to another task.
	CreateTask(ctx context.Context, t Task) (bool, error)
	// GetTask returns NOTFOUND for an unknown id.
	GetTask(ctx context.Context, id string) (Task, error)
	// EndTask records the end of a generation once; a later call returns false. A task with Notify is added to the
	// outbox. Returns NOTFOUND for an unknown id or generation.
	EndTask(ctx context.Context, e TaskEnd) (bool, error)
	// FailTask notes a failed try; a repeated call has no effect. Returns NOTFOUND like EndTask.
	FailTask(ctx context.Context, id string, f TaskFailure) error
	// RetryTask starts the next generation of a dead or cancelled task, created now, and keeps its failures. Returns
	// NOTFOUND; CONFLICT if the task is in another state or one with the same Unique key waits; LIMIT after
	// MaxGenerations.
	RetryTask(ctx context.Context, id string, now int64) (Task, error)
	// UnfinishedTasks lists tasks without an end and with ids after the given one, in order of id, for the sweep.
	UnfinishedTasks(ctx context.Context, after string, limit int) ([]Task, error)
	// ListTasks returns a page, newest first (by id).
	ListTasks(ctx context.Context, f TaskFilter) ([]Task, error)
	// CountChildren counts the tasks with this parent.
	CountChildren(ctx context.Context, parent string) (TaskTally, error)
}

// TaskClaim is a task in an owner's slot.
type TaskClaim struct {
	Task      Task
	Token     string
	Attempts  int    // failed tries so far
	Cancelled string // who cancelled it before it was claimed, so that it must end without being run; "" if nobody did
	Young     bool   // Redis' incarnation is young: its data may be an old copy, and the task may have ended
}

// TaskFinish ends a task's claim. With OutcomeRetry and OutcomeLater the task waits for Delay.
type TaskFinish struct {
	Key     string
	Token   string
	Outcome Outcome
	Delay   time.Duration
}

// TaskPlace says where in Redis a task is.
type TaskPlace struct {
	State    TaskState     `json:"state"` // queued, delayed, running, cancelling; "" if Redis does not have it
	Owner    string        `json:"owner,omitempty"`
	Since    int64         `json:"since_ms,omitempty"` // since when it is in the slot
	Due      int64         `json:"due_ms,omitempty"`   // when a delayed task is due
	Attempts int           `json:"attempts"`           // failed tries so far
	Progress *TaskProgress `json:"progress,omitempty"`
}

// TaskRate bounds how often tasks of a kind begin. Zero fields are no bound.
type TaskRate struct {
	Every time.Duration `json:"every_ns,omitempty"` // one task per this time, on average
	Burst int           `json:"burst,omitempty"`    // tasks that may begin at once after a rest; 0 is 1
	Most  int           `json:"most,omitempty"`     // tasks running at once in the whole cluster
}

// TaskQueueInfo counts waiting tasks of a kind and priority.
type TaskQueueInfo struct {
	Kind     string   `json:"kind"`
	Priority Priority `json:"priority"`
	Waiting  int      `json:"waiting"`
	Lanes    int      `json:"lanes"`
	Rate     TaskRate `json:"rate"`
	Next     int64    `json:"next_ms,omitempty"` // when the rate lets the next task begin; 0 is now
}

// Tasks is the queue of tasks.
type Tasks interface {
	// EnqueueTask queues an accepted task, or holds it until its time. A task that Redis already has is left as it is.
	// Returns ENDED for one that ended recently.
	EnqueueTask(ctx context.Context, t Task) error
	// ExchangeTasks finishes and claims in one script; lane and seq as in Exchange.
	ExchangeTasks(ctx context.Context, x TaskExchange) (TaskExchanged, error)
	// ProgressTask reports how far a task in a slot has come. The next report, or the end, follows within limit.
	// Returns STALE if the token is not the slot's.
	ProgressTask(ctx context.Context, owner string, epoch int64, key, token string, p TaskProgress, limit time.Duration) error
	// WaitTask returns when something is cancelled for owner, when the owner is idle and there may be a task, or
	// after poll. It is only a hint: callers must poll. An owner that is not idle must not take a ring meant for
	// others.
	WaitTask(ctx context.Context, owner string, idle bool, poll time.Duration) error
	// WakeTask queues a delayed task at once. It is only a hint; a task that is not delayed is left as it is.
	WakeTask(ctx context.Context, key string) error
	// CancelTask marks a task as cancelled: a claim then does not run it, and its owner stops it. Returns where the
	// task was.
	CancelTask(ctx context.Context, key, by string) (TaskPlace, error)
	// WithdrawTask removes a waiting or delayed task whose end is recorded in the
	// store. Returns false if it is neither.
	WithdrawTask(ctx context.Context, key string) (bool, error)
	// PresentTasks reports for each of the keys whether Redis has it anywhere.
	PresentTasks(ctx context.Context, keys []string) ([]bool, error)
	// LocateTasks returns the places of tasks.
	LocateTasks(ctx context.Context, keys []string) ([]TaskPlace, error)
	// SetTaskRates sets the rates of kinds for the whole cluster; kinds that are not named have none. If one rate is
	// INVALID, nothing is set. Setting the same rates again changes nothing.
	SetTaskRates(ctx context.Context, rates map[string]TaskRate) error
	// TaskQueues counts the tasks in queues, without delayed ones.
	TaskQueues(ctx context.Context) ([]TaskQueueInfo, error)
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

// TaskExchanged is the answer to a TaskExchange.
type TaskExchanged struct {
	Finished  []bool
	Claims    []TaskClaim
	Cancelled map[string]string // cancelled keys in its slots → who cancelled them
	Slots     int               // slots that Redis has for the owner now
	Next      time.Duration     // if no task could be claimed: time until a rate or a delay lets the next one begin; 0 if there is none
}
