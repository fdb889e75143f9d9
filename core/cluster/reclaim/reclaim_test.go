package reclaim_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/reclaim"
	"drover/core/cluster/scale"
	"drover/core/service/clock"
	"drover/core/store/sqlite"
	"drover/core/store/sqlite/sqlitetest"
)

const name = "burst-000001"

// machine is one of a group, with what it was asked.
type machine struct {
	reclaim.Host

	t      *testing.T
	store  *sqlite.Store
	now    time.Time
	noted  chan time.Duration // how long it still has
	waits  int                // how often it was asked for a notice
	drains chan time.Duration // after how long work is moved
	warned atomic.Int32       // how often
	heard  chan struct{}      // if somebody listens: once for each warning
}

func newMachine(t *testing.T, states ...core.InstanceState) *machine {
	t.Helper()
	m := &machine{t: t, store: sqlitetest.Open(t), now: time.UnixMilli(1_800_000_000_000), noted: make(chan time.Duration, 1), drains: make(chan time.Duration, 10), heard: make(chan struct{}, 1000)}
	m.Host = reclaim.Host{
		Name: name, Store: m.store, Now: func() time.Time { return m.now }, Clock: at(m.now),
		Hears: func(g core.HostGroup) bool { return g.Spot },
		Warn: func(error, string) {
			m.warned.Add(1)
			select {
			case m.heard <- struct{}{}:
			default: // nobody listens
			}
		},
		Wait: func(ctx context.Context) (time.Duration, error) {
			m.waits++
			select {
			case left := <-m.noted:
				return left, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		},
		Drain: func(_ context.Context, host string, on bool, within time.Duration) error {
			require.Equal(t, name, host)
			require.True(t, on)
			m.drains <- within
			return nil
		},
	}
	_, err := m.store.PutHostGroup(t.Context(), core.HostGroup{Name: "burst", Provider: core.CloudCommand, Spot: true, Max: 3})
	require.NoError(t, err)
	for _, s := range states {
		m.becomes(s)
	}
	return m
}

// at is a clock in which no time passes while somebody waits.
type at time.Time

func (a at) Now() time.Time { return time.Time(a) }

func (a at) After(time.Duration) <-chan time.Time {
	c := make(chan time.Time, 1)
	c <- time.Time(a)
	return c
}

var _ clock.Clock = at{}

func (m *machine) becomes(s core.InstanceState) {
	m.t.Helper()
	i, err := m.store.GetInstance(m.t.Context(), name)
	if core.Is(err, core.CodeNotFound) {
		i, err = core.Instance{ID: name, Group: "burst", Created: m.now.UnixMilli()}, nil
	}
	require.NoError(m.t, err)
	i.State, i.Since = s, m.now.UnixMilli()
	if s == core.InstanceDraining {
		i.Deadline = m.now.Add(time.Hour).UnixMilli()
	}
	_, err = m.store.PutInstance(m.t.Context(), i)
	require.NoError(m.t, err)
}

func (m *machine) instance() core.Instance {
	m.t.Helper()
	i, err := m.store.GetInstance(m.t.Context(), name)
	require.NoError(m.t, err)
	return i
}

// runs runs the host until the end of a test, which may end it earlier.
func (m *machine) runs() (end func()) {
	ctx, stop := context.WithCancel(m.t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	end = sync.OnceFunc(func() {
		stop()
		require.NoError(m.t, <-done)
	})
	m.t.Cleanup(end)
	return end
}

var joined = []core.InstanceState{core.InstanceValid, core.InstanceCreating, core.InstanceRunning, core.InstanceJoined}

func TestAHostDrainsWhenItsMachineIsTakenBack(t *testing.T) {
	t.Parallel()
	for _, draining := range []bool{false, true} {
		m := newMachine(t, joined...)
		if draining { // idle for long, and work is left to it for an hour
			m.becomes(core.InstanceDraining)
		}
		m.runs()
		m.noted <- 2 * time.Minute
		require.Equal(t, 90*time.Second, <-m.drains, "there is time to move what it has")
		i := m.instance()
		require.Equal(t, core.InstanceDraining, i.State)
		require.True(t, i.Reclaim, "no overseer takes the drain back")
		require.Equal(t, m.now.Add(2*time.Minute).UnixMilli(), i.Deadline)
		its, err := m.store.HostWishes(t.Context(), name)
		require.NoError(t, err)
		w, is := core.FindWish(its, core.WishDrain)
		require.True(t, is)
		require.Equal(t, scale.By, w.By)
		require.Equal(t, "its provider takes it back", w.Reason)
		require.Equal(t, m.now.Add(90*time.Second).UnixMilli(), w.Until)
	}
}

// The notice comes before an overseer has seen the host: what is written waits for that.
func TestANoticeBeforeAnOverseerSawTheHost(t *testing.T) {
	t.Parallel()
	m := newMachine(t, core.InstanceValid, core.InstanceCreating, core.InstanceRunning)
	m.runs()
	m.noted <- time.Minute
	for range 3 { // the notice, and two tries
		<-m.heard
	}
	require.Empty(t, m.drains)
	m.becomes(core.InstanceJoined)
	require.Equal(t, 45*time.Second, <-m.drains)
	require.Equal(t, core.InstanceDraining, m.instance().State)
}

// A machine that ends already is left alone.
func TestANoticeOfAMachineThatEnds(t *testing.T) {
	t.Parallel()
	m := newMachine(t, append(joined, core.InstanceTerminating)...)
	end := m.runs()
	m.noted <- time.Minute
	<-m.heard
	end()
	require.Empty(t, m.drains)
	require.Equal(t, core.InstanceTerminating, m.instance().State)
}

// Only machines that hear of it are asked.
func TestOtherMachinesAreNotAsked(t *testing.T) {
	t.Parallel()
	for what, m := range map[string]*machine{
		"no machine of a group":   newMachine(t),
		"of a group that is deaf": newMachine(t, joined...),
	} {
		m.Hears = func(g core.HostGroup) bool {
			require.Equal(t, "burst", g.Name)
			return false
		}
		read := make(chan struct{})
		m.Store = telling{m.store, read}
		end := m.runs()
		<-read
		end()
		require.Zero(t, m.waits, what)
	}
}

// telling says when the store was asked for what decides.
type telling struct {
	*sqlite.Store

	read chan struct{}
}

func (s telling) GetInstance(ctx context.Context, id string) (core.Instance, error) {
	i, err := s.Store.GetInstance(ctx, id)
	if err != nil {
		close(s.read)
	}
	return i, err
}

func (s telling) HostGroups(ctx context.Context) ([]core.HostGroup, error) {
	defer close(s.read)
	return s.Store.HostGroups(ctx)
}

// Without a metadata service the host goes on, and says so once.
func TestAMachineThatCannotSay(t *testing.T) {
	t.Parallel()
	m := newMachine(t, joined...)
	m.Wait = func(context.Context) (time.Duration, error) { return 0, errors.New("nobody answers") }
	end := m.runs()
	<-m.heard
	end()
	require.EqualValues(t, 1, m.warned.Load())
	require.Empty(t, m.drains)
}
