package classes

import (
	"context"
	"fmt"

	"drover/core"
)

// CancelSubmission stops the tests of a submission in any state, and returns the state of its request; the submission
// stays. Returns NOTFOUND, FORBIDDEN, CONFLICT for a submission that is not graded, ENDED if its tests have ended.
func (r *Service) CancelSubmission(ctx context.Context, a core.Actor, id string) (core.RequestState, error) {
	s, as, err := r.submission(ctx, a, id, core.ActSubmissionRerun)
	if err != nil {
		return "", err
	}
	if s.Request == "" {
		return "", core.Errorf(core.CodeConflict, id, "submission %s has no test request", id)
	}
	var state core.RequestState
	text := fmt.Sprintf("stops the tests of submission %s of %s to %s", id, s.User, as.Name())
	err = r.change(ctx, a, aboutUser(core.ActSubmissionRerun, as, s.User, text), func() (err error) {
		state, err = r.Intake.Cancel(ctx, s.Request, a.Handle)
		return err
	})
	return state, err
}
