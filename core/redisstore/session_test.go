package redisstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSessions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		s := x.Store.Sessions()
		holds := func(token, want string) {
			t.Helper()
			data, is, err := s.Find(token)
			require.NoError(t, err)
			require.Equal(t, want != "", is)
			require.Equal(t, want, string(data))
		}
		holds("a", "")
		hour := time.Now().Add(time.Hour)
		require.NoError(t, s.Commit("a", []byte("\x00one"), hour))
		require.NoError(t, s.Commit("b", []byte("other"), hour))
		holds("a", "\x00one")
		require.NoError(t, s.Commit("a", []byte("two"), hour))
		holds("a", "two")
		ttl, err := x.b.Admin.PTTL(t.Context(), x.key("web_session", "a")).Result()
		require.NoError(t, err)
		require.InDelta(t, time.Hour, ttl, float64(time.Minute))

		require.NoError(t, s.Delete("a"))
		holds("a", "")
		require.NoError(t, s.Commit("a", []byte("three"), hour), "a request that was under way")
		holds("a", "")
		holds("b", "other")
		require.NoError(t, s.Delete("never"))
		n, err := x.b.Admin.Exists(t.Context(), x.key("web_session", "never")).Result()
		require.NoError(t, err)
		require.Zero(t, n, "strangers leave nothing")
		require.NoError(t, s.Commit("b", []byte("late"), time.Now().Add(-time.Hour)))
	})
}
