package taskrunner

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"drover/core"
)

// Kind is a kind of task and its handler.
type Kind struct {
	Name string
	// Handle makes one try. It must return soon after ctx has ended, and may be run again from any point. Errors with
	// a code in final are not tried again.
	Handle      func(ctx context.Context, job *Job) (End, error)
	MaxAttempts int                              // failed tries after which a task is dead; 0 is the config's
	Retry       func(failures int) time.Duration // the pause after so many failures; nil is the config's
	Timeout     time.Duration                    // of one try; 0 is the config's
}

// End is the result of a successful try.
type End struct {
	Note     string         // for people: what was done
	Download *core.Download // the file that it made; may be nil
	Later    time.Duration  // above 0: it waits for others and continues after this time, no attempt used
}

// final are the errors for which another try is useless.
var final = []core.Code{core.CodeInvalid, core.CodeNotFound, core.CodeForbidden, core.CodeLimit}

// retryIn is a failure with the earliest time of the next try.
type retryIn struct {
	error
	wait time.Duration
}

// Unwrap returns the failure.
func (r *retryIn) Unwrap() error { return r.error }

// Job is one try of a task.
type Job struct {
	Task    core.Task
	Attempt int // 1 for the first; waiting for others does not count
	// Age is how long ago the task was made, by the clock that all hosts share.
	Age time.Duration

	teller *teller
}

// Args reads the task's arguments into a value that holds their defaults. Returns INVALID if they are unreadable or
// contain unknown names.
func (j *Job) Args(into any) error {
	if len(j.Task.Args) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(j.Task.Args))
	d.DisallowUnknownFields()
	return core.Wrap(d.Decode(into), core.CodeInvalid, j.Task.ID, "the arguments of task %s are not readable", j.Task.Kind)
}

// Progress reports how far the try has come; total 0 is not known, text is for people. It is cheap: call it at each
// step.
func (j *Job) Progress(done, total int64, text string) {
	if j.teller != nil {
		j.teller.say(core.TaskProgress{Done: max(done, 0), Total: max(total, 0), Text: clipTo(text, maxProgressText)})
	}
}
