package placement_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drover/core"
	"drover/core/cluster/placement"
)

func room(host string, cpu, memory, disk int64, pools map[string]core.PoolRoom) core.Room {
	return core.Room{Host: host, Size: core.Size{CPU: cpu, Memory: memory, Disk: disk}, Pools: pools}
}

func one(idle, more int) map[string]core.PoolRoom {
	return map[string]core.PoolRoom{"p": {Idle: idle, More: more}}
}

func need(key string) placement.Need {
	return placement.Need{Key: key, Pool: "p", Priority: core.PriorityNormal, Size: core.Size{CPU: 1000, Memory: 100, Disk: 10}}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		needs []placement.Need
		rooms []core.Room
		want  []placement.Move
	}{
		"no rooms": {
			needs: []placement.Need{need("a")},
			want:  []placement.Move{{Key: "a"}},
		},
		"no needs": {rooms: []core.Room{room("h1", 9, 9, 9, one(9, 9))}, want: []placement.Move{}},
		"exact fit is accepted": {
			needs: []placement.Need{need("a")}, rooms: []core.Room{room("h1", 1000, 100, 10, one(0, 1))},
			want: []placement.Move{{Key: "a", To: "h1"}},
		},
		"one byte of memory is missing": {
			needs: []placement.Need{need("a")}, rooms: []core.Room{room("h1", 1000, 99, 10, one(0, 1))},
			want: []placement.Move{{Key: "a"}},
		},
		"processors are missing": {
			needs: []placement.Need{need("a")}, rooms: []core.Room{room("h1", 999, 100, 10, one(0, 1))},
			want: []placement.Move{{Key: "a"}},
		},
		"disk is missing": {
			needs: []placement.Need{need("a")}, rooms: []core.Room{room("h1", 1000, 100, 9, one(0, 1))},
			want: []placement.Move{{Key: "a"}},
		},
		"a pool without a size for processors fits on a busy host": {
			needs: []placement.Need{{Key: "a", Pool: "p", Size: core.Size{Memory: 1}}}, rooms: []core.Room{room("h1", -5, 1, 0, one(0, 1))},
			want: []placement.Move{{Key: "a", To: "h1"}},
		},
		"the pool's most is reached": {
			needs: []placement.Need{need("a")}, rooms: []core.Room{room("h1", 5000, 500, 50, one(0, 0))},
			want: []placement.Move{{Key: "a"}},
		},
		"the host does not serve the pool": {
			needs: []placement.Need{need("a")}, rooms: []core.Room{room("h1", 5000, 500, 50, map[string]core.PoolRoom{"q": {Idle: 1, More: 1}})},
			want: []placement.Move{{Key: "a"}},
		},
		"an idle VM is there already, on a host that has nothing free": {
			needs: []placement.Need{need("a")}, rooms: []core.Room{room("h1", 0, 0, 0, one(1, 0))},
			want: []placement.Move{{Key: "a", To: "h1"}},
		},
		"idle VMs come before a tighter fit": {
			needs: []placement.Need{need("a")}, rooms: []core.Room{room("h1", 1000, 100, 10, one(0, 1)), room("h2", 9000, 900, 90, one(1, 1))},
			want: []placement.Move{{Key: "a", To: "h2"}},
		},
		"the tightest fit, then the name": {
			needs: []placement.Need{need("a"), need("b")},
			rooms: []core.Room{room("h3", 9000, 100, 90, one(0, 9)), room("h2", 1000, 200, 90, one(0, 9)), room("h1", 1000, 200, 90, one(0, 9))},
			want:  []placement.Move{{Key: "a", To: "h3"}, {Key: "b", To: "h1"}},
		},
		"claims add up within a round": {
			needs: []placement.Need{need("a"), need("b"), need("c")}, rooms: []core.Room{room("h1", 2999, 300, 30, one(0, 9))},
			want: []placement.Move{{Key: "a", To: "h1"}, {Key: "b", To: "h1"}, {Key: "c"}},
		},
		"the heavier class first, then the older": {
			needs: []placement.Need{
				{Key: "a", Pool: "p", Priority: core.PriorityLow, Submitted: 1},
				{Key: "b", Pool: "p", Priority: core.PriorityNormal, Submitted: 3},
				{Key: "c", Pool: "p", Priority: core.PriorityNormal, Submitted: 2},
				{Key: "d", Pool: "p", Priority: core.PriorityHigh, Submitted: 9},
			},
			rooms: []core.Room{room("h1", 0, 0, 0, one(3, 0))},
			want:  []placement.Move{{Key: "d", To: "h1"}, {Key: "c", To: "h1"}, {Key: "b", To: "h1"}, {Key: "a"}},
		},
		"what does not fit holds back nobody": {
			needs: []placement.Need{{Key: "a", Pool: "p", Size: core.Size{Memory: 1000}}, {Key: "b", Pool: "p", Size: core.Size{Memory: 10}}},
			rooms: []core.Room{room("h1", 0, 100, 0, one(0, 9))},
			want:  []placement.Move{{Key: "a"}, {Key: "b", To: "h1"}},
		},
	} {
		require.Equal(t, c.want, placement.Place(c.needs, c.rooms), name)
	}
}

