package core

import (
	"context"
	"encoding/json"
	"time"
)

// TaskState is where a task is. Until its end the store says queued, and Redis where.
type TaskState string

// The task states.
const (
	TaskQueued     TaskState = "queued"
	TaskDelayed    TaskState = "delayed" // until its time, the pause after a failure, or its children
	TaskRunning    TaskState = "running"
	TaskCancelling TaskState = "cancelling" // in a slot, somebody asked to stop it
	TaskDone       TaskState = "done"
	TaskDead       TaskState = "dead" // attempts used up, or trying again is no use
	TaskCancelled  TaskState = "cancelled"
)

// Terminal reports whether nothing but a retry leaves s.
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
	Notify     []string        `json:"notify,omitempty"` // webhooks that are told of its end
	Created    int64           `json:"created_ms"`

	State    TaskState     `json:"state"`
	Ended    int64         `json:"ended_ms,omitempty"`
	Note     string        `json:"note,omitempty"` // what it did, or why it is dead
	Progress *TaskProgress `json:"progress,omitempty"`
	Failures []TaskFailure `json:"failures,omitempty"` // the last MaxTaskFailures, oldest first
	Download *Download     `json:"download,omitempty"` // what it made
}

// MaxTaskFailures bounds the failures that a task's row remembers.
const MaxTaskFailures = 8

// Key is the task's name in Redis.
func (t *Task) Key() string { return Key(t.ID, t.Generation) }

// TaskProgress is how far a task is.
type TaskProgress struct {
	Done  int64  `json:"done"`
	Total int64  `json:"total"`          // 0: not known
	Text  string `json:"text,omitempty"` // what it is at, for people
}

// TaskFailure is a try that ended badly.
type TaskFailure struct {
	Generation int    `json:"gen"`
	Attempt    int    `json:"attempt"`
	At         int64  `json:"at_ms"`
	Text       string `json:"text"`
}

