package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"drover/core"
	"drover/core/harness"
	"drover/core/school"

	"github.com/oklog/ulid/v2"
)

// Submitter is the user on whose behalf the requests of a class's experiments run: one for all, so that they take a
// single turn among those of people.
func Submitter(class string) string {
	name := "experiment-" + class
	if len(name) <= core.MaxNameLen {
		return name
	}
	sum := sha256.Sum256([]byte(class))
	return "experiment-" + hex.EncodeToString(sum[:16])
}

// PartID names the task that makes a run of a submission.
func PartID(id, submission string, run int) string {
	return fmt.Sprintf("%s-%s-%d", id, submission, run)
}

// RequestID names the request of a run. It is derived from the run, so that making the request twice makes one.
func RequestID(id, submission string, run int) string {
	sum := sha256.Sum256([]byte(onceKey(id, submission, run)))
	var u ulid.ULID
	if whole, err := ulid.ParseStrict(strings.ToUpper(id)); err == nil {
		_ = u.SetTime(whole.Time()) // a time from such an id is valid
	}
	_ = u.SetEntropy(sum[:10]) // has the required length
	return strings.ToLower(u.String())
}

func onceKey(id, submission string, run int) string {
	return fmt.Sprintf("%s/%s/%d", id, submission, run)
}

// Request returns the request for a run of a submission. It equals the submission's first grading, but with the
// harness under trial and the present settings of the assignment, of low priority, superseding nothing and notifying
// nobody. The assignment has the deadlines of the submission's user. Returns INVALID if there is no harness.
func Request(e school.Experiment, as school.Assignment, s school.Submission, run int) (core.Spec, error) {
	if e.Harness != nil {
		as.Harness = e.Harness
	}
	if as.Harness == nil || as.Pool == "" {
		return core.Spec{}, core.Errorf(core.CodeInvalid, as.Name(), "assignment %s has no harness or no pool any more: there is nothing to rerun it by", as.Name())
	}
	spec := harness.Grading(as, s)
	spec.ID, spec.Submitter, spec.Priority = RequestID(e.ID, s.ID, run), Submitter(e.Class), core.PriorityLow
	spec.Assignment, spec.Idempotency, spec.Instead = school.ExperimentAssignment(e.ID), onceKey(e.ID, s.ID, run), s.Request
	return spec, nil
}
