package placement_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/placement"
)

func TestTooLarge(t *testing.T) {
	t.Parallel()
	vm := core.Size{CPU: 2000, Memory: 100}
	for name, c := range map[string]struct {
		hosts map[string]core.Size
		lacks string
		best  int64
	}{
		"no host is known":      {},
		"one of them can":       {hosts: map[string]core.Size{"a": {CPU: 2000, Memory: 99}, "b": {CPU: 2000, Memory: 100}}},
		"none has the memory":   {map[string]core.Size{"a": {CPU: 9000, Memory: 50}, "b": {CPU: 9000, Memory: 99}}, "memory", 99},
		"each lacks another":    {map[string]core.Size{"a": {CPU: 1000, Memory: 100}, "b": {CPU: 9000, Memory: 99}}, "processors", 1000},
		"a figure not reported": {hosts: map[string]core.Size{"a": {CPU: core.Unlimited, Memory: core.Unlimited}}},
	} {
		lacks, best := placement.TooLarge(vm, c.hosts)
		require.Equal(t, c.lacks, lacks, name)
		require.Equal(t, c.best, best, name)
	}
}
