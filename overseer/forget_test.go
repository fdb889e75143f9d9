package overseer_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"drover/core"
)

// soon is when all that the chores can end in the world of these tests is due; pause is the time between two rounds.
const (
	soon  = 4 * time.Minute
	pause = 15 * time.Second
)

// ending is something that a chore ends.
type ending struct {
	chore, name string
	inRedis     bool                      // only Redis knows of it: it ends with its memory
	silence     bool                      // it ends because hosts are silent; else because time is over
	ended       func(w *forgetful) string // what became of it; "": nothing
}

// endings are all that chores may end. A chore is here or in endsNothing.
func endings() []ending {
	instance := func(name, id string, silence bool, state core.InstanceState) ending {
		return ending{"scale", name, false, silence, func(w *forgetful) string {
			if i := w.records.instances[id]; i.State != state {
				return fmt.Sprintf("%s: %s", i.State, i.Why)
			}
			return ""
		}}
	}
	held := func(chore, name, host string, silence bool) ending {
		return ending{chore, name, true, silence, func(w *forgetful) string {
			if n := len(w.held(core.RoleTestrunner, host)); n != 1 {
				return fmt.Sprintf("its host holds %d", n)
			}
			return ""
		}}
	}
	request := func(chore, name string, inRedis, silence bool) ending {
		return ending{chore, name, inRedis, silence, func(w *forgetful) string {
			if state := w.state(w.ids[name]); state != core.RequestQueued {
				return string(state)
			}
			return ""
		}}
	}
	reserved := func(name string, state core.LeaseState, silence bool) ending {
		return ending{"leases", name, false, silence, func(w *forgetful) string {
			l := w.get(w.ids[name])
			if l.State != state || l.Reservations[0].Held() != 10 || len(l.Reservations[0].Allocations) != 1 {
				return fmt.Sprintf("%s: %+v", l.State, l.Reservations[0].Allocations)
			}
			return ""
		}}
	}
	return []ending{
		instance("a machine whose host works", "burst-000001", true, core.InstanceJoined),
		instance("a machine whose host is drained", "burst-000002", false, core.InstanceDraining),
		instance("a machine that is to become a host", "burst-000003", false, core.InstanceRunning),
		instance("a machine whose host is idle", "burst-000004", false, core.InstanceJoined),
		held("hung", "work that says nothing yet", "h1", false),
		held("drained", "work on a drained host", "h2", false),
		held("reap", "work of a host", "h3", true),
		request("reap", "once", true, true),
		request("expire", "late", false, false),
		request("broken", "broken", false, false),
		reserved("lease that is used", core.LeaseActive, false),
		reserved("lease of next month", core.LeasePending, false),
		{"schedules", "the moments of schedules", false, false, func(w *forgetful) string {
			all, err := w.store.ListSchedules(context.Background())
			require.NoError(w.t, err)
			for _, s := range all {
				if s.Last > w.begun.UnixMilli() {
					return s.Name + " was due"
				}
			}
			return ""
		}},
	}
}

// endsNothing are the chores that end nothing for good, and why.
var endsNothing = map[string]string{
	"pools": "it agrees with the store", "wishes": "it agrees with the store", "watch heartbeat": "reap ends what is on a host that is down",
	"watch provider": "as heartbeat", "watch report": "it does what it is told", "watch command": "it does what it is told",
	"place": "clean VMs come again", "assigned": "what is not taken waits again", "damp": "a probation ends by itself",
	"sweep": "it queues", "remove": "somebody asked for it", "outages": "broken ends what it records", "trim": "two sets of tombstones outlive a step",
	"history": "it copies", "statistics": "it counts", "consistency": "it mends what contradicts itself", "sign": "it is one",
}

// Each chore is made to end what it may: else the tests below would see nothing.
func TestEachChoreEndsWhatIsOver(t *testing.T) {
	t.Parallel()
	for _, silent := range []bool{false, true} {
		w := newForgetful(t)
		w.silent = silent
		w.goOn(w.overseer(), soon+2*time.Minute)
		for _, e := range endings() {
			// What ends by silence ends by that; the moments of schedules come once a day.
			if e.silence == silent && e.chore != "schedules" && e.name != "lease of next month" {
				require.NotEmpty(t, e.ended(w), "%s: %s", e.chore, e.name)
			}
		}
	}
}

