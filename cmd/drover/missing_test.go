package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/coretest/tier"
)

// Commands report which parts of a cluster are not running.
func TestWhatNobodyRunsIsTold(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t)
	doctor := func() string {
		out, _, code := h.run("doctor")
		require.NotZero(t, code)
		return out
	}
	out := doctor()
	for _, want := range []string{"none is running: archives", "none was ever at work here", "drover vmfactory, or drover up", "drover testrunner, or drover up"} {
		require.Contains(t, out, want)
	}
	tasks := h.start("taskrunner", "--metrics-listen", "127.0.0.1:0")
	address := regexp.MustCompile(`address="?(127\.0\.0\.1:\d+)`)
	await(t, "it answers", func() bool { return address.MatchString(tasks.said()) })
	metrics := func() string {
		_, body := get(t, "http://"+address.FindStringSubmatch(tasks.said())[1]+"/metrics")
		return body
	}
	require.Contains(t, metrics(), "drover_overseer_missing 1")
	await(t, "the taskrunner is not missed any more", func() bool {
		out, _, _ := h.run("doctor")
		return !strings.Contains(out, "none is running: archives")
	})
	_, errs, code := h.run("overseer", "--once")
	require.Zero(t, code, errs)
	require.NotContains(t, doctor(), "overseer-cron", "cron is an overseer too")
	require.Contains(t, metrics(), "drover_overseer_missing 0")
	ctx, meta := t.Context(), h.cluster.Redis.Namespace().Key("meta")
	require.NoError(t, h.cluster.Redis.Client().HSet(ctx, meta, "overseen", "1700000000000|1700000300000").Err())
	require.Contains(t, doctor(), "none has been at work for some minutes")
	h.start("overseer")
	await(t, "the overseer is not missed any more", func() bool {
		out, _, _ := h.run("doctor")
		return !strings.Contains(out, "overseer-cron")
	})
}
