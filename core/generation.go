package core

import "slices"

// MaxGenerations bounds reruns of one request and retries of one task, and the attempts that a
// history shows.
const MaxGenerations = 250

// CheckGeneration returns NOTFOUND unless a request or task, as what says, has had a generation.
func CheckGeneration(what, id string, generation, current int) error {
	if generation >= 1 && generation <= current {
		return nil
	}
	return Errorf(CodeNotFound, id, "%s %s has no generation %d, its current one is %d", what, id, generation, current)
}

// Again returns the next generation of a request that has come to a state, submitted at a time.
// Returns CONFLICT if that is no end, LIMIT after MaxGenerations.
func (s Spec) Again(state RequestState, submitted int64) (Spec, error) {
	switch {
	case !state.Terminal():
		return Spec{}, Errorf(CodeConflict, s.ID, "request %s has not ended yet: wait for its end or cancel it, then run it again", s.ID)
	case s.Generation >= MaxGenerations:
		return Spec{}, Errorf(CodeLimit, s.ID, "request %s was run again %d times, the most there may be: submit it anew", s.ID, s.Generation)
	}
	s.Generation++
	s.Submitted = submitted
	return s, nil
}

// End ends the current generation of a task. Returns false if it has ended, or the end is another
// generation's.
func (t *Task) End(e TaskEnd, now int64) bool {
	if e.Generation < t.Generation || t.State.Terminal() {
		return false
	}
	t.State, t.Ended, t.Note = e.State, now, e.Note
	t.Progress, t.Download = e.Progress, e.Download
	return true
}

// Fail notes a failure of a task, and forgets old ones. Returns false if it is noted already.
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
