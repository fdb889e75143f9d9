package api

import (
	"context"
	"time"

	"drover/core"
	"drover/core/cluster/operate"
)

func clusterTable() []entry {
	return []entry{
		is(Operation{"viewCluster", get, "/cluster", core.ActClusterView, core.ScopeRead, 0, "Look at hosts, pools, owners and what waits"}, (*server).viewCluster),
		is(Operation{"viewHost", get, "/cluster/hosts/{host}", core.ActClusterView, core.ScopeRead, 0, "Look at a host"}, (*server).viewHost),
		is(Operation{"drainHost", post, "/cluster/hosts/{host}/drain", core.ActClusterOperate, core.ScopeCluster, 0, "Let a host take no new work"}, (*server).drainHost),
		is(Operation{"undrainHost", post, "/cluster/hosts/{host}/undrain", core.ActClusterOperate, core.ScopeCluster, 0, "Let a host take work again"}, (*server).undrainHost),
		is(Operation{"trustHost", post, "/cluster/hosts/{host}/trust", core.ActClusterOperate, core.ScopeCluster, 0, "End a host's probation"}, (*server).trustHost),
		is(Operation{"reportHost", post, "/cluster/hosts/{host}/report", core.ActClusterOperate, core.ScopeCluster, 202, "Say that a host failed or has recovered"}, (*server).reportHost),
		is(Operation{"forgetHost", remove, "/cluster/hosts/{host}", core.ActClusterOperate, core.ScopeCluster, 0, "Remove a host that is down for good"}, (*server).forgetHost),
		is(Operation{"listPools", get, "/cluster/pools", core.ActClusterView, core.ScopeRead, 0, "List pools, in order of name"}, (*server).listPools),
		is(Operation{"viewPool", get, "/cluster/pools/{pool}", core.ActClusterView, core.ScopeRead, 0, "Look at a pool's settings"}, (*server).viewPool),
		is(Operation{"setPool", patch, "/cluster/pools/{pool}", core.ActClusterOperate, core.ScopeCluster, 0, "Make a pool, or change those settings of it that are named"}, (*server).setPool),
		is(Operation{"listQueues", get, "/cluster/queues", core.ActClusterView, core.ScopeRead, 0, "Look at what waits, and whose turn is next"}, (*server).listQueues),
		is(Operation{"listDead", get, "/cluster/dead", core.ActClusterView, core.ScopeRead, 0, "List the last requests that died of faults of the platform; a rerun of one takes it off"}, (*server).listDead),
		is(Operation{"dropDead", remove, "/cluster/dead/{id}", core.ActClusterOperate, core.ScopeCluster, 0, "Take a dead request off the list; its result stays"}, (*server).dropDead),
		is(Operation{"listMoves", get, "/cluster/moves", core.ActClusterView, core.ScopeRead, 0, "List requests that move or moved off a host, those under way first"}, (*server).listMoves),
		is(Operation{"viewTimeline", get, "/cluster/requests/{id}", core.ActClusterView, core.ScopeRead, 0, "Look at what happened to a request"}, (*server).viewTimeline),
		is(Operation{"checkConsistency", get, "/cluster/consistency", core.ActClusterView, core.ScopeRead, 0, "Say what is not where it should be"}, (*server).consistency),
		is(Operation{"listHistory", get, "/cluster/history", core.ActClusterView, core.ScopeRead, 0, "List what happened lately, oldest first"}, (*server).listHistory),
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

func (s *server) drainHost(ctx context.Context, a core.Actor, in *struct {
	InHost
	Body *struct {
		Deadline time.Duration `json:"deadline_ns,omitempty" doc:"what the host still has in hand after this goes to other hosts; 0: it finishes all"`
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
	After string `query:"after" maxLength:"40" doc:"id of the event before; none: what is left"`
},
) (*answer[Page[core.Event]], error) {
	return all(s.Cluster.Events(ctx, a, in.After))
}
