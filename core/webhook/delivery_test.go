package webhook_test

import (
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/webhook"
)

func TestDeliveryID(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_700_000_000_000)
	id := webhook.DeliveryID(at, core.EventRequestEnded, "r-1", "w")
	require.Equal(t, id, webhook.DeliveryID(at, core.EventRequestEnded, "r-1", "w"))
	require.NoError(t, core.CheckName("task id", id))
	parsed, err := ulid.ParseStrict(id)
	require.NoError(t, err)
	require.EqualValues(t, at.UnixMilli(), parsed.Time())
	for _, other := range []string{
		webhook.DeliveryID(at, core.EventTaskEnded, "r-1", "w"), webhook.DeliveryID(at, core.EventRequestEnded, "r-2", "w"),
		webhook.DeliveryID(at, core.EventRequestEnded, "r-1", "w2"),
	} {
		require.NotEqual(t, id, other)
	}
	require.Less(t, id, webhook.DeliveryID(at.Add(time.Millisecond), core.EventRequestEnded, "r-1", "w"))
}

func TestPause(t *testing.T) {
	t.Parallel()
	var total time.Duration
	for n := 1; n < webhook.Tries; n++ {
		p := webhook.Pause(n, 0.5)
		total += p
		require.InEpsilon(t, 0.9*float64(p), float64(webhook.Pause(n, 0)), 1e-9)
		require.InEpsilon(t, 1.1*float64(p), float64(webhook.Pause(n, 1)), 1e-9)
	}
	require.Equal(t, 75*time.Hour+35*time.Minute+5*time.Second, total, "as the standard recommends")
	require.Equal(t, 5*time.Second, webhook.Pause(0, 0.5))
	require.Equal(t, 24*time.Hour, webhook.Pause(99, 0.5))
}
