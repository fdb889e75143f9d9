package storetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// instanceTests are those of machines of host providers.
func instanceTests() []test {
	return []test{
		{"HostGroups", hostGroups},
		{"HostGroupsLimit", hostGroupsLimit},
		{"Instances", instances},
		{"InstancesRefuse", instancesRefuse},
		{"InstancesPurge", instancesPurge},
		{"RaceInstances", raceInstances},
		{"RaceHostGroupDelete", raceHostGroupDelete},
	}
}

// HostGroup makes a group of hosts.
func HostGroup(name string) core.HostGroup {
	return core.HostGroup{Name: name, Provider: "process", Profile: []byte(`{"x":1}`), Size: core.Size{CPU: 1000, Memory: 5}, Labels: "zone=a", Max: 3}
}

// Instance makes an instance of a group, which nobody has asked its provider for.
func Instance(group string) core.Instance {
	return core.Instance{ID: NewID(), Group: group, State: core.InstanceValid, Type: "m", Region: "eu", Created: 5, Since: 6}
}

func mustGroup(t *testing.T, s school.ResultStore, g core.HostGroup) core.HostGroup {
	t.Helper()
	revision, err := s.PutHostGroup(t.Context(), g)
	require.NoError(t, err)
	require.Equal(t, g.Revision+1, revision)
	g.Revision = revision
	return g
}

// mustInstance puts an instance, in each of the states in turn.
func mustInstance(t *testing.T, s school.ResultStore, i core.Instance, states ...core.InstanceState) core.Instance {
	t.Helper()
	for n := 0; n == 0 || n < len(states); n++ {
		if len(states) > 0 {
			i.State = states[n]
		}
		revision, err := s.PutInstance(t.Context(), i)
		require.NoError(t, err)
		require.Equal(t, i.Revision+1, revision)
		i.Revision = revision
	}
	return i
}

func groupsOf(t *testing.T, s school.ResultStore) []core.HostGroup {
	t.Helper()
	all, err := s.HostGroups(t.Context())
	require.NoError(t, err)
	return append([]core.HostGroup{}, all...)
}

func instancesOf(t *testing.T, s school.ResultStore, f core.InstanceFilter) []core.Instance {
	t.Helper()
	all, err := s.ListInstances(t.Context(), f)
	require.NoError(t, err)
	return append([]core.Instance{}, all...)
}

func hostGroups(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	require.Empty(t, groupsOf(t, s))
	b, a := mustGroup(t, s, HostGroup("b")), mustGroup(t, s, HostGroup("a"))
	b.Paused, b.Max = true, 9
	b = mustGroup(t, s, b)
	require.Equal(t, []core.HostGroup{a, b}, groupsOf(t, s))
	_, err := s.PutHostGroup(ctx, HostGroup("a"))
	requireCode(t, core.CodeConflict, err)
	b.Revision--
	_, err = s.PutHostGroup(ctx, b)
	requireCode(t, core.CodeConflict, err)
	lost := HostGroup("c")
	lost.Revision = 1
	_, err = s.PutHostGroup(ctx, lost)
	requireCode(t, core.CodeNotFound, err)
	_, err = s.PutHostGroup(ctx, HostGroup("A"))
	requireCode(t, core.CodeInvalid, err)

	requireCode(t, core.CodeNotFound, s.DeleteHostGroup(ctx, "c"))
	one := mustInstance(t, s, Instance("a"))
	requireCode(t, core.CodeConflict, s.DeleteHostGroup(ctx, "a"))
	mustInstance(t, s, one, core.InstanceTerminated)
	require.NoError(t, s.DeleteHostGroup(ctx, "a"))
	requireCode(t, core.CodeNotFound, s.DeleteHostGroup(ctx, "a"))
	require.Len(t, groupsOf(t, s), 1)
	_, err = s.PutInstance(ctx, Instance("a"))
	requireCode(t, core.CodeNotFound, err)
	mustGroup(t, s, HostGroup("a"))
	mustInstance(t, s, Instance("a"))
}

func hostGroupsLimit(t *testing.T, s school.ResultStore) {
	for i := range core.MaxHostGroups {
		mustGroup(t, s, HostGroup(fmt.Sprintf("g%d", i)))
	}
	_, err := s.PutHostGroup(t.Context(), HostGroup("one-more"))
	requireCode(t, core.CodeLimit, err)
	g := groupsOf(t, s)[0]
	g.Paused = true
	mustGroup(t, s, g)
}

func instances(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	mustGroup(t, s, HostGroup("a"))
	mustGroup(t, s, HostGroup("b"))
	_, err := s.GetInstance(ctx, NewID())
	requireCode(t, core.CodeNotFound, err)
	one, two, three := mustInstance(t, s, Instance("a")), mustInstance(t, s, Instance("b")), mustInstance(t, s, Instance("a"))
	one.Foreign, one.Tries, one.Deadline, one.Why = "i-1", 2, 77, "ü"
	one = mustInstance(t, s, one, core.InstanceCreating, core.InstanceCreating, core.InstanceRunning)
	two = mustInstance(t, s, two, core.InstanceTerminated)
	got, err := s.GetInstance(ctx, one.ID)
	require.NoError(t, err)
	require.Equal(t, one, got)
	require.Equal(t, []core.Instance{three, two, one}, instancesOf(t, s, core.InstanceFilter{}))
	require.Equal(t, []core.Instance{three, one}, instancesOf(t, s, core.InstanceFilter{Group: "a"}))
	require.Equal(t, []core.Instance{two, one}, instancesOf(t, s, core.InstanceFilter{States: []core.InstanceState{core.InstanceRunning, core.InstanceTerminated}}))
	require.Equal(t, []core.Instance{one}, instancesOf(t, s, core.InstanceFilter{Group: "a", States: []core.InstanceState{core.InstanceRunning}}))
	require.Equal(t, []core.Instance{two}, instancesOf(t, s, core.InstanceFilter{Before: three.ID, Limit: 1}))
}

