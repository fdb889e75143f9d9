package redisstore

import (
	"maps"
	"slices"
	"strings"

	"drover/core"
)

// checkCounts compares the scripts' counters with what is there. If anything moves, both are of different moments, so
// a counter that goes up and down can look wrong each time.
func checkCounts(a *checker) {
	if !a.still {
		return
	}
	are, specs := make(map[string]int64), a.one("specs").hash
	add := func(key string) { // of a request that waits outside the queues
		if queue := strings.Split(specs[key], ":"); len(queue) > 2 {
			are[queue[1]+":"+queue[2]]++
		}
	}
	for _, v := range a.reading["queue"] {
		are[v.args[0]+":"+string(priorityOf(v.args[1]))] += int64(len(v.list))
	}
	for _, whose := range a.one("running").hash {
		are["running:"+whose]++
	}
	for _, name := range []string{"assigned", "parked", "apart"} {
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

// checkOutputs compares live output with its counter. Output whose time to live ended may still be counted.
func checkOutputs(a *checker) {
	sizes, known, sums := a.one("outputs_sizes").hash, make(map[string]map[string]string), make(map[string]int64)
	wrong := func(id, format string, args ...any) {
		a.report(core.RuleOutput, "output:"+id, format, args...)
	}
	for _, id := range slices.Sorted(maps.Keys(sizes)) {
		its := readRecord("output", sizes[id])
		if its == nil {
			wrong(id, "its size is not readable: %q", sizes[id])
			continue
		}
		known[id] = its
		sums[its["who"]] += num(its["bytes"])
		sums["*"] += num(its["bytes"])
		if _, listed := a.one("outputs").scores[id]; !listed {
			wrong(id, "it is counted, but not among those that go when there is too much")
		}
	}
	for id := range a.one("outputs").scores {
		if _, ok := sizes[id]; !ok {
			wrong(id, "it is among those that go when there is too much, but not counted")
		}
	}
	for _, v := range a.reading["outputs_of"] {
		for id := range v.scores {
			if known[id]["who"] != v.args[0] {
				wrong(id, "it is listed as one of %s's, but not counted as such", v.args[0])
			}
		}
	}
	for _, v := range a.reading["output"] {
		id := v.args[0] + ":" + v.args[1]
		its, counted := known[id]
		switch {
		case v.stays:
			wrong(id, "it has no time at which it goes")
		case !counted:
			wrong(id, "it is not counted")
		case num(its["pieces"]) != v.length:
			wrong(id, "it has %d pieces, and is counted as %q", v.length, sizes[id])
		}
	}
	says := a.one("outputs_sums").hash
	for who := range says {
		sums[who] += 0
	}
	for _, who := range slices.Sorted(maps.Keys(sums)) {
		if num(says[who]) != sums[who] {
			a.report(core.RuleOutput, who, "its live output is counted %d, and there are %d", num(says[who]), sums[who])
		}
	}
}
