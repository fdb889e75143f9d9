package core

import "slices"

// MaxGenerations bounds reruns of one request and retries of one task, and the attempts that a
// history shows.
const MaxGenerations = 250

// CheckGeneration returns NOTFOUND unless the request or task (what names which) has had the generation.
func CheckGeneration(what, id string, generation, current int) error {
	if generation >= 1 && generation <= current {
		return nil
	}
	return Errorf(CodeNotFound, id, "%s %s has no generation %d, its current one is %d", what, id, generation, current)
}

// Again returns the next generation of a request that is in the given state, with a new time of submission. Returns
// CONFLICT if the state is not terminal, LIMIT after MaxGenerations.
func (s Spec) Again(state RequestState, submitted int64) (Spec, error) {
	switch {
	case !state.Terminal():
		return Spec{}, Errorf(CodeConflict, s.ID, "request %s has not ended yet: wait for its end or cancel it, then run it again", s.ID)
	case s.Generation >= MaxGenerations:
		return Spec{}, Errorf(CodeLimit, s.ID, "request %s was run again %d times, the most there may be: submit it anew", s.ID, s.Generation)
	}
	s.Generation++
	s.Submitted, s.Change = submitted, 0
	return s, nil
}

// End ends the current generation of a task. Returns false if that has ended already, or if e is the end of another
// generation.
func (t *Task) End(e TaskEnd, now int64) bool {
	if e.Generation < t.Generation || t.State.Terminal() {
		return false
	}
	t.State, t.Ended, t.Note = e.State, now, e.Note
	t.Progress, t.Download = e.Progress, e.Download
	return true
}

// Fail notes a failure of a task and drops the oldest ones. Returns false if the failure is noted already.
func (t *Task) Fail(f TaskFailure) bool {
	if slices.Contains(t.Failures, f) {
		return false
	}
	t.Failures = append(t.Failures, f)
	t.Failures = t.Failures[max(0, len(t.Failures)-MaxTaskFailures):]
	return true
}

// Retry starts the next generation of a task. Returns INVALID, CONFLICT or LIMIT.
func (t *Task) Retry(now int64) error {
	switch {
	case now < 0:
		return Errorf(CodeInvalid, t.ID, "task %s cannot be retried before 1970 (%d ms)", t.ID, now)
	case t.State == TaskDone:
		return Errorf(CodeConflict, t.ID, "task %s is done: submit a new one", t.ID)
	case !t.State.Terminal():
		return Errorf(CodeConflict, t.ID, "task %s has not ended yet: wait for its end or cancel it, then retry it", t.ID)
	case t.Generation >= MaxGenerations:
		return Errorf(CodeLimit, t.ID, "task %s was retried %d times, the most there may be: submit a new one", t.ID, t.Generation)
	}
	t.Generation++
	t.Created, t.State, t.Ended, t.Note, t.Progress, t.Download = now, TaskQueued, 0, "", nil, nil
	return nil
}