func instancesRefuse(t *testing.T, s school.ResultStore) {
	ctx := t.Context()
	mustGroup(t, s, HostGroup("a"))
	mustGroup(t, s, HostGroup("b"))
	one := mustInstance(t, s, Instance("a"))
	for name, change := range map[string]func(i *core.Instance) core.Code{
		"id": func(i *core.Instance) core.Code { i.ID = "A"; return core.CodeInvalid },
		"new and made": func(i *core.Instance) core.Code {
			i.ID, i.Revision, i.State = NewID(), 0, core.InstanceRunning
			return core.CodeConflict
		},
		"taken":   func(i *core.Instance) core.Code { i.Revision = 0; return core.CodeConflict },
		"unknown": func(i *core.Instance) core.Code { i.ID = NewID(); return core.CodeNotFound },
		"old":     func(i *core.Instance) core.Code { i.Revision = 7; return core.CodeConflict },
		"move":    func(i *core.Instance) core.Code { i.State = core.InstanceJoined; return core.CodeConflict },
		"group":   func(i *core.Instance) core.Code { i.Group = "b"; return core.CodeConflict },
	} {
		bad := one
		code := change(&bad)
		_, err := s.PutInstance(ctx, bad)
		require.Equal(t, code, core.CodeOf(err), "%s: %v", name, err)
	}
	require.Equal(t, []core.Instance{one}, instancesOf(t, s, core.InstanceFilter{}))
	_, err := s.ListInstances(ctx, core.InstanceFilter{Limit: 1001})
	requireCode(t, core.CodeInvalid, err)
	_, err = s.ListInstances(ctx, core.InstanceFilter{States: make([]core.InstanceState, 17)})
	requireCode(t, core.CodeInvalid, err)
}

func instancesPurge(t *testing.T, s school.ResultStore) {
	mustGroup(t, s, HostGroup("a"))
	open := mustInstance(t, s, Instance("a"))
	late := Instance("a")
	late.Since = soon().UnixMilli() * 2
	mustInstance(t, s, mustInstance(t, s, late), core.InstanceTerminated)
	for range 3 {
		mustInstance(t, s, mustInstance(t, s, Instance("a")), core.InstanceTerminated)
	}
	for _, want := range []int{2, 1, 0} {
		n, err := s.Purge(t.Context(), soon(), 2)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	left := instancesOf(t, s, core.InstanceFilter{})
	require.Len(t, left, 2)
	require.Equal(t, open, left[1])
}

// raceInstances has many move one instance on: each move is made once.
func raceInstances(t *testing.T, s school.ResultStore) {
	mustGroup(t, s, HostGroup("a"))
	one := mustInstance(t, s, Instance("a"))
	one.State = core.InstanceCreating
	var made atomic.Int32
	race(t, func(int) error {
		_, err := s.PutInstance(t.Context(), one)
		if core.Is(err, core.CodeConflict) {
			return nil
		}
		made.Add(1)
		return err
	})
	require.EqualValues(t, 1, made.Load())
}

// raceHostGroupDelete makes instances of a group while that is deleted: none is left of a group that is gone.
func raceHostGroupDelete(t *testing.T, s school.ResultStore) {
	for round := range 10 {
		name := fmt.Sprintf("g%d", round)
		mustGroup(t, s, HostGroup(name))
		together(t, 8, func(i int) error {
			var err error
			if i%2 == 0 {
				err = s.DeleteHostGroup(t.Context(), name)
			} else {
				_, err = s.PutInstance(t.Context(), Instance(name))
			}
			if core.Is(err, core.CodeConflict) || core.Is(err, core.CodeNotFound) || core.Is(err, core.CodeUnavailable) {
				return nil
			}
			return err
		})
		there := false
		for _, g := range groupsOf(t, s) {
			there = there || g.Name == name
		}
		if len(instancesOf(t, s, core.InstanceFilter{Group: name})) > 0 {
			require.True(t, there)
		}
	}
}

// instanceCalls are those about machines of host providers.
func instanceCalls() map[string]Call {
	return map[string]Call{
		"PutHostGroup": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.PutHostGroup(ctx, HostGroup("g"))
			return err
		},
		"DeleteHostGroup": func(ctx context.Context, s school.ResultStore) error { return s.DeleteHostGroup(ctx, "g") },
		"HostGroups":      func(ctx context.Context, s school.ResultStore) error { _, err := s.HostGroups(ctx); return err },
		"PutInstance": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.PutInstance(ctx, Instance("g"))
			return err
		},
		"GetInstance": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.GetInstance(ctx, NewID())
			return err
		},
		"ListInstances": func(ctx context.Context, s school.ResultStore) error {
			_, err := s.ListInstances(ctx, core.InstanceFilter{})
			return err
		},
	}
}
