package intake

import (
	"context"
	"slices"

	"drover/core"
)

// FailBegun ends a waiting request as failed if it was begun before and so must not run again. A claim of it comes to the
// same end. A request that is not there or has ended is left as it is.
func (in *Intake) FailBegun(ctx context.Context, id string) error {
	row, err := in.Store.Get(ctx, id)
	if core.Is(err, core.CodeNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = in.unbegun(ctx, []core.Spec{row.Spec})
	return err
}

// unbegun ends those of the specs that were begun before, and returns the others. None of them runs. A claim of one that
// comes in between does not run it either, so nothing has to mark it first, by which it would end as cancelled.
func (in *Intake) unbegun(ctx context.Context, specs []core.Spec) ([]core.Spec, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	begun, err := in.Store.BegunRequests(ctx, keys(specs))
	if err != nil {
		return nil, err
	}
	over := pick(specs, func(i int) bool { return begun[specs[i].Key()] != "" })
	err = each(over, func(spec core.Spec) error {
		by := begun[spec.Key()]
		result := in.end(spec, core.RequestFailed, core.BlamePlatform, core.BegunReason("its claim by "+by+" was lost"))
		if _, err := in.Store.Record(ctx, result); err != nil {
			return err
		}
		_, err := in.Queue.Withdraw(ctx, spec.Key())
		return err
	})
	rest := slices.DeleteFunc(slices.Clone(specs), func(s core.Spec) bool { return begun[s.Key()] != "" })
	return rest, gather("not all that were begun before could be ended", err)
}
