package core

// Change is what can change of a request while it waits. All changes of a generation are kept, by their numbers: 0 is
// what was submitted. A spec and a result name the number that they are from, so that the result store can always
// tell what ran.
type Change struct {
	At       int64    `json:"at_ms,omitempty"` // ms since 1970; 0 for the submission
	By       string   `json:"by,omitempty"`
	Pool     string   `json:"pool"`
	Priority Priority `json:"priority"`
	Limits   Limits   `json:"limits"`
}

// MaxChanges bounds the changes of one generation of a request.
const MaxChanges = 32

// With returns the spec with a change of the given number.
func (s Spec) With(number int, c Change) Spec {
	s.Change, s.Pool, s.Priority, s.Limits = number, c.Pool, c.Priority, c.Limits
	return s
}

// Changed returns the spec with one more change, and all that are then kept of it. Returns LIMIT after MaxChanges.
func (s Spec) Changed(kept []Change, c Change) (Spec, []Change, error) {
	if len(kept) == 0 {
		kept = []Change{{Pool: s.Pool, Priority: s.Priority, Limits: s.Limits}}
	}
	if len(kept) > MaxChanges {
		return s, nil, Errorf(CodeLimit, s.ID, "request %s was changed %d times, the most there may be: cancel it and submit it anew", s.ID, MaxChanges)
	}
	return s.With(len(kept), c), append(kept, c), nil
}

// Use returns the spec with one of the changes that are kept of it. Returns INVALID if that is not kept.
func (s Spec) Use(kept []Change, number int) (Spec, error) {
	if number < 0 || number >= len(kept) {
		return s, Errorf(CodeInvalid, s.ID, "request %s has no change %d", s.ID, number)
	}
	return s.With(number, kept[number]), nil
}

// CheckChange returns CONFLICT unless a request in this state, with this spec, can be changed by somebody who read it
// as was.
func (s Spec) CheckChange(state RequestState, was Spec) error {
	switch {
	case s.Generation != was.Generation || state.Terminal():
		return Errorf(CodeConflict, s.ID, "request %s has ended: only a waiting one can be changed", s.ID)
	case s.Change != was.Change:
		return Errorf(CodeConflict, s.ID, "request %s was changed by somebody else at the same time: look at it and try again", s.ID)
	}
	return nil
}

// BeingRemoved is the error of a change of a request that is marked as to be removed.
func BeingRemoved(id string) error {
	return Errorf(CodeConflict, id, "request %s is being deleted: submit it anew instead", id)
}

// OfSubmission is the error of the removal of a request on its own that belongs to a submission.
func OfSubmission(id string) error {
	return Errorf(CodeConflict, id, "request %s tests a submission, and stays as long as that: cancel it, or delete the assignment", id)
}
