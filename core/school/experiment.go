package school

import (
	"cmp"

	"drover/core"
)

// ExperimentState is how far an experiment has come. An assignment has at most one that is neither applied nor
// aborted. Package core/classes/experiment describes what a crash between two steps leaves and how it is repaired. If
// an apply or abort is interrupted, any later call continues it.
type ExperimentState string

// The states of an experiment.
const (
	ExperimentRunning  ExperimentState = "running"
	ExperimentReady    ExperimentState = "ready" // waits to be applied or aborted
	ExperimentApplying ExperimentState = "applying"
	ExperimentApplied  ExperimentState = "applied"
	ExperimentAborted  ExperimentState = "aborted"
)

// Decided reports whether the experiment was applied or aborted.
func (s ExperimentState) Decided() bool { return s == ExperimentApplied || s == ExperimentAborted }

// Experiment is a rerun of an assignment whose results count only after somebody has applied them. Its id is that of
// the task that runs it.
type Experiment struct {
	ID         string          `json:"id"`
	Class      string          `json:"class"`
	Assignment string          `json:"assignment"`
	Harness    *Harness        `json:"harness,omitempty"` // the harness to try; nil is the assignment's own
	Users      []string        `json:"users,omitempty"`   // whose newest submissions are run; empty: all users'
	Repeat     int             `json:"repeat"`            // runs of each submission; more than one reveals flaky tests
	Requests   int             `json:"requests"`          // requests in all; 0 until they are counted
	State      ExperimentState `json:"state"`
	By         string          `json:"by"`
	Created    int64           `json:"created_ms"`
	DecidedBy  string          `json:"decided_by,omitempty"`
	Decided    int64           `json:"decided_ms,omitempty"`
	Revision   int64           `json:"revision"`
}

// ExperimentAssignment is the name of the assignment in an experiment's requests. By it the requests are found, and
// do not count for the real assignment.
func ExperimentAssignment(id string) string { return "experiment:" + id }

// The bounds of experiments.
const (
	MaxExperimentUsers = 2000 // that one may name
	MaxRepeat          = 10   // runs of a submission
)

// Check returns INVALID or LIMIT. A harness is checked where it is read, in core/harness.
func (e Experiment) Check() error {
	if err := core.CheckNames("experiment id", e.ID, "class", e.Class, "assignment", e.Assignment, "user", e.By); err != nil {
		return err
	}
	switch e.State {
	case ExperimentRunning, ExperimentReady, ExperimentApplying, ExperimentApplied, ExperimentAborted:
	default:
		return core.Errorf(core.CodeInvalid, e.ID, "experiment %s has the state %.40q, which is none", e.ID, e.State)
	}
	if e.Repeat < 1 || e.Repeat > MaxRepeat {
		return core.Errorf(core.CodeInvalid, e.ID, "experiment %s runs each submission %d times: use 1 to %d", e.ID, e.Repeat, MaxRepeat)
	}
	if len(e.Users) > MaxExperimentUsers {
		return core.Errorf(core.CodeLimit, e.ID, "experiment %s names %d users, at most %d are allowed: name none for everybody", e.ID, len(e.Users), MaxExperimentUsers)
	}
	if e.Requests < 0 {
		return core.Errorf(core.CodeInvalid, e.ID, "experiment %s makes %d requests, which cannot be", e.ID, e.Requests)
	}
	for _, user := range e.Users {
		if err := core.CheckName("user", user); err != nil {
			return err
		}
	}
	return cmp.Or(core.CheckOptional("user", e.DecidedBy), core.CheckTimes(e.ID, e.Created, e.Decided))
}
