package taskrunner_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
)

func TestTheEndIsRecordedHoweverLongTheStoreIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cluster.faults(func(op string) (error, error) {
			if op == "end" {
				return errDown, nil
			}
			return nil, nil
		})
		r.cluster.submit("ok", "a")
		p := r.start()
		settle(time.Hour)
		require.Equal(t, 1, r.runs("ok"))
		require.Equal(t, 1, r.cluster.left(), "store first")
		r.cluster.faults(nil)
		settle(10 * time.Second)
		require.Zero(t, r.cluster.left())
		require.Equal(t, 1, r.runs("ok"))
		p.drain()
	})
}

// An end that the store refuses permanently counts as a failed try, and is not retried forever.
func TestAnEndThatTheStoreRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		refusal := core.Errorf(core.CodeNotFound, "", "there is no such task")
		r.cluster.faults(func(op string) (error, error) {
			if op == "end" {
				return refusal, nil
			}
			return nil, nil
		})
		r.cluster.submit("ok", "purged")
		p := r.start()
		settle(time.Second)
		require.Zero(t, r.cluster.left(), "nobody waits for a task without a row")
		r.cluster.look(func() { refusal = core.Errorf(core.CodeInvalid, "", "no such state") })
		r.cluster.submit("ok", "refused")
		settle(30 * time.Second)
		require.Equal(t, 1, r.cluster.left())
		require.Greater(t, r.runs("ok"), 2)
		r.cluster.faults(nil)
		settle(10 * time.Minute)
		require.Zero(t, r.cluster.left())
		p.drain()
	})
}

func TestNotesAreClipped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.handle("loud", func(context.Context) error {
			return core.Errorf(core.CodeInvalid, "", "%s", strings.Repeat("ä\xff", 5000))
		})
		r.cluster.submit("loud", "loud")
		p := r.start()
		settle(time.Second)
		_, note := r.cluster.end("loud")
		require.LessOrEqual(t, len(note), 2010)
		require.True(t, strings.HasSuffix(note, " …"))
		p.drain()
	})
}
