package operate

import (
	"context"
	"time"

	"drover/core"
	"drover/core/account/auditlog"
)

// Service has the operations on a cluster. The fields are set once; all methods are safe for concurrent use. Their
// results are shared by all callers and must not be changed.
type Service struct {
	Cluster Cluster
	Store   Store
	Intake  Intake
	Elastic core.Instances // host groups and their machines
	// CheckGroup checks a host group with its profile; nil: without it.
	CheckGroup func(core.HostGroup) error
	Now        func() time.Time // nil: time.Now
	// AllowsLabels returns CONFLICT if a host must not have these labels only; nil: it may have any.
	AllowsLabels func(ctx context.Context, host string, labels map[string]string) error

	overview cached[Overview]
	queues   cached[Queues]
	findings cached[Findings]
	lately   cached[Lately]
	events   cached[[]core.Event]
	images   cached[[]Image]
	dead     cached[map[string]Dead] // by key
	replays  replays
}

// Cluster is what a Service needs of Redis.
type Cluster interface {
	Hosts
	Waiting
	History

	Overseen(ctx context.Context) (core.Overseen, error)
	ListPools(ctx context.Context) ([]core.Pool, error)
	GetPool(ctx context.Context, name string) (core.Pool, error)
	Outages(ctx context.Context) (map[string]core.Outage, error)
}

// Hosts reads hosts, and writes operators' wishes for them.
type Hosts interface {
	ListHosts(ctx context.Context) ([]core.HostInfo, error)
	ListOwners(ctx context.Context) ([]core.OwnerInfo, error)
	ListVMs(ctx context.Context, host string) ([]core.VMInfo, error)
	SetHost(ctx context.Context, host string, s core.HostSettings) error
	Drain(ctx context.Context, host string, on bool, deadline time.Duration) error
	Probation(ctx context.Context, host, reason string, delay time.Duration, needed int) error
	ForgetHost(ctx context.Context, host string) error
	AddHostReport(ctx context.Context, r core.HostReport) error
}

// Waiting reads requests that wait, move or are dead.
type Waiting interface {
	Waiting(ctx context.Context) ([]core.QueueInfo, error)
	Turns(ctx context.Context, queues []core.QueueInfo, most int) ([][]core.Turn, error)
	Locate(ctx context.Context, key string) (core.Place, error)
	ListDead(ctx context.Context, limit int) ([]string, error)
	ForgetDead(ctx context.Context, key string) (bool, error)
	Evacuations(ctx context.Context) ([]core.Evacuation, error)
	TaskQueues(ctx context.Context) ([]core.TaskQueueInfo, error)
}

// History reads events and consistency checks.
type History interface {
	CheckConsistency(ctx context.Context) ([]core.Violation, error)
	Events(ctx context.Context, after string) ([]core.Event, error)
	LastEvents(ctx context.Context, n int) ([]core.Event, error)
}

// Store is what a Service needs of the result store.
type Store interface {
	Get(ctx context.Context, id string) (core.Row, error)
	Attempts(ctx context.Context, id string) ([]core.Attempt, error)
	ListImages(ctx context.Context) ([]core.Image, error)
	core.HostWishes
	core.StateLog
	core.Statistics
	AddAuditEntry(ctx context.Context, d core.AuditEntry) error
}

// Intake sets pools, as core/requests/intake does.
type Intake interface {
	SetPool(ctx context.Context, p core.Pool) error
	RemovePool(ctx context.Context, name string) error
}

// Watch returns FORBIDDEN if the actor may not look at the cluster: hosts, pools, queues.
func (o *Service) Watch(a core.Actor) error { return core.Allow(a, core.ActClusterView, core.Object{}) }

// change writes an entry to the audit log and then changes the cluster: the text says in a sentence what is done, to
// which subject. Returns FORBIDDEN and the errors of do.
func (o *Service) change(ctx context.Context, a core.Actor, subject, text string, do func() error) error {
	if err := core.Allow(a, core.ActClusterOperate, core.Object{}); err != nil {
		return err
	}
	entry := core.AuditEntry{Action: core.ActClusterOperate, Subject: subject, Text: text}
	return auditlog.Log{Store: o.Store, Now: o.now}.Do(ctx, a, entry, do)
}

func (o *Service) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}
