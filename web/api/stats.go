package api

import (
	"context"
	"time"

	"drover/core"
	"drover/core/cluster/history"
	"drover/core/cluster/operate"
	"drover/core/school"
)

func statsTable() []entry {
	return []entry{
		is(Operation{"viewStats", get, "/stats", core.ActClusterView, school.ScopeRead, 0, "Return what ended: counts, waits, run times and processor time"}, (*server).viewStats),
		is(Operation{"viewSeries", get, "/stats/series", core.ActClusterView, school.ScopeRead, 0, "Return throughput, waits, queues, VMs and hosts over time"}, (*server).viewSeries),
		is(Operation{"viewClassStats", get, "/stats/classes/{class}", core.ActGradeView, school.ScopeRead, 0, "Return what ended of the tests of a class's submissions: counts, faults, waits, run times and processor time"}, (*server).viewClassStats),
		is(Operation{"viewClassSeries", get, "/stats/classes/{class}/series", core.ActGradeView, school.ScopeRead, 0, "Return throughput, waits, run times and faults of a class over time"}, (*server).viewClassSeries),
		is(Operation{"viewHits", get, "/stats/pools/{pool}/hits", core.ActClusterView, school.ScopeRead, 0, "Return which part of a pool's claims met a clean VM, and what it would have been with fixed numbers of warm VMs"}, (*server).viewHits),
		is(Operation{"listChanges", get, "/cluster/changes/{kind}/{thing}", core.ActClusterView, school.ScopeRead, 0, "List changes of state, newest first, also from before a loss of Redis, with the gaps in which some may be missing"}, (*server).listChanges),
	}
}

// InSpan names a span of time.
type InSpan struct {
	Since int64 `query:"since_ms" minimum:"0" doc:"ms since 1970; default: a day before until"`
	Until int64 `query:"until_ms" minimum:"0" doc:"ms since 1970; default: now"`
}

// span is the span of time that was asked for.
func (in InSpan) span() (from, until time.Time) {
	until = time.Now()
	if in.Until > 0 {
		until = time.UnixMilli(in.Until)
	}
	from = until.AddDate(0, 0, -1)
	if in.Since > 0 {
		from = time.UnixMilli(in.Since)
	}
	return from, until
}

func (s *server) viewStats(ctx context.Context, a core.Actor, in *struct {
	InSpan
	By string `query:"by" maxLength:"40" doc:"pool, submitter, class, type, priority or day (UTC); omit for the sum"`
},
) (*answer[history.Stats], error) {
	from, until := in.span()
	return answered(s.Cluster.Stats(ctx, a, in.By, from, until))
}

func (s *server) viewSeries(ctx context.Context, a core.Actor, in *InSpan) (*answer[history.Series], error) {
	from, until := in.span()
	return answered(s.Cluster.Series(ctx, a, from, until))
}

func (s *server) viewClassStats(ctx context.Context, a core.Actor, in *struct {
	InClass
	InSpan
	By string `query:"by" maxLength:"40" doc:"assignment or day (UTC); omit for the sum"`
},
) (*answer[history.Stats], error) {
	from, until := in.span()
	return answered(s.Classes.Stats(ctx, a, in.Class, in.By, from, until))
}

func (s *server) viewClassSeries(ctx context.Context, a core.Actor, in *struct {
	InClass
	InSpan
},
) (*answer[history.Series], error) {
	from, until := in.span()
	return answered(s.Classes.StatsSeries(ctx, a, in.Class, from, until))
}

func (s *server) viewHits(ctx context.Context, a core.Actor, in *struct {
	InPool
	InSpan
	Simulate bool `query:"simulate" doc:"replay the newest 5000 requests with fixed numbers of warm VMs"`
},
) (*answer[operate.Hits], error) {
	from, until := in.span()
	return answered(s.Cluster.Hits(ctx, a, in.Pool, from, until, in.Simulate))
}

func (s *server) listRequestChanges(ctx context.Context, a core.Actor, in *struct {
	ID     string `path:"id"`
	Before string `query:"before" maxLength:"40" doc:"at_ms-n of the last change received"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"50"`
},
) (*answer[Page[core.StateChange]], error) {
	return all(s.Cluster.RequestChanges(ctx, a, in.ID, in.Before, in.Limit))
}

func (s *server) listChanges(ctx context.Context, a core.Actor, in *struct {
	Kind   core.Entity `path:"kind" doc:"request, vm, host or gap"`
	Thing  string      `path:"thing" maxLength:"255" doc:"key of a request (ID-GENERATION), VM or host; - for gaps"`
	Before string      `query:"before" maxLength:"40" doc:"at_ms-n of the last change received"`
	Limit  int         `query:"limit" minimum:"1" maximum:"1000" default:"50"`
},
) (*answer[Page[core.StateChange]], error) {
	return all(s.Cluster.Changes(ctx, a, core.StateChangeFilter{Kind: in.Kind, Thing: in.Thing, Before: in.Before, Limit: in.Limit}))
}