// small numbers, so that exact fits and ties are common.
func drawRooms(t *rapid.T) []core.Room {
	rooms := make([]core.Room, rapid.IntRange(0, 3).Draw(t, "rooms"))
	for i := range rooms {
		pools := map[string]core.PoolRoom{}
		for _, p := range []string{"p", "q"} {
			if rapid.Bool().Draw(t, "serves") {
				pools[p] = core.PoolRoom{Idle: rapid.IntRange(0, 2).Draw(t, "idle"), More: rapid.IntRange(0, 3).Draw(t, "more")}
			}
		}
		free := rapid.Int64Range(-1, 5)
		rooms[i] = room(fmt.Sprint("h", i), free.Draw(t, "cpu"), free.Draw(t, "memory"), free.Draw(t, "disk"), pools)
	}
	return rooms
}

func drawNeeds(t *rapid.T) []placement.Need {
	needs := make([]placement.Need, rapid.IntRange(0, 5).Draw(t, "needs"))
	for i := range needs {
		size := rapid.Int64Range(0, 3)
		needs[i] = placement.Need{
			Key: fmt.Sprint("r", i), Pool: rapid.SampledFrom([]string{"p", "q"}).Draw(t, "pool"),
			Priority: rapid.SampledFrom(core.Priorities()).Draw(t, "class"), Submitted: rapid.Int64Range(1, 3).Draw(t, "submitted"),
			Size: core.Size{CPU: size.Draw(t, "cpu"), Memory: size.Draw(t, "memory"), Disk: size.Draw(t, "disk")},
		}
	}
	return needs
}

// books adds up, in another way than Place, what a room's moves take: it can bear
// them if some of them sit on its idle VMs and all others fit together.
func bears(r core.Room, taken []placement.Need) bool {
	count := map[string]int{}
	for _, n := range taken {
		count[n.Pool]++
	}
	for pool, n := range count {
		if p := r.Pools[pool]; n > p.Idle+p.More {
			return false
		}
	}
	// Which of them sit on idle VMs is free: try all choices.
	for choice := range 1 << len(taken) {
		idle, made := map[string]int{}, map[string]int{}
		var cpu, memory, disk int64
		for i, n := range taken {
			if choice&(1<<i) != 0 {
				idle[n.Pool]++
				continue
			}
			made[n.Pool]++
			cpu, memory, disk = cpu+n.CPU, memory+n.Memory, disk+n.Disk
		}
		ok := (cpu == 0 || cpu <= r.CPU) && (memory == 0 || memory <= r.Memory) && (disk == 0 || disk <= r.Disk)
		for pool := range count {
			ok = ok && idle[pool] <= r.Pools[pool].Idle && made[pool] <= r.Pools[pool].More
		}
		if ok {
			return true
		}
	}
	return false
}

