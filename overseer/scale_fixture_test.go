package overseer_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cloud"
	"drover/core/coretest"
	"drover/overseer"
)

// records keeps instances and groups in memory, as a result store does.
type records struct {
	core.Instances

	t         *testing.T
	mu        sync.Mutex
	groups    map[string]core.HostGroup
	instances map[string]core.Instance
	most      int // instances that had not ended, at any time
}

func (r *records) HostGroups(context.Context) ([]core.HostGroup, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(maps.Values(r.groups), func(a, b core.HostGroup) int { return strings.Compare(a.Name, b.Name) }), nil
}

func (r *records) PutInstance(_ context.Context, i core.Instance) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	former := r.instances[i.ID]
	if former.Revision != i.Revision {
		return 0, core.Errorf(core.CodeConflict, i.ID, "it has another revision")
	}
	require.True(r.t, former.State == i.State || former.State.MayBecome(i.State), "%s: %q to %q", i.ID, former.State, i.State)
	i.Revision++
	r.instances[i.ID] = i
	n := 0
	for _, one := range r.instances {
		if one.State != core.InstanceTerminated {
			n++
		}
	}
	r.most = max(r.most, n)
	return i.Revision, nil
}

func (r *records) ListInstances(_ context.Context, f core.InstanceFilter) ([]core.Instance, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.SortedFunc(maps.Values(r.instances), func(a, b core.Instance) int { return strings.Compare(b.ID, a.ID) })
	all = slices.DeleteFunc(all, func(i core.Instance) bool {
		return f.Group != "" && i.Group != f.Group || len(f.States) > 0 && !slices.Contains(f.States, i.State) || f.Before != "" && i.ID >= f.Before
	})
	return all[:min(len(all), f.Limit)], nil
}

func (r *records) state(id string) core.InstanceState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.instances[id].State
}

// farm is a provider that makes one machine for a token, and does what a test says.
type farm struct {
	mu       sync.Mutex
	machines map[string]core.Machine // by token
	orders   []cloud.Order
	fails    error
	created  int64
}

func (f *farm) Create(_ context.Context, o cloud.Order) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.orders = append(f.orders, o)
	if f.fails != nil {
		return "", f.fails
	}
	if _, is := f.machines[o.Token]; !is {
		f.machines[o.Token] = core.Machine{Foreign: "m-" + o.Token, Token: o.Token, Cluster: "mine", Group: o.Group, Created: f.created}
	}
	return "m-" + o.Token, nil
}

func (f *farm) Terminate(_ context.Context, token, _ string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m, is := f.machines[token]; is && m.Cluster == "mine" {
		m.Gone = true
		f.machines[token] = m
	}
	return nil
}

func (f *farm) List(context.Context) ([]core.Machine, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.machines)), nil
}

func (f *farm) alive() (tokens []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.machines {
		if !m.Gone {
			tokens = append(tokens, m.Token)
		}
	}
	slices.Sort(tokens)
	return tokens
}

// elastic is a scene whose only hosts are those of a group, and whose clock a test moves.
type elastic struct {
	*scene

	records *records
	farm    *farm
	now     time.Time
}

func newElastic(t *testing.T) *elastic {
	t.Helper()
	e := &elastic{
		scene: newScene(t, coretest.Mini(t)), now: time.Now(),
		records: &records{t: t, groups: map[string]core.HostGroup{}, instances: map[string]core.Instance{}},
		farm:    &farm{machines: map[string]core.Machine{}},
	}
	e.pass(0)
	e.only(nil)
	e.records.groups["burst"] = core.HostGroup{
		Name: "burst", Provider: core.CloudCommand, Max: 3, Labels: "zone=a", Size: core.Size{Memory: 1 << 30}, Spot: true, Revision: 1,
		IdleAfter: time.Minute, Cooldown: 10 * time.Second,
	}
	return e
}

func (e *elastic) pass(d time.Duration) {
	e.now = e.now.Add(d)
	e.b.Mini.SetTime(e.now)
}

func (e *elastic) deps() overseer.Deps {
	deps := e.scene.deps()
	deps.Clock = &standing{e.now}
	deps.Elastic = overseer.Elastic{
		Instances: e.records, Cluster: "mine",
		Open:   func(string, core.HostGroup) (cloud.Provider, error) { return e.farm, nil },
		Secret: func(_ context.Context, i core.Instance) (string, error) { return "secret of " + i.ID, nil },
	}
	return deps
}

// scales lets a new overseer do the chore once.
func (e *elastic) scales(deps overseer.Deps) (overseer.Counts, error) {
	e.t.Helper()
	o, err := overseer.New(overseer.Config{Beat: time.Minute, Suspect: time.Minute, Down: time.Hour}, deps)
	require.NoError(e.t, err)
	return o.Scale(context.Background())
}

// goesOn does so for some rounds, 15 seconds apart.
func (e *elastic) goesOn(rounds int) {
	e.t.Helper()
	for range rounds {
		e.pass(15 * time.Second)
		_, err := e.scales(e.deps())
		require.NoError(e.t, err)
	}
}

// dying are the parts of an overseer that dies after some steps.
type (
	dyingRecords struct {
		*records
		m *coretest.Mortal
	}
	dyingFarm struct {
		*farm
		m *coretest.Mortal
	}
	dyingHosts struct {
		core.Hosts
		m *coretest.Mortal
	}
	dyingStore struct {
		overseer.Store
		m *coretest.Mortal
	}
)

func (d dyingRecords) PutInstance(ctx context.Context, i core.Instance) (revision int64, err error) {
	err = d.m.Step("put "+string(i.State), func() (err error) { revision, err = d.records.PutInstance(ctx, i); return err })
	return revision, err
}

func (d dyingFarm) Create(ctx context.Context, o cloud.Order) (foreign string, err error) {
	err = d.m.Step("create", func() (err error) { foreign, err = d.farm.Create(ctx, o); return err })
	return foreign, err
}

func (d dyingFarm) Terminate(ctx context.Context, token, foreign string) error {
	return d.m.Step("terminate", func() error { return d.farm.Terminate(ctx, token, foreign) })
}

func (d dyingHosts) Drain(ctx context.Context, host string, on bool, within time.Duration) error {
	return d.m.Step("drain", func() error { return d.Hosts.Drain(ctx, host, on, within) })
}

func (d dyingHosts) ForgetHost(ctx context.Context, host string) error {
	return d.m.Step("forget", func() error { return d.Hosts.ForgetHost(ctx, host) })
}

func (d dyingStore) PutHostWish(ctx context.Context, w core.HostWish) (is bool, err error) {
	err = d.m.Step("wish", func() (err error) { is, err = d.Store.PutHostWish(ctx, w); return err })
	return is, err
}

// mortal are the parts of an overseer that dies.
func (e *elastic) mortal(m *coretest.Mortal) overseer.Deps {
	deps := e.deps()
	deps.Elastic.Instances, deps.Hosts, deps.Store = dyingRecords{e.records, m}, dyingHosts{e.cluster, m}, dyingStore{e.store, m}
	deps.Elastic.Open = func(string, core.HostGroup) (cloud.Provider, error) {
		return dyingFarm{e.farm, m}, nil
	}
	return deps
}
