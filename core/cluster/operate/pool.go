package operate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"drover/core"
)

// Pools lists all pools by name.
func (o *Service) Pools(ctx context.Context, a core.Actor) ([]core.Pool, error) {
	v, err := o.Overview(ctx, a)
	return v.Pools, err
}

// Pool returns a pool's current settings. Returns NOTFOUND.
func (o *Service) Pool(ctx context.Context, a core.Actor, name string) (core.Pool, error) {
	if err := o.Watch(a); err != nil {
		return core.Pool{}, err
	}
	if err := core.CheckName("pool", name); err != nil {
		return core.Pool{}, err
	}
	return o.Cluster.GetPool(ctx, name)
}

// Outage returns since when no host can make VMs of a pool; nil if one can, or none is to.
func (o *Service) Outage(ctx context.Context, a core.Actor, name string) (*core.Outage, error) {
	v, err := o.Overview(ctx, a)
	for _, t := range v.Totals {
		if t.Pool == name {
			return t.Outage, err
		}
	}
	return nil, err
}

// SetPool creates a pool or changes its settings. Returns INVALID, LIMIT, UNAVAILABLE.
func (o *Service) SetPool(ctx context.Context, a core.Actor, p core.Pool) error {
	if err := may(a); err != nil {
		return err
	}
	if err := p.Check(); err != nil {
		return err
	}
	old, err := o.Cluster.GetPool(ctx, p.Name)
	missing := core.Is(err, core.CodeNotFound)
	if err != nil && !missing {
		return err
	}
	text := fmt.Sprintf("makes pool %s of provider %s", p.Name, p.Provider)
	if !missing {
		text = "changes pool " + p.Name + ": " + differences(old, p)
	}
	err = o.change(ctx, a, p.Name, text, func() error { return o.Intake.SetPool(ctx, p) })
	o.overview.stale()
	return err
}

// RemovePool removes a pool; its VMs are destroyed. Returns NOTFOUND, CONFLICT if requests or assignments use it.
func (o *Service) RemovePool(ctx context.Context, a core.Actor, name string) error {
	if err := may(a); err != nil {
		return err
	}
	if err := core.CheckName("pool", name); err != nil {
		return err
	}
	err := o.change(ctx, a, name, "removes pool "+name, func() error { return o.Intake.RemovePool(ctx, name) })
	o.overview.stale()
	return err
}

// Pause stops or resumes the start of a pool's requests. Returns NOTFOUND.
func (o *Service) Pause(ctx context.Context, a core.Actor, name string, paused bool) error {
	p, err := o.Pool(ctx, a, name)
	if err != nil {
		return err
	}
	p.Paused = paused
	return o.SetPool(ctx, a, p)
}

// differences returns the settings that change, in order of name.
func differences(old, p core.Pool) string {
	was, is := settings(old), settings(p)
	var words []string
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if was[name] != is[name] {
			words = append(words, fmt.Sprintf("%s from %s to %s", name, was[name], is[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, ok := is[name]; !ok {
			words = append(words, fmt.Sprintf("%s from %s to none", name, was[name]))
		}
	}
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, ", ")
}

// settings returns a pool's settings by their names in JSON.
func settings(p core.Pool) map[string]string {
	all := make(map[string]string)
	for _, part := range []any{p, p.Limits} {
		var fields map[string]json.RawMessage
		if text, err := json.Marshal(part); err == nil {
			_ = json.Unmarshal(text, &fields) // it was written by json.Marshal just above
		}
		delete(fields, "limits")
		for name, value := range fields {
			all[name] = string(value)
		}
	}
	return all
}
