package intake

import (
	"context"
	"slices"

	"drover/core"
)

// CheckType checks a job type, and that a request which says no more than its name is one that its pool can run,
// unless the type leaves open what is run. Returns core.Faults by the type's fields, with the code of the first:
// INVALID, LIMIT, NOTFOUND for its pool or harness; or UNAVAILABLE.
func (in *Intake) CheckType(ctx context.Context, t core.JobType) error {
	if err := t.CheckBytes(); err != nil {
		return err
	}
	faults := t.Check()
	s := core.Spec{Type: t.Name, Submitter: platform}
	_ = t.Apply(&s) // it exceeds nothing: it says nothing
	if len(s.Command) == 0 && s.Harness == nil {
		s.Command, s.Input = []string{"true"}, nil // a request says what is run
	}
	c := checking{in: in}
	s, more, err := c.spec(ctx, s)
	if err != nil {
		return err
	}
	for _, f := range more {
		if !slices.ContainsFunc(faults, func(had core.Fault) bool { return had.Field == f.Field }) {
			faults = append(faults, f)
		}
	}
	if len(faults) == 0 {
		switch err := in.checkBlobs(ctx, &s); {
		case faulty(err):
			faults = core.Faults{{Field: "harness", Err: err}}
		case err != nil:
			return err
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return core.Wrap(faults, core.CodeOf(faults.First()), t.Name, "job type %.80s cannot be set", t.Name)
}
