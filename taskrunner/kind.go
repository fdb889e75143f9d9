package taskrunner

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"drover/core"
)

// Kind is a kind of task and how it is done.
type Kind struct {
	Name string
	// Handle is one try. It must return soon after ctx has ended, and bear being run
	// again from any point. Errors with a code that final names are not tried again.
	Handle      func(ctx context.Context, job *Job) (End, error)
	MaxAttempts int                              // tries that end badly until a task is dead; 0 is the config's
	Retry       func(failures int) time.Duration // the pause after so many of them; nil is the config's
	Timeout     time.Duration                    // of one try; 0 is the config's
}

// End is how a try that went well ended.
type End struct {
	Note     string         // for people: what was done
	Download *core.Download // what it made; nil for nothing
	Later    time.Duration  // above 0: it waits for others and goes on after this time, no attempt used
}

// final are the errors that trying again does not mend.
var final = []core.Code{core.CodeInvalid, core.CodeNotFound, core.CodeForbidden, core.CodeLimit}

// retryIn is a failure of which it is known when to try again at the soonest.
type retryIn struct {
	error
	wait time.Duration
}

// Unwrap returns the failure.
func (r *retryIn) Unwrap() error { return r.error }

// Job is one try of a task.
type Job struct {
	Task    core.Task
	Attempt int // 1 for the first; waiting for others is no attempt
	// Age is how long ago the task was made, by the clock that all hosts share.
	Age time.Duration

	teller *teller
}

// Args reads the task's arguments into what holds their defaults. Returns INVALID
// if they are not readable or hold something unknown.
func (j *Job) Args(into any) error {
	if len(j.Task.Args) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(j.Task.Args))
	d.DisallowUnknownFields()
	return core.Wrap(d.Decode(into), core.CodeInvalid, j.Task.ID, "the arguments of task %s are not readable", j.Task.Kind)
}

// Progress says how far the try is; total 0 is not known, text is for people. It
// costs little: call it for each step.
func (j *Job) Progress(done, total int64, text string) {
	if j.teller != nil {
		j.teller.say(core.TaskProgress{Done: max(done, 0), Total: max(total, 0), Text: clipTo(text, maxProgressText)})
	}
}
