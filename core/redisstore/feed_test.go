package redisstore_test

import (
	"testing"
	"time"

	"drover/core"

	"github.com/stretchr/testify/require"
)

func TestFeedTellsOfAllAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx := t.Context()
		newest, err := x.Store.LastEvents(ctx, 1)
		require.NoError(t, err)
		last := newest[0].ID
		quiet, loud := core.OutputOf{Key: "a-1", Token: "1.1"}, core.OutputOf{Key: "b-1", Token: "1.2"}
		require.NoError(t, x.Store.Append(ctx, loud.Key, loud.Token, []core.OutputChunk{{Stream: "stdout", Data: []byte("one")}}))
		events, more, err := x.Store.Next(ctx, last, map[core.OutputOf]string{quiet: "", loud: ""}, time.Minute)
		require.NoError(t, err)
		require.Empty(t, events)
		require.Equal(t, []core.OutputOf{loud}, more)

		read, err := x.Store.Read(ctx, loud.Key, loud.Token, "", 0)
		require.NoError(t, err)
		x.Submit(t, specs("a", 1, "ann")...)
		x.Submit(t, specs("b", 1, "ann")...)
		events, more, err = x.Store.Next(ctx, last, map[core.OutputOf]string{quiet: "", loud: read[0].ID}, time.Minute)
		require.NoError(t, err)
		require.Empty(t, more)
		require.Len(t, events, 2, "all that follows, in one call")
		require.Equal(t, []string{"a0-1", "b0-1"}, []string{events[0].Moved, events[1].Moved})

		events, more, err = x.Store.Next(ctx, events[1].ID, nil, time.Millisecond)
		require.NoError(t, err)
		require.Empty(t, events)
		require.Empty(t, more)
	})
}
