package testrunner

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core/service/clock"
)

func silent(time.Duration) error { return nil }

// A test runs alone once the others have ended, and those that come meanwhile wait for it.
func TestAloneAmongSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQuiet(clock.Real{})
		_, err := q.enter(t.Context(), silent)
		require.NoError(t, err)
		var end func()
		hushed, entered, waited := false, false, time.Duration(0)
		go func() {
			end = q.hush(t.Context())
			hushed = true
		}()
		synctest.Wait()
		require.False(t, hushed, "another test runs")
		go func() {
			waited, _ = q.enter(t.Context(), silent)
			entered = true
			q.leave()
		}()
		synctest.Wait()
		require.False(t, entered, "a test wants to run alone")
		q.leave()
		synctest.Wait()
		require.True(t, hushed)
		require.False(t, entered)
		<-time.After(time.Second)
		end()
		synctest.Wait()
		require.True(t, entered)
		require.Equal(t, time.Second, waited)
	})
}

// Tests that run alone hold up others for a bounded part of the time: each for a bounded time, and all together.
func TestOthersAreHeldUpForABoundedTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQuiet(clock.Real{})
		began := time.Now()
		for range 3 {
			end := q.hush(t.Context())
			require.NotNil(t, end)
			took, err := q.enter(t.Context(), silent) // the test that is alone does not end
			require.NoError(t, err)
			require.Equal(t, quietLong, took)
			q.leave()
			end()
		}
		require.Equal(t, quietMost, time.Since(began), "what is saved up at the start")
		for range 3 {
			if end := q.hush(t.Context()); end != nil {
				_, err := q.enter(t.Context(), silent)
				require.NoError(t, err)
				q.leave()
				end()
			}
		}
		require.LessOrEqual(t, time.Since(began), quietMost+2*quietLong)
		<-time.After(2 * quietPart * quietLong)
		require.NotNil(t, q.hush(t.Context()), "it is saved up again")
		<-time.After(quietLong)
	})
}

// A test of another slot that does not end is not waited for without end, nor does it keep others waiting.
func TestNoQuietMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQuiet(clock.Real{})
		_, err := q.enter(t.Context(), silent)
		require.NoError(t, err)
		began := time.Now()
		require.Nil(t, q.hush(t.Context()))
		require.Equal(t, quietWait, time.Since(began))
		took, err := q.enter(t.Context(), silent)
		require.NoError(t, err)
		require.Zero(t, took)
		ended, end := context.WithCancel(t.Context())
		end()
		require.Nil(t, q.hush(ended))
	})
}
