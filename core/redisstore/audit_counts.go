package redisstore

import (
	"maps"
	"slices"
	"strings"

	"drover/core"
)

// checkCounts holds what scripts count against what is there. Where anything moves, both are of
// different moments, and a count that goes to and fro can look wrong each time.
func checkCounts(a *audit) {
	if !a.still {
		return
	}
	are, specs := make(map[string]int64), a.one("specs").hash
	add := func(key string) { // of a request that waits, but in no queue
		if queue := strings.Split(specs[key], ":"); len(queue) > 2 {
			are[queue[1]+":"+queue[2]]++
		}
	}
	for _, v := range a.reading["queue"] {
		are[v.args[0]+":"+v.args[1]] += int64(len(v.list))
	}
	for _, name := range []string{"aimed", "parked"} {
		for _, v := range a.reading[name] {
			for _, key := range v.list {
				add(key)
			}
		}
	}
	for key := range a.one("later").scores {
		add(key)
	}
	for _, v := range a.reading["tasks_queue"] {
		are["tasks:"+v.args[0]+":"+v.args[1]] += int64(len(v.list))
	}
	are["bytes"] = a.one("specs").bytes
	counts := a.one("counts").hash
	for what := range counts {
		are[what] += 0
	}
	for _, what := range slices.Sorted(maps.Keys(are)) {
		if says := num(counts[what]); says != are[what] {
			a.report(core.RuleCounts, what, "it is counted %d, and there are %d", says, are[what])
		}
	}
}
