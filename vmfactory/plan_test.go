package vmfactory

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drover/core"
)

// load makes a pool of the given settings; the rest of a case is set by its fields.
func load(name string, warm, most int) demand {
	p := core.DefaultPool(name)
	p.Warm, p.Max = warm, most
	p.Limits.CPU, p.Limits.Memory, p.Limits.Disk = 0, 1, 0
	return demand{PoolLoad: core.PoolLoad{Pool: p}, most: unbounded}
}

func with(d demand, change func(*demand)) demand {
	change(&d)
	return d
}

// roomFor is a host's for so many VMs, 0: as many as fit into its memory.
func roomFor(vms int, memory int64) room {
	r := room{vms: vms, Size: core.Size{CPU: core.Unlimited, Memory: memory, Disk: core.Unlimited}}
	if vms == 0 {
		r.vms = unbounded
	}
	return r
}

// sized gives a pool's VMs another size of memory than 1.
func sized(d demand, memory int64) demand {
	d.Pool.Limits.Memory = memory
	return d
}

func TestPlan(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name        string
		pools       []demand
		room, begin int
		memory      int64 // 0: endless
		want        []move
	}{
		{
			name:  "an empty host gets its warm VMs",
			pools: []demand{load("a", 2, 8)}, begin: 4,
			want: []move{{pool: "a", target: 2, create: 2}},
		},
		{
			name:  "waiting work raises the target (rule 17)",
			pools: []demand{with(load("a", 2, 8), func(d *demand) { d.Waiting, d.Clean = 5, 2 })}, begin: 8,
			want: []move{{pool: "a", target: 5, create: 3}},
		},
		{
			name:  "up to max, whatever waits",
			pools: []demand{with(load("a", 2, 8), func(d *demand) { d.Waiting = 1000 })}, begin: 100,
			want: []move{{pool: "a", target: 8, create: 8}},
		},
		{
			name: "max counts every VM, used, dirty and quarantined too",
			pools: []demand{with(load("a", 2, 8), func(d *demand) {
				d.Waiting, d.InUse, d.Dirty, d.Quarantined = 1000, 3, 2, 1
			})},
			begin: 100,
			want:  []move{{pool: "a", target: 4, create: 2}},
		},
		{
			name:  "VMs in creation count, so nothing is made twice (G15)",
			pools: []demand{with(load("a", 3, 8), func(d *demand) { d.Creating = 3 })}, begin: 4,
			want: []move{{pool: "a", target: 3}},
		},
		{
			name:  "no more than may begin now",
			pools: []demand{load("a", 6, 8)}, begin: 2,
			want: []move{{pool: "a", target: 6, create: 2}},
		},
		{
			name:  "clean VMs above the target are surplus",
			pools: []demand{with(load("a", 2, 8), func(d *demand) { d.Clean = 7 })}, begin: 4,
			want: []move{{pool: "a", target: 2, surplus: 5}},
		},
		{
			name: "a paused pool makes none, whatever waits, and keeps its warm ones",
			pools: []demand{with(load("a", 2, 8), func(d *demand) {
				d.Pool.Paused, d.Waiting, d.Clean = true, 9, 1
			})},
			begin: 4,
			want:  []move{{pool: "a", target: 1}},
		},
		{
			name:  "a pool that cannot be made here stays as it is",
			pools: []demand{with(load("a", 4, 8), func(d *demand) { d.most, d.Clean = 0, 1 })}, begin: 4,
			want: []move{{pool: "a", target: 1}},
		},
		{
			name:  "a pool on trial makes one",
			pools: []demand{with(load("a", 4, 8), func(d *demand) { d.most = 1 })}, begin: 4,
			want: []move{{pool: "a", target: 1, create: 1}},
		},
		{
			name: "at the host's cap, idle VMs give way to another's waiting work",
			pools: []demand{
				with(load("a", 4, 8), func(d *demand) { d.Clean = 4 }),
				with(load("b", 0, 8), func(d *demand) { d.Waiting = 3 }),
			},
			room: 4, begin: 4,
			want: []move{{pool: "a", target: 1, retire: 3}, {pool: "b", target: 3}},
		},
		{
			name: "nothing more gives way while enough VMs are leaving already",
			pools: []demand{
				with(load("a", 4, 8), func(d *demand) { d.Clean, d.Dirty = 2, 2 }),
				with(load("b", 0, 8), func(d *demand) { d.Waiting = 2 }),
			},
			room: 4, begin: 4,
			want: []move{{pool: "a", target: 2}, {pool: "b", target: 2}},
		},
		{
			name: "VMs quarantined leave no room and never will",
			pools: []demand{
				with(load("a", 0, 8), func(d *demand) { d.Quarantined = 4 }),
				load("b", 2, 8),
			},
			room: 5, begin: 4,
			want: []move{{pool: "a"}, {pool: "b", target: 1, create: 1}},
		},
		{
			name: "waiting work goes before warm VMs",
			pools: []demand{
				load("a", 8, 8),
				with(load("b", 0, 8), func(d *demand) { d.Waiting = 3 }),
			},
			room: 4, begin: 4,
			want: []move{{pool: "a", target: 1, create: 1}, {pool: "b", target: 3, create: 3}},
		},
		{
			name: "the pool with fewer VMs is served first",
			pools: []demand{
				with(load("a", 0, 8), func(d *demand) { d.Waiting, d.InUse = 9, 3 }),
				with(load("b", 0, 8), func(d *demand) { d.Waiting = 9 }),
			},
			room: 6, begin: 4,
			want: []move{{pool: "a"}, {pool: "b", target: 3, create: 3}},
		},
		{
			name: "among equals it goes in turns",
			pools: []demand{
				with(load("a", 0, 8), func(d *demand) { d.Waiting, d.turn = 9, 7 }),
				with(load("b", 0, 8), func(d *demand) { d.Waiting, d.turn = 9, 6 }),
			},
			room: 1, begin: 4,
			want: []move{{pool: "a"}, {pool: "b", target: 1, create: 1}},
		},
		{
			name: "but nothing is destroyed for a tie",
			pools: []demand{
				with(load("a", 1, 8), func(d *demand) { d.Clean, d.turn = 1, 7 }),
				load("b", 1, 8),
			},
			room: 1, begin: 4,
			want: []move{{pool: "a", target: 1}, {pool: "b"}},
		},
		{
			name: "a host over its cap sheds what is idle when work waits",
			pools: []demand{
				with(load("a", 6, 8), func(d *demand) { d.Clean = 6 }),
				with(load("b", 0, 8), func(d *demand) { d.Waiting = 1 }),
			},
			room: 4, begin: 4,
			want: []move{{pool: "a", target: 3, retire: 1, surplus: 2}, {pool: "b", target: 1}},
		},
		{
			name:  "memory is never oversold, and what fits exactly is made",
			pools: []demand{with(load("a", 2, 8), func(d *demand) { d.Waiting, d.InUse = 8, 1 })}, memory: 4, begin: 9,
			want: []move{{pool: "a", target: 3, create: 3}},
		},
		{
			name:  "a pool that is larger than its host is not made, and others are",
			pools: []demand{sized(load("a", 2, 8), 5), load("b", 2, 8)}, memory: 4, begin: 9,
			want: []move{{pool: "a"}, {pool: "b", target: 2, create: 2}},
		},
		{
			name: "as many small VMs give way as a large one needs",
			pools: []demand{
				with(load("a", 6, 8), func(d *demand) { d.Clean = 6 }),
				sized(with(load("b", 0, 8), func(d *demand) { d.Waiting = 1 }), 4),
			},
			memory: 7, begin: 4,
			want: []move{{pool: "a", target: 3, retire: 3}, {pool: "b", target: 1}},
		},
		{
			name:  "a host that came back smaller sheds what is idle, not what is used",
			pools: []demand{with(load("a", 4, 8), func(d *demand) { d.InUse, d.Clean = 3, 3 })}, memory: 4, begin: 4,
			want: []move{{pool: "a", target: 1, surplus: 2}},
		},
		{name: "no pools, no moves", begin: 4, want: []move{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.memory == 0 {
				c.memory = core.Unlimited
			}
			require.Equal(t, c.want, plan(c.pools, roomFor(c.room, c.memory), c.begin))
		})
	}
}

