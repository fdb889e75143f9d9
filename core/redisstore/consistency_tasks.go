package redisstore

import (
	"maps"
	"slices"
	"strings"

	"drover/core"
)

func checkTasks(a *checker) {
	tasks, where := make(map[string]string), make(places)
	for key, text := range a.one("tasks").hash {
		tasks[key] = ""
		if head := strings.Fields(text); len(head) > 3 {
			tasks[key] = below("tasks_queue", head[:3]...)
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
	a.slotsOf(core.RoleTaskrunner, func(owner, _, key string, slot core.Held) {
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

// checkTaskNotes requires that progress belongs to an existing task, and a rhythm to a kind with a rate.
func checkTaskNotes(a *checker) {
	tasks := a.one("tasks").hash
	for _, key := range slices.Sorted(maps.Keys(a.one("tasks_progress").hash)) {
		if _, is := tasks[key]; !is {
			a.report(core.RuleLeft, key, "tasks:progress has it, but there is no such task")
		}
	}
	rates := a.one("tasks_rates").hash
	for _, kind := range slices.Sorted(maps.Keys(a.one("tasks_arrivals").hash)) {
		if num(readRecord("task_rate", rates[kind])["every"]) == 0 {
			a.report(core.RuleLeft, "tasks:arrivals", "kind %s is there, but has no rate", kind)
		}
	}
}
