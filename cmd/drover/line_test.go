package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/coretest"
)

// newLine makes a line to the cluster's Redis.
func (h *testCluster) newLine() *coretest.Line {
	h.t.Helper()
	require.NotNil(h.t, h.redis)
	return coretest.NewLine(h.t, h.redis.Socket)
}

// over makes the cluster's next components use the line.
func (h *testCluster) over(l *coretest.Line) *testCluster {
	return h.with("DROVER_REDIS=unix://" + l.Socket)
}

// awaitHeld waits until something is held.
func awaitHeld(t *testing.T, l *coretest.Line) {
	t.Helper()
	await(t, "something is held on the line", func() bool { return l.Held() > 0 })
}
