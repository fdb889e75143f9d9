package overseer_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/core/service/clock"
	"drover/overseer"
)

// drainedScene is a host that was drained with a deadline, with work of every kind in
// hand, and a clock that stands a second before that.
func (s *scene) drainedScene() *clock.Manual {
	s.host("h1", time.Hour)
	s.host("h2", time.Hour)
	s.submit("again", 3)
	s.submit("once", 1)
	claims := s.claim("h1", "again", 3, time.Hour)
	s.claim("h1", "once", 1, time.Hour)
	_, err := s.cluster.Cancel(context.Background(), claims[1].Key, "alice", core.CancelAny)
	require.NoError(s.t, err)
	_, err = s.store.Record(context.Background(), core.Result{
		ID: claims[2].ReadSpec().ID, Generation: 1, State: core.RequestCompleted, Token: claims[2].Token, VM: claims[2].VM,
	})
	require.NoError(s.t, err)
	require.NoError(s.t, s.cluster.Drain(context.Background(), "h1", true, 20*time.Second))
	host := s.hosts()["h1"]
	return clock.NewManual(time.UnixMilli(host.DrainUntil + 1))
}

func (s *scene) hosts() map[string]core.HostInfo {
	all, err := s.cluster.ListHosts(context.Background())
	require.NoError(s.t, err)
	out := make(map[string]core.HostInfo)
	for _, h := range all {
		out[h.Name] = h
	}
	return out
}

func (s *scene) held(role core.Role, host string) []core.Held {
	held, err := s.cluster.Held(context.Background(), core.OwnerName(role, host, 0), 0)
	require.NoError(s.t, err)
	return held
}

// requireDrained oversees to the end and requires that the drained host kept only what must not run twice.
func (s *scene) requireDrained(deps overseer.Deps) {
	_, err := s.oversee(deps)
	require.NoError(s.t, err)
	held := s.held(core.RoleTestrunner, "h1")
	require.Len(s.t, held, 1)
	require.Equal(s.t, "once", held[0].Pool)
	rows, err := s.store.List(context.Background(), core.Filter{Pool: "again"})
	require.NoError(s.t, err)
	states := map[core.RequestState]int{}
	for _, row := range rows {
		states[row.State]++
		if _, err := s.b.Admin.HGet(context.Background(), s.cluster.Namespace().Key("cancels"), row.Spec.Key()).Result(); err == nil {
			states[row.State]-- // the overseer died over it: its next claim ends it
			states[core.RequestCancelled]++
			continue
		}
		if row.State == core.RequestQueued {
			place := s.place(row.Spec.ID)
			require.Equal(s.t, "h2", place.Assigned)
			require.Zero(s.t, place.Attempts, "a drain uses none")
		}
	}
	require.Equal(s.t, map[core.RequestState]int{core.RequestQueued: 1, core.RequestCancelled: 1, core.RequestCompleted: 1}, states)
	coretest.RequireSound(s.t, s.cluster)
}

func TestADrainedHostIsEmptiedAtItsDeadline(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	clock := s.drainedScene()
	deps := s.depsAt(clock.Now)
	clock.Advance(-10 * time.Second)
	_, err := s.oversee(deps)
	require.NoError(t, err)
	require.Len(t, s.held(core.RoleTestrunner, "h1"), 4, "it is not yet time")
	clock.Advance(10 * time.Second)
	s.requireDrained(deps)
}

func TestPreview(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	s.host("h1", time.Hour)
	ids, once := s.submit("again", 2), s.submit("once", 1)
	s.claim("h1", "again", 2, time.Hour)
	s.claim("h1", "once", 1, time.Hour)
	s.hostWith("h2", time.Hour, 1)
	s.most(1)
	o, err := overseer.New(overseer.Config{}, s.deps())
	require.NoError(t, err)
	plan, err := o.Preview(context.Background(), "h1")
	require.NoError(t, err)
	p := core.DefaultPool("again")
	want := overseer.Planned{Pool: "again", Priority: core.PriorityNormal, Memory: p.Limits.Memory, From: "testrunner@h1#0"}
	first, second, last := want, want, want
	first.Request, first.To = core.Key(ids[0], 1), "h2"
	second.Request = core.Key(ids[1], 1)
	last.Request, last.Pool, last.Stays = core.Key(once[0], 1), "once", true
	require.Equal(t, []overseer.Planned{first, second, last}, plan)
	require.Len(t, s.held(core.RoleTestrunner, "h1"), 3, "nothing was moved")
	plan, err = o.Preview(context.Background(), "h2")
	require.NoError(t, err)
	require.Empty(t, plan)
}
