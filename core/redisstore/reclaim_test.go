package redisstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
)

// What an owner holds and Redis lost goes on in its VM. What was taken away, has ended, or is in another's hand does not.
func TestReclaim(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		meanwhile func(t *testing.T, x *suite, c core.Claim) // since Redis lost all
		knows     bool                                       // the owner made sure of its claims in this incarnation
		back      bool
	}{
		"nobody knows of it": {back: true},
		"it is queued again": {back: true, meanwhile: func(t *testing.T, x *suite, c core.Claim) { x.Submit(t, c.ReadSpec()) }},
		"its VM is taken for a clean one": {back: true, meanwhile: func(t *testing.T, x *suite, c core.Claim) {
			x.found(t, c.VM, core.Found{Pool: "p1", Usable: true})
		}},
		"its VM is to be destroyed": {back: true, meanwhile: func(t *testing.T, x *suite, c core.Claim) {
			x.found(t, c.VM, core.Found{Pool: "p1", Used: true})
		}},
		"Redis knows what it did": {knows: true},
		"it has ended": {meanwhile: func(t *testing.T, x *suite, c core.Claim) {
			h2 := x.other(t, "h2")
			h2.Submit(t, c.ReadSpec())
			h2.AddVMs(t, 1)
			h2.Exchange(t, 2, 0, end(h2.Exchange(t, 1, 1).Claims[0], core.OutcomeDone))
		}},
		"another owner has it": {meanwhile: func(t *testing.T, x *suite, c core.Claim) {
			h2 := x.other(t, "h2")
			h2.Submit(t, c.ReadSpec())
			h2.AddVMs(t, 1)
			require.Len(t, h2.Exchange(t, 1, 1).Claims, 1)
		}},
		"its VM is being destroyed": {meanwhile: func(t *testing.T, x *suite, c core.Claim) {
			x.found(t, c.VM, core.Found{Pool: "p1", Used: true})
			gone, err := x.Store.Destroy(t.Context(), x.Factory, x.Made, x.Host, 1)
			require.NoError(t, err)
			require.Equal(t, []string{c.VM}, gone)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			x := newSuite(t, coretest.Mini(t), false)
			c := x.claim(t, 1, "a")
			x.b.Mini.FlushAll()
			x.Cluster = x.other(t, "h1")
			if test.meanwhile != nil {
				test.meanwhile(t, x, c)
			}
			sure, err := x.Store.Reclaim(ctx, x.Runner, "h1", x.Epoch, "", nil)
			require.NoError(t, err)
			incarnation, back := "", 0
			if test.knows {
				incarnation = sure.Incarnation
			}
			if test.back {
				back = 1
			}
			mine := []core.HeldClaim{{Claim: c, Phase: string(core.RequestRunning), Limit: time.Hour}}
			for range 2 { // a repeat finds what it put back
				got, err := x.Store.Reclaim(ctx, x.Runner, "h1", x.Epoch, incarnation, mine)
				require.NoError(t, err)
				require.Equal(t, []bool{test.back}, got.Held)
				require.Equal(t, back, got.PutBack)
				incarnation, back = got.Incarnation, 0
			}
			coretest.RequireSound(t, x.Store)
			require.Empty(t, x.Exchange(t, 1, 2).Claims, "neither it nor its VM is there for another")
			if test.back {
				place := x.place(t, c.Key)
				require.Equal(t, []string{x.Runner, c.VM, c.Token}, []string{place.Owner, place.VM, place.Token})
				require.Equal(t, []bool{true}, x.Exchange(t, 2, 0, end(c, core.OutcomeDone)).Finished)
			} else {
				require.NotEqual(t, x.Runner, x.place(t, c.Key).Owner)
			}
			coretest.RequireSound(t, x.Store)
		})
	}
}

// found lets the vmfactory of the suite's host report a VM.
func (x *suite) found(t *testing.T, vm string, its core.Found) {
	t.Helper()
	_, err := x.Store.Reconcile(t.Context(), x.Factory, x.Made, x.Host, map[string]core.Found{vm: its}, nil)
	require.NoError(t, err)
}