func drawPools(t *rapid.T) []demand {
	pools := make([]demand, rapid.IntRange(1, 4).Draw(t, "pools"))
	for i := range pools {
		d := load(string(rune('a'+i)), 0, rapid.IntRange(1, 9).Draw(t, "max"))
		d.Pool.Warm = rapid.IntRange(0, d.Pool.Max).Draw(t, "warm")
		d.Pool.Paused = rapid.Bool().Draw(t, "paused")
		d.Clean = rapid.IntRange(0, 5).Draw(t, "clean")
		d.Creating = rapid.IntRange(0, 3).Draw(t, "creating")
		d.InUse = rapid.IntRange(0, 5).Draw(t, "in use")
		d.Dirty = rapid.IntRange(0, 3).Draw(t, "dirty")
		d.Quarantined = rapid.IntRange(0, 2).Draw(t, "quarantined")
		d.Waiting = rapid.IntRange(0, 20).Draw(t, "waiting")
		d.most = rapid.SampledFrom([]int{0, 1, unbounded}).Draw(t, "most")
		d.Pool.Limits.Memory = rapid.Int64Range(1, 4).Draw(t, "memory")
		d.Pool.Limits.CPU = rapid.IntRange(0, 2).Draw(t, "cpu")
		pools[i] = d
	}
	return pools
}