// Download is a file that a task made for its requester.
type Download struct {
	Name    string `json:"name"` // that a browser saves it as
	Type    string `json:"type"` // such as application/zip
	Digest  string `json:"digest"`
	Size    int64  `json:"size"`
	Expires int64  `json:"expires_ms"` // from then on it may be gone
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

// TaskFilter selects tasks. Zero fields do not select.
type TaskFilter struct {
	States    []TaskState // queued, done, dead, cancelled: what the store knows
	Kind      string
	Requester string
	Class     string // of About, or of an assignment there
	Parent    string
	Lane      string
	Before    string // ids before this one, newest first: a page's cursor
	Limit     int    // 1 to 1000; 0 is 50
}

// TaskTally counts the children of a task by state.
type TaskTally struct {
	Total, Done, Dead, Cancelled int
}

// Open is how many have not ended.
func (t TaskTally) Open() int { return t.Total - t.Done - t.Dead - t.Cancelled }

// TaskLedger is the durable side of tasks.
type TaskLedger interface {
	// CreateTask makes a task of generation 1 durable; a unique task that waits already
	// returns false, and so does the same task again, whenever it was made and whatever
	// became of it. Returns CONFLICT if the id is another task's.
	CreateTask(ctx context.Context, t Task) (bool, error)
	// GetTask returns NOTFOUND for an unknown id.
	GetTask(ctx context.Context, id string) (Task, error)
	// EndTask records a generation's end once; a later call returns false. Returns
	// NOTFOUND for an unknown id or generation. A task with Notify gets into the outbox.
	EndTask(ctx context.Context, e TaskEnd) (bool, error)
	// FailTask notes a try that ended badly, the very same one once. Returns NOTFOUND as EndTask.
	FailTask(ctx context.Context, id string, f TaskFailure) error
	// RetryTask starts the next generation of a dead or cancelled task, created now, and
	// keeps its failures. Returns NOTFOUND; CONFLICT if it is neither, or if a unique
	// task like it waits; LIMIT after too many.
	RetryTask(ctx context.Context, id string, now int64) (Task, error)
	// UnfinishedTasks lists tasks without an end and with ids after the given one,
	// in order of id: the sweeper's cursor.
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
	Attempts  int    // tries that ended badly so far
	Cancelled string // who asked to stop it before it was claimed; "" if nobody: it is to end without being run
	Young     bool   // Redis' incarnation is young: it may have been set back, and the task have ended
}

// TaskFinish ends a task's claim. With OutcomeRetry and OutcomeLater it waits Delay.
type TaskFinish struct {
	Key     string
	Token   string
	Outcome Outcome
	Delay   time.Duration
}

// TaskPlace says where Redis has a task.
type TaskPlace struct {
	State    TaskState     `json:"state"` // queued, delayed, running, cancelling; "" if Redis does not have it
	Owner    string        `json:"owner,omitempty"`
	Since    int64         `json:"since_ms,omitempty"` // in the slot
	Due      int64         `json:"due_ms,omitempty"`   // of a delayed one
	Attempts int           `json:"attempts"`           // tries that ended badly so far
	Progress *TaskProgress `json:"progress,omitempty"`
}

// TaskRate bounds how often tasks of a kind begin. Zero fields bound nothing.
type TaskRate struct {
	Every time.Duration `json:"every_ns,omitempty"` // one per this time, on average
	Burst int           `json:"burst,omitempty"`    // that may begin at once after a rest; 0 is 1
	Most  int           `json:"most,omitempty"`     // in hand at once, in the whole cluster
}

// TaskQueueInfo counts waiting tasks of a kind and class.
type TaskQueueInfo struct {
	Kind     string   `json:"kind"`
	Priority Priority `json:"priority"`
	Waiting  int      `json:"waiting"`
	Lanes    int      `json:"lanes"`
	Rate     TaskRate `json:"rate"`
	Next     int64    `json:"next_ms,omitempty"` // when the rate lets the next one begin; 0 is now
}

// Tasks is the queue of tasks.
type Tasks interface {
	// EnqueueTask queues an accepted task, or holds it until its time; one that Redis
	// has, or that ended lately, stays as it is.
	EnqueueTask(ctx context.Context, t Task) error
	// ExchangeTasks finishes and claims in one script; lane and seq as in Exchange.
	ExchangeTasks(ctx context.Context, x TaskExchange) (TaskExchanged, error)
	// ProgressTask tells how far a task in a slot is, and that its owner will be heard of
	// again within limit. Returns STALE if the token is not the slot's.
	ProgressTask(ctx context.Context, owner string, epoch int64, key, token string, p TaskProgress, limit time.Duration) error
	// WaitTask returns when something is cancelled for owner, when a task may be there
	// if the owner is idle, or after poll. It is a hint: the poll is the truth. An owner that
	// is not idle must not take a ring meant for others.
	WaitTask(ctx context.Context, owner string, idle bool, poll time.Duration) error
	// WakeTask lets a delayed task go at once. It is a hint: one that is not delayed stays as it is.
	WakeTask(ctx context.Context, key string) error
	// CancelTask marks a task: a claim then does not run it, and its owner stops it. The place is where it was.
	CancelTask(ctx context.Context, key, by string) (TaskPlace, error)
	// WithdrawTask removes a waiting or delayed task whose end is recorded in the
	// store. Returns false if it is neither.
	WithdrawTask(ctx context.Context, key string) (bool, error)
	// PresentTasks says which keys Redis has anywhere.
	PresentTasks(ctx context.Context, keys []string) ([]bool, error)
	// LocateTasks says where tasks are.
	LocateTasks(ctx context.Context, keys []string) ([]TaskPlace, error)
	// SetTaskRates sets the rates of kinds for the whole cluster, all or, if one is INVALID, none;
	// other kinds have none. The same rates again change nothing.
	SetTaskRates(ctx context.Context, rates map[string]TaskRate) error
	// TaskQueues counts what waits in queues; what is delayed is not there.
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

// TaskExchanged is its answer.
type TaskExchanged struct {
	Finished  []bool
	Claims    []TaskClaim
	Cancelled map[string]string // keys in its slots that somebody cancelled → who
	Slots     int               // how many slots Redis has for the owner now
	Next      time.Duration     // until a rate or a delay lets the next task begin, where nothing could; 0 if nothing waits for that
}
