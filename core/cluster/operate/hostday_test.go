package operate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/operate"
	"drover/core/coretest"
)

// A host's day is what its changes say, backwards from how it is now; before the oldest change nothing is known.
func TestHostDays(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	ctx, now := t.Context(), w.clock().UnixMilli()
	const hour = int64(time.Hour / time.Millisecond)
	ago := func(hours int64, state, how string) core.StateChange {
		return core.StateChange{Kind: core.EntityHost, Thing: "h1", At: now - hours*hour, N: hours, State: state, How: how}
	}
	days, err := w.op.HostDays(ctx, otto, "")
	require.NoError(t, err)
	from := now - 24*hour
	require.Equal(t, []operate.HostDay{{Host: "h1", Stretches: []operate.Stretch{{From: from, Until: now, State: core.HostUp}}}}, days,
		"without a change it was as it is")

	require.NoError(t, w.store.AddStateChanges(ctx, []core.StateChange{
		ago(20, "up", "up"), ago(10, "", "drain"), ago(8, "", "undrain"), ago(6, "", "probation"), ago(4, "suspect", "suspect"), ago(3, "down", "down"), ago(1, "up", "up"),
	}))
	days, err = w.op.HostDays(ctx, otto, "")
	require.NoError(t, err)
	require.Len(t, days, 1)
	require.Equal(t, []operate.Stretch{
		{From: from, Until: now - 20*hour},
		{From: now - 20*hour, Until: now - 10*hour, State: core.HostUp},
		{From: now - 10*hour, Until: now - 8*hour, State: core.HostUp, Drain: true},
		{From: now - 8*hour, Until: now - 4*hour, State: core.HostUp},
		{From: now - 4*hour, Until: now - 3*hour, State: core.HostSuspect},
		{From: now - 3*hour, Until: now - hour, State: core.HostDown},
		{From: now - hour, Until: now, State: core.HostUp},
	}, days[0].Stretches)
	require.Equal(t, 1, days[0].Fell)
	require.InDelta(t, 17.0/20, days[0].UpPart(), 1e-9)

	days, err = w.op.HostDays(ctx, otto, "h1")
	require.NoError(t, err)
	require.Empty(t, days)
	_, err = w.op.HostDays(ctx, ann, "")
	requireCode(t, core.CodeForbidden, err)
}

// What an operator has to see at once is a warning: nobody at work, no host for what waits.
func TestWarnings(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	ctx := t.Context()
	of := func(kind operate.WarningKind) (found []operate.Warning) {
		w.pass(2 * time.Second)
		v, err := w.op.Overview(ctx, otto)
		require.NoError(t, err)
		for _, one := range v.Warnings {
			if one.Kind == kind {
				found = append(found, one)
			}
		}
		return found
	}
	require.NotEmpty(t, of(operate.WarnMissing))
	w.submit(t, r1, "ann")
	require.Empty(t, of(operate.WarnAway))
	require.NoError(t, w.Store.Drain(ctx, "h1", true, 0))
	require.Equal(t, []operate.Warning{{
		Kind: operate.WarnAway, Pool: "p1", Waiting: 1, Away: []operate.Away{{Host: "h1", State: core.HostUp, Drain: true}},
	}}, of(operate.WarnAway))
	require.NoError(t, w.Store.Drain(ctx, "h1", false, 0))
	require.Empty(t, of(operate.WarnAway))
	require.Empty(t, of(operate.WarnUnmade))
	other := core.DefaultPool("p2")
	require.NoError(t, w.in.SetPool(ctx, other))
	_, _, err := w.in.Submit(ctx, core.Spec{ID: r2, Pool: "p2", Submitter: "ann", Command: []string{"true"}})
	require.NoError(t, err)
	require.Equal(t, []operate.Warning{{Kind: operate.WarnUnmade, Pool: "p2", Waiting: 1}}, of(operate.WarnUnmade))
	other.Paused = true
	require.NoError(t, w.in.SetPool(ctx, other))
	require.Equal(t, []operate.Warning{{Kind: operate.WarnPaused, Pool: "p2", Waiting: 1}}, of(operate.WarnPaused))
	_, err = w.Store.SetOutage(ctx, "p1", core.Outage{Host: "h1", Why: "no image"})
	require.NoError(t, err)
	broken := of(operate.WarnBroken)
	require.Len(t, broken, 1)
	require.Equal(t, "no image", broken[0].Outage.Why)
}