// No round overbooks, whatever the rooms; each need gets one answer, in order;
// nothing given is changed; the order of what is given does not matter.
func TestPlaceNeverOverbooks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		needs, rooms := drawNeeds(t), drawRooms(t)
		before := fmt.Sprint(needs, rooms)
		moves := placement.Place(needs, rooms)
		require.Equal(t, before, fmt.Sprint(needs, rooms))

		byKey, taken := map[string]placement.Need{}, map[string][]placement.Need{}
		for _, n := range needs {
			byKey[n.Key] = n
		}
		require.Len(t, moves, len(needs))
		for i, m := range moves {
			n := byKey[m.Key]
			if i > 0 {
				require.Negative(t, byKey[moves[i-1].Key].Compare(n))
			}
			if m.To != "" {
				taken[m.To] = append(taken[m.To], n)
			}
		}
		for _, r := range rooms {
			require.True(t, bears(r, taken[r.Host]), "%s cannot bear %v", r.Host, taken[r.Host])
			delete(taken, r.Host)
		}
		require.Empty(t, taken, "hosts that are none")

		require.Equal(t, moves, placement.Place(rapid.Permutation(needs).Draw(t, "needs"), rapid.Permutation(rooms).Draw(t, "rooms")))
	})
}

// Who comes later changes nothing for who comes before.
func TestPlaceServesTheFirstFirst(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		needs, rooms := drawNeeds(t), drawRooms(t)
		slices.SortFunc(needs, placement.Need.Compare)
		k := rapid.IntRange(0, len(needs)).Draw(t, "first")
		require.Equal(t, placement.Place(needs[:k], rooms), placement.Place(needs, rooms)[:k])
	})
}

// A need is told to fit nowhere only if, with what those before it took, no room bears it.
func TestPlaceLeavesNothingThatFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		needs, rooms := drawNeeds(t), drawRooms(t)
		slices.SortFunc(needs, placement.Need.Compare)
		taken := map[string][]placement.Need{}
		for i, m := range placement.Place(needs, rooms) {
			if m.To != "" {
				taken[m.To] = append(taken[m.To], needs[i])
				continue
			}
			for _, r := range rooms {
				if needs[i].CPU+needs[i].Memory+needs[i].Disk > 0 && exactly(r, taken[r.Host], needs[i]) {
					t.Fatalf("%v fits on %v beside %v", needs[i], r, taken[r.Host])
				}
			}
		}
	})
}

// exactly reports whether a room bears one more if idle VMs go to who came first.
func exactly(r core.Room, taken []placement.Need, n placement.Need) bool {
	pools := maps.Clone(r.Pools)
	take := func(n placement.Need) bool {
		p := pools[n.Pool]
		if p.Idle > 0 {
			p.Idle--
		} else {
			p.More--
			r.CPU, r.Memory, r.Disk = r.CPU-n.CPU, r.Memory-n.Memory, r.Disk-n.Disk
		}
		if pools != nil {
			pools[n.Pool] = p
		}
		return p.More >= 0 && (n.CPU == 0 || r.CPU >= 0) && (n.Memory == 0 || r.Memory >= 0) && (n.Disk == 0 || r.Disk >= 0)
	}
	for _, other := range taken {
		take(other)
	}
	return take(n)
}

// For requests of one pool no assignment whatsoever places more.
func TestPlacePlacesAsManyAsCanBe(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		needs, rooms := drawNeeds(t), drawRooms(t)
		for i := range needs {
			needs[i].Pool, needs[i].Size = "p", needs[0].Size
		}
		placed := 0
		for _, m := range placement.Place(needs, rooms) {
			if m.To != "" {
				placed++
			}
		}
		require.Equal(t, most(needs, rooms, map[string][]placement.Need{}), placed)
	})
}

// most tries every assignment and returns how many needs the best one places.
func most(needs []placement.Need, rooms []core.Room, taken map[string][]placement.Need) int {
	if len(needs) == 0 {
		return 0
	}
	best := most(needs[1:], rooms, taken)
	for _, r := range rooms {
		taken[r.Host] = append(taken[r.Host], needs[0])
		if bears(r, taken[r.Host]) {
			best = max(best, 1+most(needs[1:], rooms, taken))
		}
		taken[r.Host] = taken[r.Host][:len(taken[r.Host])-1]
	}
	return best
}
