package redisstore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core/coretest"
	"drover/core/redisstore"
)

// Reads that wait for news return once nobody waits for them any more: the end of a program must not last until
// there are some.
func TestBlockedReadsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	const long = 20 * time.Second
	s := coretest.Alone(t).Open(t)
	for name, read := range map[string]func(context.Context) error{
		"events": func(ctx context.Context) error { _, _, err := s.Next(ctx, "", nil, long); return err },
		"reports": func(ctx context.Context) error {
			_, err := s.HostReports(ctx, "overseer@h1#0", long)
			return err
		},
	} {
		before := waiting(t, s)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- read(ctx) }()
		require.Eventually(t, func() bool { return waiting(t, s) != before }, time.Minute, time.Millisecond, name)
		stop()
		require.ErrorIs(t, <-done, context.Canceled, name)
	}
}

// waiting is what Redis says of how many of its clients wait.
func waiting(t *testing.T, s *redisstore.Store) string {
	t.Helper()
	text, err := s.Client().Info(t.Context(), "clients").Result()
	require.NoError(t, err)
	_, rest, _ := strings.Cut(text, "blocked_clients:")
	count, _, _ := strings.Cut(rest, "\r\n")
	return count
}
