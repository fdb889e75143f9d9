package operate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
)

// Each state that a machine may have, ended by an operator, becomes what the table allows, and its deadline is its
// group's.
func TestMachinesAreEnded(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	w.op.Elastic = w.store
	g, err := w.op.SetGroup(t.Context(), olga, core.HostGroup{Name: "g", Provider: core.CloudProcess, Max: 9, DrainFor: time.Minute})
	require.NoError(t, err)
	require.EqualValues(t, 1, g.Revision)
	paths := map[core.InstanceState][]core.InstanceState{
		core.InstanceValid:       {core.InstanceValid},
		core.InstanceCreating:    {core.InstanceValid, core.InstanceCreating},
		core.InstanceRunning:     {core.InstanceValid, core.InstanceCreating, core.InstanceRunning},
		core.InstanceJoined:      {core.InstanceValid, core.InstanceCreating, core.InstanceRunning, core.InstanceJoined},
		core.InstanceDraining:    {core.InstanceValid, core.InstanceCreating, core.InstanceRunning, core.InstanceJoined, core.InstanceDraining},
		core.InstanceTerminating: {core.InstanceValid, core.InstanceCreating, core.InstanceTerminating},
		core.InstanceTerminated:  {core.InstanceValid, core.InstanceTerminated},
	}
	for state, way := range paths {
		for _, now := range []bool{false, true} {
			i := core.Instance{ID: "g-" + string(state), Group: "g", Created: 5}
			if now {
				i.ID += "-now"
			}
			for _, i.State = range way {
				i.Revision, err = w.store.PutInstance(t.Context(), i)
				require.NoError(t, err)
			}
			got, err := w.op.Terminate(t.Context(), olga, i.ID, now)
			want := core.InstanceTerminating
			switch {
			case state == core.InstanceTerminated:
				requireCode(t, core.CodeConflict, err)
				continue
			case state == core.InstanceValid:
				want = core.InstanceTerminated
			case !now && (state == core.InstanceJoined || state == core.InstanceDraining):
				want = core.InstanceDraining
				if state == core.InstanceJoined {
					require.Equal(t, w.now.Add(time.Minute).UnixMilli(), got.Deadline)
				}
			}
			require.NoError(t, err, state)
			require.Equal(t, want, got.State, "%s, now: %v", state, now)
		}
	}
	requireCode(t, core.CodeConflict, w.op.RemoveGroup(t.Context(), olga, "g"))
	groups, err := w.op.Groups(t.Context(), otto)
	require.NoError(t, err)
	require.Equal(t, 2, groups[0].Counts[core.InstanceDraining]+groups[0].Counts[core.InstanceJoined])
	require.Zero(t, groups[0].Counts[core.InstanceTerminated])
}

func TestHostGroups(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	w.op.Elastic = w.store
	good := core.HostGroup{Name: "g", Provider: core.CloudProcess, Max: 2, Profile: []byte(`{"secret":"s3cret"}`)}
	_, err := w.op.SetGroup(t.Context(), otto, good)
	requireCode(t, core.CodeForbidden, err)
	bad := good
	bad.Min = 3
	_, err = w.op.SetGroup(t.Context(), olga, bad)
	requireCode(t, core.CodeInvalid, err)
	w.op.CheckGroup = func(core.HostGroup) error { return core.Errorf(core.CodeInvalid, "", "the profile") }
	_, err = w.op.SetGroup(t.Context(), olga, good)
	requireCode(t, core.CodeInvalid, err)
	w.op.CheckGroup = nil
	_, err = w.op.SetGroup(t.Context(), olga, good)
	require.NoError(t, err)
	_, err = w.op.SetGroup(t.Context(), olga, good)
	requireCode(t, core.CodeConflict, err)

	_, err = w.op.Groups(t.Context(), ann)
	requireCode(t, core.CodeForbidden, err)
	got, err := w.op.Group(t.Context(), otto, "g")
	require.NoError(t, err)
	require.Empty(t, got.Profile, "who only looks does not see what may be a secret")
	got, err = w.op.Group(t.Context(), olga, "g")
	require.NoError(t, err)
	require.JSONEq(t, `{"secret":"s3cret"}`, string(got.Profile))
	require.NoError(t, w.op.PauseGroup(t.Context(), olga, "g", true))
	require.NoError(t, w.op.PauseGroup(t.Context(), olga, "g", true), "it is already")
	got, err = w.op.Group(t.Context(), olga, "g")
	require.NoError(t, err)
	require.True(t, got.Paused)
	require.JSONEq(t, `{"secret":"s3cret"}`, string(got.Profile), "it stays")
	requireCode(t, core.CodeForbidden, w.op.RemoveGroup(t.Context(), otto, "g"))
	require.NoError(t, w.op.RemoveGroup(t.Context(), olga, "g"))
	requireCode(t, core.CodeNotFound, w.op.RemoveGroup(t.Context(), olga, "g"))
	_, err = w.op.Instances(t.Context(), otto, core.InstanceFilter{States: []core.InstanceState{"gone"}})
	requireCode(t, core.CodeInvalid, err)
	require.Equal(t, []string{"olga removes host group g", "olga changes host group g: 0 to 2 hosts of process, paused", "olga makes host group g: 0 to 2 hosts of process"},
		dropFailed(w.entries(t)))
}

// dropFailed leaves out actions that failed, with what failed of them.
func dropFailed(entries []string) []string {
	var done []string
	for n := 0; n < len(entries); n++ {
		if len(entries[n]) > len("olga failed:") && entries[n][:len("olga failed:")] == "olga failed:" {
			n++
			continue
		}
		done = append(done, entries[n])
	}
	return done
}
