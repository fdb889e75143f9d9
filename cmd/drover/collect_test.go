package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheHeapOfABusyProcessMayGrowFurther(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(0)
	c := &collector{last: now, growth: idleGrowth}
	for _, step := range []struct {
		after time.Duration
		want  int
	}{
		{5 * time.Second, idleGrowth},
		{100 * time.Millisecond, busyGrowth},
		{400 * time.Millisecond, busyGrowth}, // what was collected so much later because of the growth
		{4 * time.Second, busyGrowth},        // as it would be where the same came within a second
		{time.Minute, idleGrowth},
		{2 * time.Second, idleGrowth},
	} {
		now = now.Add(step.after)
		c.growth = c.collected(now)
		require.Equal(t, step.want, c.growth, "after %s", step.after)
	}
}
