package drill

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
)

// of are pools whose VMs live, by their places in the list.
func of(places ...int) []core.Pool {
	all := pools(4)
	out := make([]core.Pool, len(places))
	for i, at := range places {
		out[i] = all[at]
	}
	return out
}

func TestAHostHoldsNoMoreThanFits(t *testing.T) {
	t.Parallel()
	const exam, practice = 0, 1
	machine := core.Size{CPU: 64_000, Memory: 64 << 30}
	for name, c := range map[string]struct {
		room room
		vms  []core.Pool
		over bool
	}{
		"nothing":                 {whole(), nil, false},
		"as many as may be":       {whole(), of(slices.Repeat([]int{exam}, hostVMs)...), false},
		"one more":                {whole(), of(slices.Repeat([]int{exam}, hostVMs+1)...), true},
		"all of its memory":       {room{vms: 9, memory: 2 * vmMemory, cpu: 9000}, of(exam, exam), false},
		"more, as 1.25 times fit": {room{vms: 9, memory: 4 * vmMemory, cpu: 9000}, of(slices.Repeat([]int{exam}, 5)...), false},
		"too much memory":         {room{vms: 9, memory: 4 * vmMemory, cpu: 9000}, of(practice, practice, practice), true},
		"twice its processors":    {room{vms: 9, memory: 64 * vmMemory, cpu: 1000}, of(practice, practice), false},
		"too many processors":     {room{vms: 9, memory: 64 * vmMemory, cpu: 1000}, of(practice, practice, practice), true},
	} {
		r, o := newRooms(), &host{name: "h1"}
		r.machine = machine
		r.set(o, c.room)
		for range 2 {
			r.look(o, c.vms)
		}
		var got Report
		r.report(&got)
		require.Equal(t, c.over, got.Oversold > 0, "%s: %v", name, got.Details)
		require.Equal(t, got.Oversold == 0, got.Sound(), name)
		require.LessOrEqual(t, got.Oversold, 1, "%s: it is one fault however often it is seen", name)
		require.Equal(t, len(c.vms), got.MostVMs["h1"], name)
	}
}

func TestAHostComesBackWithLess(t *testing.T) {
	t.Parallel()
	machine := core.Size{CPU: 8000, Memory: 64 << 30}
	all := whole().size(machine)
	require.Equal(t, core.Size{CPU: 4000, Memory: hostVMs * vmMemory * 5 / 4, Disk: core.Unlimited}, all)
	less := map[string]bool{}
	for n := range 4 {
		its := small(n)
		size := its.size(machine)
		less["memory"] = less["memory"] || size.Memory < all.Memory
		less["processors"] = less["processors"] || size.CPU < all.CPU
		less["VMs"] = less["VMs"] || its.vms < whole().vms
		for _, p := range pools(4) {
			require.Empty(t, size.Lacks(p.Size()), "a VM of each pool fits, so that nothing waits forever")
		}
	}
	require.Equal(t, map[string]bool{"memory": true, "processors": true, "VMs": true}, less)
	require.Equal(t, core.Size{CPU: 1000, Memory: 1 << 30, Disk: core.Unlimited}.CPU*2, whole().size(core.Size{CPU: 1000, Memory: 1 << 30}).CPU, "a machine that has no more")
}
