package api

import (
	"context"
	"time"

	"drover/core"
	"drover/core/cluster/operate"
	"drover/core/school"
)

func clusterTable() []entry {
	return []entry{
		is(Operation{"viewCluster", get, "/cluster", core.ActClusterView, school.ScopeRead, 0, "Return hosts, pools, owners and queues"}, (*server).viewCluster),
		is(Operation{"viewHost", get, "/cluster/hosts/{host}", core.ActClusterView, school.ScopeRead, 0, "Return a host"}, (*server).viewHost),
		is(Operation{"setHost", patch, "/cluster/hosts/{host}", core.ActClusterOperate, school.ScopeCluster, 0, "Change the given settings of a host: labels, reserve, overcommit"}, (*server).setHost),
		is(Operation{"drainHost", post, "/cluster/hosts/{host}/drain", core.ActClusterOperate, school.ScopeCluster, 0, "Drain a host: it takes no new work"}, (*server).drainHost),
		is(Operation{"undrainHost", post, "/cluster/hosts/{host}/undrain", core.ActClusterOperate, school.ScopeCluster, 0, "Undrain a host: it takes new work"}, (*server).undrainHost),
		is(Operation{"trustHost", post, "/cluster/hosts/{host}/trust", core.ActClusterOperate, school.ScopeCluster, 0, "End a host's probation"}, (*server).trustHost),
		is(Operation{"reportHost", post, "/cluster/hosts/{host}/report", core.ActClusterOperate, school.ScopeCluster, 202, "Report that a host failed or has recovered"}, (*server).reportHost),
		is(Operation{"forgetHost", remove, "/cluster/hosts/{host}", core.ActClusterOperate, school.ScopeCluster, 0, "Remove a host that is down permanently"}, (*server).forgetHost),
		is(Operation{"listPools", get, "/cluster/pools", core.ActClusterView, school.ScopeRead, 0, "List pools, by name"}, (*server).listPools),
		is(Operation{"viewPool", get, "/cluster/pools/{pool}", core.ActClusterView, school.ScopeRead, 0, "Return a pool's settings"}, (*server).viewPool),
		is(Operation{"removePool", remove, "/cluster/pools/{pool}", core.ActClusterOperate, school.ScopeCluster, 0, "Remove a pool that no request or assignment uses"}, (*server).removePool),
		is(Operation{"setPool", patch, "/cluster/pools/{pool}", core.ActClusterOperate, school.ScopeCluster, 0, "Create a pool, or change the given settings of one"}, (*server).setPool),
		is(Operation{"listQueues", get, "/cluster/queues", core.ActClusterView, school.ScopeRead, 0, "Return the queues, and the next turns"}, (*server).listQueues),
		is(Operation{"listDead", get, "/cluster/dead", core.ActClusterView, school.ScopeRead, 0, "List the last requests that died of platform faults; a rerun removes a request from the list"}, (*server).listDead),
		is(Operation{"dropDead", remove, "/cluster/dead/{id}", core.ActClusterOperate, school.ScopeCluster, 0, "Remove a dead request from the list; its result stays"}, (*server).dropDead),
		is(Operation{"listMoves", get, "/cluster/moves", core.ActClusterView, school.ScopeRead, 0, "List requests that move or moved off a host, unfinished moves first"}, (*server).listMoves),
		is(Operation{"viewTimeline", get, "/cluster/requests/{id}", core.ActClusterView, school.ScopeRead, 0, "Return the history of a request"}, (*server).viewTimeline),
		is(Operation{"listRequestChanges", get, "/cluster/requests/{id}/changes", core.ActClusterView, school.ScopeRead, 0, "List changes of state of all generations of a request, newest first, with the gaps in which some may be missing"}, (*server).listRequestChanges),
		is(Operation{"checkConsistency", get, "/cluster/consistency", core.ActClusterView, school.ScopeRead, 0, "Check the consistency of the cluster"}, (*server).consistency),
		is(Operation{"listHistory", get, "/cluster/history", core.ActClusterView, school.ScopeRead, 0, "List recent events, oldest first"}, (*server).listHistory),
	}
}

// InHost names a host.
type InHost struct {
	Host string `path:"host"`
}

// InPool names a pool.
type InPool struct {
	Pool string `path:"pool"`
}

func (s *server) viewCluster(ctx context.Context, a core.Actor, _ *nothing) (*answer[operate.Overview], error) {
	return answered(s.Cluster.Overview(ctx, a))
}

func (s *server) viewHost(ctx context.Context, a core.Actor, in *InHost) (*answer[operate.HostView], error) {
	return answered(s.Cluster.Host(ctx, a, in.Host))
}

