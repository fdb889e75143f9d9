package school

// ExperimentState is how far an experiment is. An assignment has at most one that is
// neither applied nor aborted. What a crash leaves between two steps, and who mends it,
// stands in core/classes/experiment; its moves stand in Transitions. What an apply or an abort left
// undone any other goes on with.
type ExperimentState string

// The states of an experiment.
const (
	ExperimentRunning  ExperimentState = "running"
	ExperimentReady    ExperimentState = "ready" // to be applied or aborted
	ExperimentApplying ExperimentState = "applying"
	ExperimentApplied  ExperimentState = "applied"
	ExperimentAborted  ExperimentState = "aborted"
)

// Decided reports whether nothing is to be done about it any more.
func (s ExperimentState) Decided() bool { return s == ExperimentApplied || s == ExperimentAborted }

// Experiment is a rerun of an assignment whose results count only once somebody
// has applied them. Its id is that of the task that makes it.
type Experiment struct {
	ID         string          `json:"id"`
	Class      string          `json:"class"`
	Assignment string          `json:"assignment"`
	Harness    *Harness        `json:"harness,omitempty"` // that is tried; nil is the assignment's own
	Users      []string        `json:"users,omitempty"`   // only theirs; empty is the newest submission of every user
	Repeat     int             `json:"repeat"`            // runs of each submission: more than one tells flaky tests
	Requests   int             `json:"requests"`          // that it makes; 0 until they are counted
	State      ExperimentState `json:"state"`
	By         string          `json:"by"`
	Created    int64           `json:"created_ms"`
	DecidedBy  string          `json:"decided_by,omitempty"`
	Decided    int64           `json:"decided_ms,omitempty"`
	Revision   int64           `json:"revision"`
}

// ExperimentAssignment is what the requests of an experiment name as their assignment,
// so that they are found by it and count for nothing else.
func ExperimentAssignment(id string) string { return "experiment:" + id }
