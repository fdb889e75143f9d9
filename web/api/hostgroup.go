package api

import (
	"context"

	"drover/core"
	"drover/core/cluster/operate"
	"drover/core/school"
)

func hostGroupTable() []entry {
	return []entry{
		is(Operation{"listHostGroups", get, "/host-groups", core.ActClusterView, school.ScopeRead, 0, "List host groups, by name, with the number of their machines in each state"}, (*server).listHostGroups),
		is(Operation{"viewHostGroup", get, "/host-groups/{group}", core.ActClusterView, school.ScopeRead, 0, "Return a host group"}, (*server).viewHostGroup),
		is(Operation{"setHostGroup", patch, "/host-groups/{group}", core.ActClusterOperate, school.ScopeCluster, 0, "Create a host group, or change the given settings of one"}, (*server).setHostGroup),
		is(Operation{"removeHostGroup", remove, "/host-groups/{group}", core.ActClusterOperate, school.ScopeCluster, 0, "Remove a host group that has no machines any more"}, (*server).removeHostGroup),
		is(Operation{"listInstances", get, "/instances", core.ActClusterView, school.ScopeRead, 0, "List machines that were made for host groups, newest first"}, (*server).listInstances),
		is(Operation{"viewInstance", get, "/instances/{id}", core.ActClusterView, school.ScopeRead, 0, "Return a machine"}, (*server).viewInstance),
		is(Operation{"terminateInstance", post, "/instances/{id}/terminate", core.ActClusterOperate, school.ScopeCluster, 0, "End a machine: its host finishes what it has in hand, or its work moves to other hosts now"}, (*server).terminateInstance),
	}
}

// InGroup names a host group.
type InGroup struct {
	Group string `path:"group"`
}

func (s *server) listHostGroups(ctx context.Context, a core.Actor, _ *nothing) (*answer[Page[operate.Group]], error) {
	return all(s.Cluster.Groups(ctx, a))
}

func (s *server) viewHostGroup(ctx context.Context, a core.Actor, in *InGroup) (*answer[operate.Group], error) {
	return answered(s.Cluster.Group(ctx, a, in.Group))
}

func (s *server) setHostGroup(ctx context.Context, a core.Actor, in *struct {
	InGroup
	Body Change[core.HostGroup]
},
) (*answer[core.HostGroup], error) {
	had, err := s.Cluster.Group(ctx, a, in.Group)
	g := had.HostGroup
	if core.Is(err, core.CodeNotFound) {
		g, err = core.HostGroup{Name: in.Group}, nil
	}
	revision := g.Revision
	if err == nil {
		err = in.Body.onto(&g)
	}
	if err == nil && g.Name != in.Group {
		err = core.Errorf(core.CodeInvalid, in.Group, "a host group's name cannot be changed: make another one")
	}
	if err == nil {
		g.Revision = revision
		g, err = s.Cluster.SetGroup(ctx, a, g)
	}
	return answered(g, err)
}

func (s *server) removeHostGroup(ctx context.Context, a core.Actor, in *InGroup) (*done, error) {
	return &done{}, s.Cluster.RemoveGroup(ctx, a, in.Group)
}

func (s *server) listInstances(ctx context.Context, a core.Actor, in *struct {
	Cursor
	Group string               `query:"group" maxLength:"63"`
	State []core.InstanceState `query:"state" maxItems:"7"`
},
) (*listed[core.Instance], error) {
	found, err := s.Cluster.Instances(ctx, a, core.InstanceFilter{Group: in.Group, States: in.State, Before: in.Cursor.Cursor, Limit: in.more()})
	if err != nil {
		return nil, err
	}
	return paged(ctx, in.Cursor, found, func(i *core.Instance) string { return i.ID }), nil
}

func (s *server) viewInstance(ctx context.Context, a core.Actor, in *One) (*answer[core.Instance], error) {
	return answered(s.Cluster.Instance(ctx, a, in.ID))
}

func (s *server) terminateInstance(ctx context.Context, a core.Actor, in *struct {
	One
	Body *struct {
		Now bool `json:"now,omitempty" doc:"do not wait for what the host has in hand"`
	}
},
) (*answer[core.Instance], error) {
	return answered(s.Cluster.Terminate(ctx, a, in.ID, in.Body != nil && in.Body.Now))
}
