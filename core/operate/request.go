package operate

import (
	"context"

	"drover/core"
)

// mostDead is how many dead requests are listed.
const mostDead = 50

// Dead is a request whose attempts were used up by faults of the platform.
type Dead struct {
	Key        string `json:"key"`
	ID         string `json:"id"`
	Pool       string `json:"pool"`
	Submitter  string `json:"submitter"`
	Assignment string `json:"assignment,omitempty"`
	Host       string `json:"host,omitempty"` // of the last attempt
	Attempts   int    `json:"attempts"`
	Ended      int64  `json:"ended_ms"`
	Reason     string `json:"reason"`
}

// Dead lists the last requests that died and were neither retried nor dropped, newest
// first. Returns FORBIDDEN, UNAVAILABLE.
func (o *Operator) Dead(ctx context.Context, a core.Actor) ([]Dead, error) {
	if err := o.Registrar.Watch(a); err != nil {
		return nil, err
	}
	return o.dead.get(ctx, o.now, freshFor, func(ctx context.Context) ([]Dead, error) {
		keys, err := o.Herd.ListDead(ctx, mostDead)
		if err != nil {
			return nil, err
		}
		out := []Dead{}
		for _, key := range keys {
			id, _, err := core.ParseKey(key)
			if err != nil {
				continue // the audit names it
			}
			row, err := o.Store.Get(ctx, id)
			if core.Is(err, core.CodeNotFound) {
				continue // deleted since
			}
			if err != nil {
				return nil, err
			}
			if row.Spec.Key() != key || row.State != core.RequestDead || row.Result == nil {
				continue // it runs again, or did
			}
			out = append(out, Dead{
				Key: key, ID: id, Pool: row.Spec.Pool, Submitter: row.Spec.Submitter, Assignment: row.Spec.Assignment,
				Host: row.Result.Host, Attempts: row.Result.Attempt, Ended: row.Finished, Reason: row.Result.Reason,
			})
		}
		return out, nil
	})
}

// Retry runs a dead request again. Returns FORBIDDEN, INVALID, NOTFOUND, CONFLICT if it
// is not dead, LIMIT if it was run too often.
func (o *Operator) Retry(ctx context.Context, a core.Actor, id string) (core.Row, error) {
	row, err := o.deadRow(ctx, a, id)
	if err != nil {
		return row, err
	}
	key := row.Spec.Key()
	err = o.Registrar.Operate(ctx, a, id, "runs dead request "+id+" again", func() (err error) {
		if row, err = o.Intake.Rerun(ctx, id); err != nil {
			return err
		}
		_, err = o.Herd.ForgetDead(ctx, key)
		return err
	})
	o.dead.stale()
	return row, err
}

// Drop takes a dead request off the list of those to look after; its result stays.
// Returns FORBIDDEN, INVALID, NOTFOUND, CONFLICT if it is not dead.
func (o *Operator) Drop(ctx context.Context, a core.Actor, id string) error {
	row, err := o.deadRow(ctx, a, id)
	if err != nil {
		return err
	}
	err = o.Registrar.Operate(ctx, a, id, "drops dead request "+id, func() error {
		_, err := o.Herd.ForgetDead(ctx, row.Spec.Key())
		return err
	})
	o.dead.stale()
	return err
}

func (o *Operator) deadRow(ctx context.Context, a core.Actor, id string) (core.Row, error) {
	row, err := o.row(ctx, a, id)
	if err == nil && row.State != core.RequestDead {
		err = core.Errorf(core.CodeConflict, id, "request %s is not dead: it is %s", id, row.State)
	}
	return row, err
}

// row finds a request for an actor who may operate the herd.
func (o *Operator) row(ctx context.Context, a core.Actor, id string) (core.Row, error) {
	if err := may(a); err != nil {
		return core.Row{}, err
	}
	if err := core.CheckName("request id", id); err != nil {
		return core.Row{}, err
	}
	return o.Store.Get(ctx, id)
}

// Cancel stops a request wherever it is and returns its state, as core/intake has it.
// Returns FORBIDDEN, INVALID, NOTFOUND, ENDED.
func (o *Operator) Cancel(ctx context.Context, a core.Actor, id string) (core.RequestState, error) {
	if _, err := o.row(ctx, a, id); err != nil {
		return "", err
	}
	var state core.RequestState
	err := o.Registrar.Operate(ctx, a, id, "cancels request "+id, func() (err error) {
		state, err = o.Intake.Cancel(ctx, id, a.Handle)
		return err
	})
	o.moves.stale()
	return state, err
}

// Moves lists requests that move or moved off a host, those under way first.
// Returns FORBIDDEN, UNAVAILABLE.
func (o *Operator) Moves(ctx context.Context, a core.Actor) ([]core.Evacuation, error) {
	if err := o.Registrar.Watch(a); err != nil {
		return nil, err
	}
	return o.moves.get(ctx, o.now, freshFor, o.Herd.Evacuations)
}

// Parked lists the requests that nothing living could run when they had to leave their
// host. Returns FORBIDDEN, UNAVAILABLE.
func (o *Operator) Parked(ctx context.Context, a core.Actor) ([]core.Evacuation, error) {
	all, err := o.Moves(ctx, a)
	parked := []core.Evacuation{}
	for _, m := range all {
		if m.State == core.EvacuationParked {
			parked = append(parked, m)
		}
	}
	return parked, err
}
