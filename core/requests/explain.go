package requests

import (
	"context"
	"slices"

	"drover/core"
	"drover/core/harness/explain"
)

// faultsRead bounds the changes of state in which the ends of earlier attempts are looked for.
const faultsRead = 200

// Explain says in sentences how the result of a request came about. Returns NOTFOUND, CONFLICT if it has not ended.
func (d *Service) Explain(ctx context.Context, a core.Actor, id string) ([]explain.Line, error) {
	row, err := d.row(ctx, a, id, core.ActRequestView)
	if err != nil {
		return nil, err
	}
	if row.Result == nil {
		return nil, core.Errorf(core.CodeConflict, id, "request %s has not ended: there is no result to explain yet", id)
	}
	of := explain.About{Grading: row.Spec.Harness != nil, Hidden: row.Spec.Grades() && !teaches(a, &row.Spec)}
	if row.Result.Attempt > 1 {
		if of.Faults, err = d.faults(ctx, row.Spec.Key(), watches(a)); err != nil {
			return nil, err
		}
	}
	v := viewOf(row)
	conceal(a, &row.Spec, &v)
	return explain.Result(&v.Result, of), nil
}

// faults returns why attempts of a request ended without a result, oldest first, as far as the history has it. Owners and
// reasons name machines.
func (d *Service) faults(ctx context.Context, key string, machines bool) ([]explain.Fault, error) {
	changes, err := d.Store.StateChanges(ctx, core.StateChangeFilter{Kind: core.EntityRequest, Thing: key, Limit: faultsRead})
	if err != nil {
		return nil, err
	}
	var all []explain.Fault
	for i := range slices.Backward(changes) {
		c := &changes[i]
		if !core.Outcome(c.How).Fault() {
			continue
		}
		f := explain.Fault{}
		if machines {
			f.Owner, f.Why = c.By, c.Why
		}
		all = append(all, f)
	}
	return all, nil
}