func drawRoom(t *rapid.T) room {
	r := roomFor(rapid.IntRange(0, 20).Draw(t, "room"), rapid.Int64Range(0, 40).Draw(t, "memory"))
	r.CPU = rapid.Int64Range(-2, 20).Draw(t, "cpu")
	return r
}

func TestPlanNeverGoesOverABound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pools := drawPools(t)
		whole, begin := drawRoom(t), rapid.IntRange(0, 8).Draw(t, "begin")
		total, created := 0, 0
		left, made := whole, room{}
		for i, m := range plan(pools, whole, begin) {
			d := pools[i]
			all := d.Clean + d.Creating + d.InUse + d.Dirty + d.Quarantined
			total += all
			created += m.create
			left = left.less(&share{d: &d}, all)
			made = made.less(&share{d: &d}, -m.create)
			if m.create < 0 || m.create > d.most || (m.create > 0 && all+m.create > d.Pool.Max) {
				t.Fatalf("%+v: %+v creates over a bound", d, m)
			}
			if m.retire < 0 || m.surplus < 0 || m.retire+m.surplus > d.Clean {
				t.Fatalf("%+v: %+v retires what is not there", d, m)
			}
			if m.create > 0 && (m.retire+m.surplus > 0 || d.Pool.Paused) {
				t.Fatalf("%+v: %+v both makes and destroys", d, m)
			}
		}
		if created > begin || (created > 0 && total+created > whole.vms) || left.Lacks(made.Size) != "" {
			t.Fatalf("created %d (%+v) of %d on a host of %+v with %d VMs, and %+v left", created, made, begin, whole, total, left)
		}
	})
}

// However a host begins, applying the plan again and again comes to rest: no VM
// is made only to be destroyed for another, and back.
func TestPlanComesToRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pools := drawPools(t)
		whole := drawRoom(t)
		turn := int64(0)
		for range 200 {
			still := true
			for i, m := range plan(pools, whole, 4) {
				d := &pools[i]
				if m.create+m.retire+m.surplus+d.Dirty+d.Creating > 0 {
					still = false
				}
				d.Clean += d.Creating - m.retire - m.surplus
				d.Creating, d.Dirty = m.create, m.retire+m.surplus
				if m.create > 0 {
					turn++
					d.turn = turn
				}
			}
			if still {
				return
			}
		}
		t.Fatalf("no rest: %+v", pools)
	})
}
