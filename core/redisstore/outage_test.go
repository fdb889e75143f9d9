package redisstore_test

import (
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

// outage is that of pool p1, as the store lists it.
func (x *suite) outage(t *testing.T) (core.Outage, bool) {
	t.Helper()
	all, err := x.Store.Outages(t.Context())
	require.NoError(t, err)
	o, is := all["p1"]
	require.Len(t, all, map[bool]int{true: 1}[is])
	return o, is
}

// breaks records an outage, and returns whether it began.
func (x *suite) breaks(t *testing.T, host, why string) bool {
	t.Helper()
	changed, err := x.Store.SetOutage(t.Context(), "p1", core.Outage{Host: host, Why: why})
	require.NoError(t, err)
	return changed
}

func (x *suite) note(t *testing.T, broken map[string]string) {
	t.Helper()
	require.NoError(t, x.Store.Note(t.Context(), x.Factory, x.Made, "h1", core.HostNotes{Broken: broken, Serves: []string{"p1"}}))
}

func TestAnOutageHasABeginAndAnEnd(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		before := x.picture(t)
		require.False(t, x.breaks(t, "", ""), "there is none to end")
		x.changed(t, before)
		require.Equal(t, !x.twice, x.breaks(t, "h1", "no | image"))
		o, _ := x.outage(t)
		require.Equal(t, "no | image", o.Why)
		require.False(t, x.breaks(t, "h0", "no disk"), "it goes on")
		now, is := x.outage(t)
		require.True(t, is)
		require.Equal(t, core.Outage{Since: o.Since, Host: "h0", Why: "no disk", Lasted: now.Lasted}, now)
		require.NoError(t, x.Store.SetPool(t.Context(), core.DefaultPool("p1")))
		_, is = x.outage(t)
		require.True(t, is, "new settings do not end it")
		require.Equal(t, !x.twice, x.breaks(t, "", ""))
		_, is = x.outage(t)
		require.False(t, is)

		before = x.picture(t)
		changed, err := x.Store.SetOutage(t.Context(), "nosuch", core.Outage{Host: "h1", Why: "no disk"})
		require.NoError(t, err)
		require.False(t, changed)
		x.changed(t, before)
	})
}

// A host that reports the pool working ends the outage at once, seen by an overseer or not; other reports do not.
func TestAReportThatAPoolWorksEndsItsOutage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.note(t, map[string]string{"p1": "no image", "p2": "no image"})
		x.breaks(t, "h1", "no image")
		x.note(t, map[string]string{"p1": `no disk, says "p9":"p2"`})
		x.note(t, map[string]string{"p1": "no disk", "p3": "no disk"})
		_, is := x.outage(t)
		require.True(t, is)
		x.note(t, map[string]string{"p3": "no disk"})
		_, is = x.outage(t)
		require.False(t, is)
		x.breaks(t, "h1", "no disk")
		x.note(t, map[string]string{"p3": "no disk"})
		x.note(t, nil)
		_, is = x.outage(t)
		require.True(t, is, "of p1 nothing new was reported")
	})
}

func TestAnOutageByAClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Mini(t), false)
	lasted := func() time.Duration {
		o, is := x.outage(t)
		require.True(t, is)
		return o.Lasted
	}
	x.breaks(t, "h1", "no image")
	x.b.Mini.SetTime(start.Add(time.Hour))
	require.Equal(t, time.Hour, lasted())
	x.b.Mini.SetTime(start.Add(-24 * time.Hour))
	require.Zero(t, lasted())
	x.breaks(t, "h1", "no image")
	x.b.Mini.SetTime(start.Add(-23 * time.Hour))
	require.Equal(t, time.Hour, lasted(), "it counts from when that was seen")
}

// A removed pool takes its outage along.
func TestARemovedPoolHasNoOutage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		x.breaks(t, "h1", "no image")
		require.NoError(t, x.Store.RemovePool(t.Context(), "p1", false))
		require.NoError(t, x.Store.SetPool(t.Context(), core.DefaultPool("p1")))
		_, is := x.outage(t)
		require.False(t, is)
	})
}
