package intake

import (
	"context"

	"drover/core"
)

// CheckType checks a job type, and that a request which says no more than its name is one that its pool can run,
// unless the type leaves open what is run. Returns INVALID, LIMIT, NOTFOUND for its pool or harness, UNAVAILABLE.
func (in *Intake) CheckType(ctx context.Context, t core.JobType) error {
	if err := t.Check(); err != nil {
		return err
	}
	if len(t.Command) > 0 && t.Harness != nil {
		return core.Errorf(core.CodeInvalid, t.Name, "job type %s has both a command and a harness: remove one", t.Name)
	}
	if t.Harness == nil && len(t.Input) > 0 {
		return core.Errorf(core.CodeInvalid, t.Name, "job type %s has an input, but no harness that reads it", t.Name)
	}
	if t.Harness != nil && len(t.Collect) > 0 {
		return core.Errorf(core.CodeInvalid, t.Name, "job type %s collects files, which only commands leave, and has a harness", t.Name)
	}
	s := core.Spec{Type: t.Name, Submitter: platform}
	if err := t.Apply(&s).First(); err != nil {
		return err
	}
	if len(s.Command) == 0 && s.Harness == nil {
		s.Command = []string{"true"} // a request says what is run
	}
	_, err := in.Check(ctx, s)
	return err
}
