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

// Dead lists the last dead requests that were neither retried nor dropped, newest first. A request that died within
// the last second may be missing. Returns FORBIDDEN, UNAVAILABLE.
func (o *Service) Dead(ctx context.Context, a core.Actor) ([]Dead, error) {
	if err := o.Watch(a); err != nil {
		return nil, err
	}
	keys, err := o.Cluster.ListDead(ctx, mostDead)
	if err != nil {
		return nil, err
	}
	known, err := o.dead.get(ctx, o.now, freshFor, func(ctx context.Context) (map[string]Dead, error) { return o.readDead(ctx, keys) })
	out := []Dead{}
	for _, key := range keys {
		if one, ok := known[key]; ok {
			out = append(out, one)
		}
	}
	return out, err
}

// readDead reads those requests of the keys that are still dead.
func (o *Service) readDead(ctx context.Context, keys []string) (map[string]Dead, error) {
	found := make(map[string]Dead, len(keys))
	for _, key := range keys {
		id, _, err := core.ParseKey(key)
		if err != nil {
			continue // the consistency check names it
		}
		row, err := o.Store.Get(ctx, id)
		if core.Is(err, core.CodeNotFound) {
			continue // deleted in the meantime
		}
		if err != nil {
			return nil, err
		}
		if row.Spec.Key() != key || row.State != core.RequestDead || row.Result == nil {
			continue // it runs again, or has run
		}
		found[key] = Dead{
			Key: key, ID: id, Pool: row.Spec.Pool, Submitter: row.Spec.Submitter, Assignment: row.Spec.Assignment,
			Host: row.Result.Host, Attempts: row.Result.Attempt, Ended: row.Finished, Reason: row.Result.Reason,
		}
	}
	return found, nil
}

// Drop takes a request off the list of dead requests; its result stays. Returns FORBIDDEN, INVALID, NOTFOUND,
// CONFLICT if it is not dead.
func (o *Service) Drop(ctx context.Context, a core.Actor, id string) error {
	if err := may(a); err != nil {
		return err
	}
	if err := core.CheckName("request id", id); err != nil {
		return err
	}
	row, err := o.Store.Get(ctx, id)
	if err != nil {
		return err
	}
	if row.State != core.RequestDead {
		return core.Errorf(core.CodeConflict, id, "request %s is not dead: it is %s", id, row.State)
	}
	return o.change(ctx, a, id, "drops dead request "+id, func() error {
		_, err := o.Cluster.ForgetDead(ctx, row.Spec.Key())
		return err
	})
}

// Moves lists moves of requests off a host, those in progress first. Returns FORBIDDEN, UNAVAILABLE.
func (o *Service) Moves(ctx context.Context, a core.Actor) ([]core.Evacuation, error) {
	if err := o.Watch(a); err != nil {
		return nil, err
	}
	return o.Cluster.Evacuations(ctx)
}

// Parked lists the requests that no living host could run when they had to leave their host. Returns FORBIDDEN,
// UNAVAILABLE.
func (o *Service) Parked(ctx context.Context, a core.Actor) ([]core.Evacuation, error) {
	all, err := o.Moves(ctx, a)
	parked := []core.Evacuation{}
	for _, m := range all {
		if m.State == core.EvacuationParked {
			parked = append(parked, m)
		}
	}
	return parked, err
}
