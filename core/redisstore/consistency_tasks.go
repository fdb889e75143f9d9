package redisstore

import (
	"maps"
	"slices"
	"strings"

	"drover/core"
)

// laneKey is the queue of a lane as the consistency check names it.
func laneKey(priority, kind, lane string) string {
	return strings.TrimPrefix(Space("").Key("tasks_queue", priority, kind, lane), ":")
}

// taskSlots calls fn with every slot of a taskrunner.
func (a *checker) taskSlots(fn func(owner, key string, slot core.Held)) {
	a.slotted(func(owner, key string, slot core.Held) {
		if role, _, err := core.ParseOwner(owner); err == nil && role == core.RoleTaskrunner {
			fn(owner, key, slot)
		}
	})
}

func checkTasks(a *checker) {
	tasks, where := make(map[string]string), make(places)
	for key, text := range a.one("tasks").hash {
		tasks[key] = ""
		if head := strings.Fields(text); len(head) > 3 {
			tasks[key] = laneKey(head[0], head[1], head[2])
		}
	}
	for _, v := range a.reading["tasks_queue"] {
		for _, key := range v.list {
			where.put(key, v.key)
			if its, ok := tasks[key]; ok && its != v.key {
				a.report(core.RuleTasks, key, "it is in %s, but by its head it belongs into %q", v.key, its)
			}
		}
	}
	for key := range a.one("tasks_later").scores {
		where.put(key, "tasks:later")
	}
	for key := range a.one("tasks_paused").scores {
		if _, ok := a.one("tasks_later").scores[key]; !ok {
			a.report(core.RuleTasks, key, "it is in tasks:paused, but not in tasks:later")
		}
	}
	type hand struct{ kind, key string }
	counted := make(map[hand]bool)
	for _, v := range a.reading["tasks_hand"] {
		for _, key := range v.list {
			counted[hand{v.args[0], key}] = true
		}
	}
	a.taskSlots(func(owner, key string, slot core.Held) {
		where.put(key, "slots:"+owner)
		at := hand{slot.VM, key}
		if slot.VM != "" && !counted[at] {
			a.report(core.RuleTasks, key, "it is in a slot, but not in tasks:hand:%s", slot.VM)
		}
		delete(counted, at)
	})
	for at := range counted {
		a.report(core.RuleTasks, at.key, "it is in tasks:hand:%s, but in no slot as one of that kind", at.kind)
	}
	where.check(a, core.RuleTasks, tasks)
}

// checkTaskTurns requires that each lane with waiting tasks is in turn once, and each kind
// with such lanes.
func checkTaskTurns(a *checker) {
	lanes, kinds := make(map[string]int), make(map[string]int)
	for _, v := range a.reading["tasks_lanes"] {
		for _, lane := range v.list {
			lanes[laneKey(v.args[0], v.args[1], lane)]++
		}
	}
	for _, v := range a.reading["tasks_kinds"] {
		for _, kind := range v.list {
			kinds[strings.TrimPrefix(Space("").Key("tasks_lanes", v.args[0], kind), ":")]++
		}
	}
	for what, turns := range map[string]map[string]int{"tasks_queue": lanes, "tasks_lanes": kinds} {
		for _, v := range a.reading[what] {
			if n := turns[v.key]; n != 1 {
				a.report(core.RuleTurns, v.key, "it has %d waiting, and is in turn %d times", len(v.list), n)
			}
			delete(turns, v.key)
		}
		for key, n := range turns {
			a.report(core.RuleTurns, key, "it is in turn %d times, and nothing of it waits", n)
		}
	}
}

// checkTaskNotes requires that progress is of tasks that there are, and a rhythm of a kind with a rate.
func checkTaskNotes(a *checker) {
	tasks := a.one("tasks").hash
	for _, key := range slices.Sorted(maps.Keys(a.one("tasks_progress").hash)) {
		if _, is := tasks[key]; !is {
			a.report(core.RuleLeft, key, "tasks:progress has it, but there is no such task")
		}
	}
	rates := a.one("tasks_rates").hash
	for _, kind := range slices.Sorted(maps.Keys(a.one("tasks_arrivals").hash)) {
		if every, _, _ := strings.Cut(rates[kind], "|"); num(every) == 0 {
			a.report(core.RuleLeft, "tasks:arrivals", "kind %s is there, but has no rate", kind)
		}
	}
}