// If ages were differences of two times, the table below would see what ends then.
func TestTheTableSeesWhatANaiveClockEnds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		disturb func(*forgetful)
		ends    []string
	}{
		{func(w *forgetful) { w.pass(30 * 24 * time.Hour); w.beat() }, []string{
			"a machine whose host is drained", "a machine that is to become a host", "work that says nothing yet",
			"work on a drained host", "late", "lease that is used", "the moments of schedules",
		}},
		{func(w *forgetful) { w.goOn(w.overseer(), soon-time.Minute); w.b.Mini.FlushAll() }, []string{"a machine whose host works", "lease that is used"}},
	} {
		w := newForgetful(t)
		w.naive = true
		test.disturb(w)
		w.round(w.overseer())
		for _, e := range endings() {
			if slices.Contains(test.ends, e.name) {
				require.NotEmpty(t, e.ended(w), e.name)
			}
		}
	}
}

// Nothing ends, moves, is sold, expires or fails because Redis forgot it, its clock was set, or an overseer or the store
// was away, that would not have ended without.
func TestNothingEndsBecauseRedisForgot(t *testing.T) {
	t.Parallel()
	w := newForgetful(t)
	o := w.overseer()
	table := make(map[string]bool)
	for _, e := range endings() {
		table[e.chore] = true
	}
	for _, name := range o.Chores() {
		require.NotEqual(t, table[name], endsNothing[name] != "", "say of the chore %s what it ends, or why it ends nothing", name)
	}
	inRedisToo := func(ending) bool { return true }
	inStore := func(e ending) bool { return !e.inRedis }
	now, full := w.now, remember(t, w.b.Mini)
	epoch, seq, instances, machines := maps.Clone(w.epoch), maps.Clone(w.seq), maps.Clone(w.records.instances), maps.Clone(w.farm.machines)
	// again lets all be as it was.
	again := func() {
		w.now = now
		w.pass(0)
		full(w.b.Mini)
		w.epoch, w.seq = maps.Clone(epoch), maps.Clone(seq)
		w.records.instances, w.farm.machines = maps.Clone(instances), maps.Clone(machines)
		w.silent, w.away = false, false
	}
	const while = 3 * pause
	for name, disturb := range map[string]func(){
		"nothing":   func() {},
		"an hour":   func() { w.pass(time.Hour) },
		"a month":   func() { w.pass(30 * 24 * time.Hour) },
		"back":      func() { w.pass(-time.Hour) },
		"the store": func() { w.away = true },
	} {
		for _, returns := range []bool{false, true} {
			again()
			was := w.now
			disturb()
			step := w.now.Sub(was)
			w.round(o) // before hosts give a sign
			w.goOn(o, while)
			if returns {
				w.pass(-step)
				w.away = false
				w.round(o)
				w.goOn(o, while)
			}
			w.require(fmt.Sprint(name, ", and returns: ", returns), inRedisToo)
		}
	}
	// Redis loses its memory, all or a part of it.
	for _, key := range w.b.Mini.Keys() {
		again()
		w.b.Mini.Del(key)
		w.round(o)
		w.goOn(o, 2*pause)
		w.require("lost "+key, func(e ending) bool {
			// What Redis does not know to be held is queued again, and a host that is drained has nothing then.
			return inStore(e) && (e.name != "a machine whose host is drained" || !strings.Contains(key, "burst-000002"))
		})
	}
	again()
	w.b.Mini.FlushAll()
	w.round(o)
	w.goOn(o, while)
	w.require("emptied", inStore)
	// It is emptied before each of the commands of a chore.
	for _, chore := range slices.Sorted(maps.Keys(table)) {
		for at := 1; at > 0; at++ {
			again()
			n := 0
			w.b.Mini.Server().SetPreHook(func(*server.Peer, string, ...string) bool {
				if w.b.Mini.TryLock() { // else it is a command of a script
					w.b.Mini.Unlock()
					if n++; n == at {
						w.b.Mini.FlushAll()
					}
				}
				return false
			})
			_ = o.Do(context.Background(), chore) // what it meets is trouble
			w.b.Mini.Server().SetPreHook(nil)
			w.require(fmt.Sprintf("emptied before command %d of %s", at, chore), inStore)
			if n < at {
				at = -1
			}
		}
	}
	// It is set back to a memory from before all hosts.
	again()
	w.empty(w.b.Mini)
	w.reopen()
	o = w.overseer()
	w.round(o)
	w.goOn(o, while)
	w.require("set back", inStore)
	// What is over in ten minutes is over then.
	again()
	w.b.Mini.FlushAll()
	w.silent = true // hosts boot slowly
	w.pass(10 * time.Minute)
	w.round(o)
	w.require("emptied, and hosts come late", func(e ending) bool { return inStore(e) && e.name == "lease of next month" })
}
