package operate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"drover/core"
)

// Group is a host group and how many machines of each state it has.
type Group struct {
	core.HostGroup

	Counts map[core.InstanceState]int `json:"counts"` // without terminated ones
}

// Groups lists all host groups, by name. Returns FORBIDDEN. Profiles, which may hold secrets, are left out for actors
// who may only look.
func (o *Service) Groups(ctx context.Context, a core.Actor) ([]Group, error) {
	if err := o.Watch(a); err != nil {
		return nil, err
	}
	all, err := o.Elastic.HostGroups(ctx)
	if err != nil {
		return nil, err
	}
	there, err := o.present(ctx)
	if err != nil {
		return nil, err
	}
	groups := make([]Group, len(all))
	for i, g := range all {
		if may(a) != nil {
			g.Profile = nil
		}
		groups[i] = Group{g, map[core.InstanceState]int{}}
		for _, one := range there {
			if one.Group == g.Name {
				groups[i].Counts[one.State]++
			}
		}
	}
	return groups, nil
}

// present lists the instances that have not been terminated.
func (o *Service) present(ctx context.Context) ([]core.Instance, error) {
	const page = 1000
	states := []core.InstanceState{
		core.InstanceValid, core.InstanceCreating, core.InstanceRunning, core.InstanceJoined, core.InstanceDraining, core.InstanceTerminating,
	}
	var all []core.Instance
	for f := (core.InstanceFilter{States: states, Limit: page}); ; f.Before = all[len(all)-1].ID {
		its, err := o.Elastic.ListInstances(ctx, f)
		all = append(all, its...)
		if err != nil || len(its) < page {
			return all, err
		}
	}
}

// Group returns a host group. Returns FORBIDDEN, NOTFOUND.
func (o *Service) Group(ctx context.Context, a core.Actor, name string) (Group, error) {
	all, err := o.Groups(ctx, a)
	if err != nil {
		return Group{}, err
	}
	i := slices.IndexFunc(all, func(g Group) bool { return g.Name == name })
	if i < 0 {
		return Group{}, core.Errorf(core.CodeNotFound, name, "there is no host group %.80q", name)
	}
	return all[i], nil
}

// SetGroup makes or changes a host group, by its revision. Returns FORBIDDEN, INVALID, CONFLICT, NOTFOUND, LIMIT.
func (o *Service) SetGroup(ctx context.Context, a core.Actor, g core.HostGroup) (core.HostGroup, error) {
	if err := may(a); err != nil {
		return g, err
	}
	check := core.HostGroup.Check
	if o.CheckGroup != nil {
		check = o.CheckGroup
	}
	if err := check(g); err != nil {
		return g, err
	}
	verb := "changes"
	if g.Revision == 0 {
		verb = "makes"
	}
	text := fmt.Sprintf("%s host group %s: %d to %d hosts of %s", verb, g.Name, g.Min, g.Max, g.Provider)
	if g.Paused {
		text += ", paused"
	}
	err := o.change(ctx, a, g.Name, text, func() (err error) {
		g.Revision, err = o.Elastic.PutHostGroup(ctx, g)
		return err
	})
	return g, err
}

// PauseGroup lets nothing be made or ended in a host group, or ends that. Returns FORBIDDEN, NOTFOUND, CONFLICT.
func (o *Service) PauseGroup(ctx context.Context, a core.Actor, name string, paused bool) error {
	if err := may(a); err != nil {
		return err
	}
	g, err := o.Group(ctx, a, name)
	if err != nil || g.Paused == paused {
		return err
	}
	g.Paused = paused
	_, err = o.SetGroup(ctx, a, g.HostGroup)
	return err
}

// RemoveGroup removes a host group without machines. Returns FORBIDDEN, NOTFOUND, and CONFLICT while it has some.
func (o *Service) RemoveGroup(ctx context.Context, a core.Actor, name string) error {
	return o.change(ctx, a, name, "removes host group "+name, func() error { return o.Elastic.DeleteHostGroup(ctx, name) })
}

// Instances lists machines that were made for host groups, newest first. Returns FORBIDDEN, INVALID.
func (o *Service) Instances(ctx context.Context, a core.Actor, f core.InstanceFilter) ([]core.Instance, error) {
	if err := o.Watch(a); err != nil {
		return nil, err
	}
	for _, s := range f.States {
		if !slices.Contains(core.InstanceStates(), s) {
			return nil, core.Errorf(core.CodeInvalid, "state", "%.40q is no state of an instance: use %s", s, strings.Join(stateNames(), ", "))
		}
	}
	return o.Elastic.ListInstances(ctx, f)
}

func stateNames() []string {
	var names []string
	for _, s := range core.InstanceStates() {
		names = append(names, string(s))
	}
	return names
}

// Instance returns a machine. Returns FORBIDDEN, NOTFOUND.
func (o *Service) Instance(ctx context.Context, a core.Actor, id string) (core.Instance, error) {
	if err := o.Watch(a); err != nil {
		return core.Instance{}, err
	}
	return o.Elastic.GetInstance(ctx, id)
}

// Terminate ends a machine. Its host finishes what it has in hand, for at most its group's time, unless now is set: then
// its work moves to other hosts. A group that has too few then makes another one. Returns FORBIDDEN, NOTFOUND, CONFLICT.
func (o *Service) Terminate(ctx context.Context, a core.Actor, id string, now bool) (core.Instance, error) {
	if err := may(a); err != nil {
		return core.Instance{}, err
	}
	i, err := o.Elastic.GetInstance(ctx, id)
	if err != nil {
		return core.Instance{}, err
	}
	to, deadline := ending(i.State, now), time.Duration(0)
	switch to {
	case "":
		return i, core.Errorf(core.CodeConflict, id, "instance %s is %s", id, i.State)
	case i.State:
		return i, nil
	case core.InstanceValid, core.InstanceCreating, core.InstanceRunning, core.InstanceJoined, core.InstanceTerminating, core.InstanceTerminated:
	case core.InstanceDraining:
		deadline = core.DefaultDrainFor
		if g, err := o.Group(ctx, a, i.Group); err == nil {
			deadline = g.Filled().DrainFor
		}
	}
	at := o.now()
	i.State, i.Since, i.Why, i.Reclaim = to, at.UnixMilli(), a.Handle+" ends it", true
	if deadline > 0 {
		i.Deadline = at.Add(deadline).UnixMilli()
	}
	text := "ends instance " + id + " of host group " + i.Group
	if now {
		text += " now"
	}
	err = o.change(ctx, a, id, text, func() error {
		i.Revision, err = o.Elastic.PutInstance(ctx, i)
		return err
	})
	return i, err
}

// ending returns the next state of a machine that is to end; "" if it has ended, its own if it ends already.
func ending(s core.InstanceState, now bool) core.InstanceState {
	switch s {
	case core.InstanceValid:
		return core.InstanceTerminated
	case core.InstanceCreating, core.InstanceRunning:
		return core.InstanceTerminating
	case core.InstanceJoined, core.InstanceDraining:
		if now {
			return core.InstanceTerminating
		}
		return core.InstanceDraining
	case core.InstanceTerminating:
		return core.InstanceTerminating
	case core.InstanceTerminated:
	}
	return ""
}