func (s *server) setHost(ctx context.Context, a core.Actor, in *struct {
	InHost
	Body Change[core.HostSettings]
},
) (*answer[core.HostSettings], error) {
	h, err := s.Cluster.Host(ctx, a, in.Host)
	if err != nil {
		return nil, err
	}
	// Labels are given all or not at all; a reserve that names one figure keeps the others.
	settings := h.Settings.Explicit(h.Whole())
	settings.Labels = nil
	if err := in.Body.onto(&settings); err != nil {
		return nil, err
	}
	if settings.Labels == nil {
		settings.Labels = h.Settings.Labels
	}
	settings = settings.Implicit(h.Whole())
	return answered(settings, s.Cluster.SetHost(ctx, a, in.Host, settings))
}

func (s *server) drainHost(ctx context.Context, a core.Actor, in *struct {
	InHost
	Body *struct {
		Deadline time.Duration `json:"deadline_ns,omitempty" doc:"after this time the host's unfinished work moves to other hosts; 0: the host finishes it"`
	}
},
) (*done, error) {
	var deadline time.Duration
	if in.Body != nil {
		deadline = in.Body.Deadline
	}
	return &done{}, s.Cluster.Drain(ctx, a, in.Host, deadline)
}

func (s *server) undrainHost(ctx context.Context, a core.Actor, in *InHost) (*done, error) {
	return &done{}, s.Cluster.Undrain(ctx, a, in.Host)
}

func (s *server) trustHost(ctx context.Context, a core.Actor, in *InHost) (*done, error) {
	return &done{}, s.Cluster.Trust(ctx, a, in.Host)
}

func (s *server) reportHost(ctx context.Context, a core.Actor, in *struct {
	InHost
	Body struct {
		Event  core.HostEvent `json:"event" enum:"failed,recovered"`
		Reason string         `json:"reason,omitempty" maxLength:"300"`
	}
},
) (*done, error) {
	return &done{}, s.Cluster.Report(ctx, a, core.HostReport{Host: in.Host, Event: in.Body.Event, Reason: in.Body.Reason})
}

func (s *server) forgetHost(ctx context.Context, a core.Actor, in *InHost) (*done, error) {
	return &done{}, s.Cluster.Forget(ctx, a, in.Host)
}

func (s *server) removePool(ctx context.Context, a core.Actor, in *InPool) (*done, error) {
	return &done{}, s.Cluster.RemovePool(ctx, a, in.Pool)
}

func (s *server) listPools(ctx context.Context, a core.Actor, _ *nothing) (*answer[Page[core.Pool]], error) {
	return all(s.Cluster.Pools(ctx, a))
}

func (s *server) viewPool(ctx context.Context, a core.Actor, in *InPool) (*answer[core.Pool], error) {
	return answered(s.Cluster.Pool(ctx, a, in.Pool))
}

func (s *server) setPool(ctx context.Context, a core.Actor, in *struct {
	InPool
	Body Change[core.Pool]
},
) (*answer[core.Pool], error) {
	p, err := s.Cluster.Pool(ctx, a, in.Pool)
	if core.Is(err, core.CodeNotFound) {
		p, err = core.DefaultPool(in.Pool), nil
	}
	if err == nil {
		err = in.Body.onto(&p)
	}
	if err == nil && p.Name != in.Pool {
		err = core.Errorf(core.CodeInvalid, in.Pool, "a pool's name cannot be changed: make another one")
	}
	if err == nil {
		err = s.Cluster.SetPool(ctx, a, p)
	}
	return answered(p, err)
}

func (s *server) listQueues(ctx context.Context, a core.Actor, _ *nothing) (*answer[operate.Queues], error) {
	return answered(s.Cluster.Queues(ctx, a))
}

func (s *server) listDead(ctx context.Context, a core.Actor, _ *nothing) (*answer[Page[operate.Dead]], error) {
	return all(s.Cluster.Dead(ctx, a))
}

func (s *server) dropDead(ctx context.Context, a core.Actor, in *One) (*done, error) {
	return &done{}, s.Cluster.Drop(ctx, a, in.ID)
}

func (s *server) listMoves(ctx context.Context, a core.Actor, _ *nothing) (*answer[Page[core.Evacuation]], error) {
	return all(s.Cluster.Moves(ctx, a))
}

func (s *server) viewTimeline(ctx context.Context, a core.Actor, in *One) (*answer[operate.Timeline], error) {
	return answered(s.Cluster.Timeline(ctx, a, in.ID))
}

func (s *server) consistency(ctx context.Context, a core.Actor, _ *nothing) (*answer[operate.Findings], error) {
	return answered(s.Cluster.Findings(ctx, a))
}

func (s *server) listHistory(ctx context.Context, a core.Actor, in *struct {
	After string `query:"after" maxLength:"40" doc:"id of the last event received; omit for all available events"`
},
) (*answer[Page[core.Event]], error) {
	return all(s.Cluster.Events(ctx, a, in.After))
}
