package redisstore_test

import (
	"testing"
	"time"

	"drover/core"

	"github.com/stretchr/testify/require"
)

// A fault pauses a request, longer each time, and after the second it goes to another host
// that has a VM for it.
func TestAFaultPausesThenShunsTheHost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		h2, h3 := x.other(t, "h2"), x.other(t, "h3")
		c := x.start(t, 1)[0]
		x.AddVMs(t, 5)
		h2.AddVMs(t, 1)
		h3.AddVMs(t, 3)
		require.NoError(t, x.Store.Drain(t.Context(), "h3", true, 0))
		seq := int64(1)
		for try, pause := range []time.Duration{250 * time.Millisecond, time.Second} {
			seq++
			before := x.now(t)
			x.Exchange(t, seq, 0, end(c, core.OutcomeRetry))
			due := time.UnixMilli(x.place(t, c.Key).Due)
			require.WithinRange(t, due, before.Add(pause-time.Millisecond), x.now(t).Add(pause+time.Millisecond))
			seq++
			claims := x.Exchange(t, seq, 1).Claims
			if x.now(t).Before(due) {
				require.Empty(t, claims, "it pauses")
			}
			x.pausesEnd(t)
			if try == 0 {
				if len(claims) == 0 { // else this machine was busy for the whole pause
					seq++
					claims = x.Exchange(t, seq, 1).Claims
				}
				c = claims[0]
				require.Equal(t, 1, c.Attempts)
			}
		}
		n, err := x.Store.Promote(t.Context())
		require.NoError(t, err)
		require.Equal(t, !x.twice, n == 1)
		require.Equal(t, "h2", x.place(t, c.Key).Assigned, "h3 has more VMs, but is drained")
		require.Equal(t, []string{"a0-1 scheduled h1>h2"}, x.moves(t))
		require.Empty(t, x.Exchange(t, seq+1, 1).Claims)
		require.Equal(t, []string{"a0-1"}, keysOf(h2.Exchange(t, 1, 1).Claims))
	})
}

// Where there is no other host, a request is tried again where it was.
func TestAFaultWithoutAnotherHost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		h2 := x.other(t, "h2") // without VMs
		c := x.start(t, 1)[0]
		x.AddVMs(t, 5)
		for try := range 3 {
			x.Exchange(t, int64(2*try+2), 0, end(c, core.OutcomeRetry))
			x.pausesEnd(t)
			_, err := x.Store.Beat(t.Context(), h2.Factory, h2.Made, time.Minute)
			require.NoError(t, err, "any heartbeat lets it go")
			c = x.Exchange(t, int64(2*try+3), 1).Claims[0]
			require.Equal(t, try+1, c.Attempts)
		}
	})
}

// Deaths are kept by name, oldest first, and told to who settles and who claims.
func TestDeathsAreTold(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		c := x.start(t, 1)[0]
		x.AddVMs(t, 20)
		for i := range 10 {
			epoch, err := x.Store.DeclareDead(t.Context(), x.Runner, x.Epoch)
			require.NoError(t, err)
			_, err = x.Store.Settle(t.Context(), x.Runner, epoch, []core.Settlement{settlement(c, core.OutcomeRetry, "")}, 0)
			require.NoError(t, err)
			x.pausesEnd(t)
			x.Epoch = x.Register(t, x.Runner).Epoch
			c = x.Exchange(t, 1, 1).Claims[0]
			held, err := x.Store.Held(t.Context(), x.Runner, 0)
			require.NoError(t, err)
			require.Len(t, held[0].Deaths, min(i+1, 8))
			require.Equal(t, core.Death{Of: x.Runner, Counts: true}, held[0].Deaths[0])
			require.Equal(t, held[0].Deaths, c.Deaths)
			require.Equal(t, i+1, c.Attempts)
		}
	})
}
