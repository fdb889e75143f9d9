package redisstore

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"drover/core"
)

// checker is a reading of the namespace and the violations in it.
type checker struct {
	reading
	still bool // nothing moved during the reading
	found []core.Violation
}

func (a *checker) check() {
	for _, check := range []func(*checker){
		checkHeld, checkKeys, checkHosts, checkTrials, checkOwners, checkHands, checkRequests, checkMoves, checkTurns, checkVMs, checkTasks,
		checkTaskNotes, checkLeft, checkRunning, checkCounts, checkOutputs,
	} {
		check(a)
	}
}

func (a *checker) report(rule core.Rule, id, format string, args ...any) {
	a.found = append(a.found, core.Violation{Rule: rule, ID: id, Text: fmt.Sprintf(format, args...)})
}

// slotted calls fn with every slot.
func (a *checker) slotted(fn func(owner, key string, slot core.Held)) {
	for _, v := range a.reading["slots"] {
		for _, key := range slices.Sorted(maps.Keys(v.hash)) {
			held, ok := toSlot(key, v.hash[key], "")
			if !ok {
				held = core.Held{Key: key}
			}
			fn(v.args[0], key, held)
		}
	}
}

// slotsOf calls fn with every slot of the owners of a role.
func (a *checker) slotsOf(of core.Role, fn func(owner, host, key string, slot core.Held)) {
	a.slotted(func(owner, key string, slot core.Held) {
		if role, host, err := core.ParseOwner(owner); err == nil && role == of {
			fn(owner, host, key, slot)
		}
	})
}

func checkKeys(a *checker) {
	for _, v := range a.reading[""] {
		a.report(core.RuleKeys, v.key, "no key of drover has this name and type")
	}
	if schema := a.one("meta").hash["schema"]; schema != "" && schema != strconv.Itoa(Schema) {
		a.report(core.RuleKeys, "meta", "the schema is %s, not %d", schema, Schema)
	}
	pools := a.one("pools").list
	for _, v := range a.reading["pool"] {
		if !slices.Contains(pools, v.args[0]) {
			a.report(core.RuleKeys, v.key, "pool %s has settings but is not in the set of pools", v.args[0])
		}
	}
}

func checkHosts(a *checker) {
	hosts := a.one("hosts").scores
	for _, v := range a.reading["host"] {
		host := v.args[0]
		if _, ok := hosts[host]; !ok {
			a.report(core.RuleHosts, host, "it has a record but is not among the hosts")
		}
		switch core.HostState(v.hash["state"]) {
		case core.HostUp, core.HostSuspect, core.HostDown:
		default:
			a.report(core.RuleHosts, host, "it has the state %q", v.hash["state"])
		}
		if v.hash["epoch"] != a.one("epochs").hash["host:"+host] {
			a.report(core.RuleHosts, host, "it is of epoch %s, the last was %s", v.hash["epoch"], a.one("epochs").hash["host:"+host])
		}
	}
	suspects := a.one("suspects").list
	for _, v := range a.reading["host"] {
		if v.hash["state"] == string(core.HostSuspect) && !slices.Contains(suspects, v.args[0]) {
			a.report(core.RuleHosts, v.args[0], "it is suspect, but not among the suspects")
		}
	}
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		if a.host(host) == nil {
			a.report(core.RuleHosts, host, "it is among the hosts but has no record")
		}
	}
	for _, name := range []string{"vms", "clean", "dirty", "quarantined"} {
		for _, v := range a.reading[name] {
			// A host that was reported failed may be back, with its records.
			if h := a.host(v.args[0]); h == nil || h["state"] == string(core.HostDown) && h["failed"] == "" {
				a.report(core.RuleHosts, v.args[0], "it is not there, but it has VMs in %s", v.key)
			}
		}
	}
}

func (a *checker) host(host string) map[string]string {
	for _, v := range a.reading["host"] {
		if v.args[0] == host {
			return v.hash
		}
	}
	return nil
}

func checkOwners(a *checker) {
	owners := a.one("owners").scores
	checkOwnersOn(a, owners)
	epochs := make(map[string]int64)
	for _, v := range a.reading["owner"] {
		name := v.args[0]
		if _, ok := owners[name]; !ok {
			a.report(core.RuleOwners, name, "it has a record but is not among the owners")
		}
		if v.hash["epoch"] != a.one("epochs").hash[name] {
			a.report(core.RuleOwners, name, "it is of epoch %s, the last was %s", v.hash["epoch"], a.one("epochs").hash[name])
		}
		epochs[name] = num(v.hash["epoch"])
	}
	for _, name := range slices.Sorted(maps.Keys(owners)) {
		if epochs[name] == 0 {
			a.report(core.RuleOwners, name, "it is among the owners but has no record")
		}
		if _, host, err := core.ParseOwner(name); err != nil || a.host(host) == nil {
			a.report(core.RuleOwners, name, "its host is not known")
		}
	}
	a.slotted(func(owner, key string, slot core.Held) {
		if _, ok := owners[owner]; !ok {
			a.report(core.RuleOwners, owner, "it holds %s but is not among the owners", key)
		}
		epoch, number, ok := strings.Cut(slot.Token, ".")
		if !ok || number == "" || num(epoch) < 1 || num(epoch) > epochs[owner] {
			a.report(core.RuleTokens, key, "its token %s is not of an epoch of %s, which is at %d", slot.Token, owner, epochs[owner])
		}
	})
}

// checkHands requires that what owners held when they fell is forgotten with their hosts.
func checkHands(a *checker) {
	for _, owner := range slices.Sorted(maps.Keys(a.one("hands").hash)) {
		if _, host, err := core.ParseOwner(owner); err != nil || a.host(host) == nil {
			a.report(core.RuleLeft, "hands", "it has what %s held, whose host is not there", owner)
		}
	}
}

// checkOwnersOn requires that each owner is listed with its host.
func checkOwnersOn(a *checker, owners map[string]float64) {
	listed := make(map[string]string)
	for _, v := range a.reading["owners_on"] {
		for _, name := range v.list {
			listed[name] = v.args[0]
			if _, is := owners[name]; !is {
				a.report(core.RuleOwners, name, "it is in %s but not among the owners", v.key)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(owners)) {
		if _, host, err := core.ParseOwner(name); err == nil && listed[name] != host {
			a.report(core.RuleOwners, name, "it is not in owners:on:%s", host)
		}
	}
}

// checkHeld requires that each request and task in a slot is found there. It comes first: other corrections ask for
// who holds what.
func checkHeld(a *checker) {
	held := maps.Clone(a.one("held").hash)
	for role, rule := range map[core.Role]core.Rule{core.RoleTestrunner: core.RuleRequests, core.RoleTaskrunner: core.RuleTasks} {
		a.slotsOf(role, func(owner, _, key string, _ core.Held) {
			if its := readRecord("held", held[key]); its["owner"] != owner {
				a.report(rule, key, "it is in slots:%s, but held says %q", owner, strings.TrimSpace(held[key]))
			}
			delete(held, key)
		})
	}
	for _, key := range slices.Sorted(maps.Keys(held)) {
		a.report(core.RuleLeft, key, "held says %q, but it is in no slot", strings.TrimSpace(held[key]))
	}
}

// places collects the places of each object.
type places map[string][]string

func (p places) put(id, where string) { p[id] = append(p[id], where) }

// check reports objects that are not in exactly one place. known says which objects should be in one.
func (p places) check(a *checker, rule core.Rule, known map[string]string) {
	for _, id := range slices.Sorted(maps.Keys(known)) {
		if len(p[id]) == 0 {
			a.report(rule, id, "it is nowhere")
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p)) {
		if _, ok := known[id]; !ok {
			a.report(rule, id, "it is in %s but is not known", strings.Join(p[id], " and "))
		}
		if len(p[id]) > 1 {
			slices.Sort(p[id])
			a.report(rule, id, "it is in more than one place: %s", strings.Join(p[id], ", "))
		}
	}
}

func checkRequests(a *checker) {
	specs, where := a.one("specs").hash, make(places)
	for _, v := range a.reading["queue"] {
		for _, key := range v.list {
			where.put(key, v.key)
			if its, ok := specs[key]; ok && its != below("queue", v.args[0], string(priorityOf(v.args[1])), v.args[2]) {
				a.report(core.RuleRequests, key, "it is in %s, but by its spec it belongs into %q", v.key, its)
			}
		}
	}
	for _, name := range []string{"assigned", "parked", "apart"} {
		for _, v := range a.reading[name] {
			pool := v.args[len(v.args)-1]
			for _, key := range v.list {
				where.put(key, v.key)
				if its, ok := specs[key]; ok && !strings.HasPrefix(its, "queue:"+pool+":") {
					a.report(core.RuleRequests, key, "it is in %s, but by its spec it belongs into %q", v.key, its)
				}
			}
		}
	}
	for key := range a.one("later").scores {
		where.put(key, "later")
	}
	a.slotsOf(core.RoleTestrunner, func(owner, _, key string, _ core.Held) { where.put(key, "slots:"+owner) })
	where.check(a, core.RuleRequests, specs)
}

// checkTurns requires that each submitter with waiting requests is in turn exactly once, and so is each lane with
// waiting tasks, and each kind with such lanes.
func checkTurns(a *checker) {
	for in, what := range map[string]string{"turns": "queue", "tasks_lanes": "tasks_queue", "tasks_kinds": "tasks_lanes"} {
		turns := make(map[string]int)
		for _, v := range a.reading[in] {
			for _, name := range v.list {
				turns[below(what, append(slices.Clone(v.args), name)...)]++
			}
		}
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

// below returns a key without its namespace.
func below(name string, args ...string) string {
	return strings.TrimPrefix(Space("").Key(name, args...), ":")
}

func checkVMs(a *checker) {
	pool := make(map[string]string) // VM → its pool
	host := make(map[string]string)
	for _, v := range a.reading["vms"] {
		for vm, fact := range v.hash {
			if other, ok := host[vm]; ok {
				a.report(core.RuleVMs, vm, "it is on host %s and on host %s", min(other, v.args[0]), max(other, v.args[0]))
			}
			pool[vm] = readRecord("vm", fact)["pool"]
			host[vm] = v.args[0]
		}
	}
	where := make(places)
	for _, v := range a.reading["clean"] {
		for _, vm := range v.list {
			where.put(vm, v.key)
			if p, ok := pool[vm]; ok && p != v.args[1] {
				a.report(core.RuleVMs, vm, "it is in %s but of pool %s", v.key, p)
			}
		}
	}
	for _, name := range []string{"dirty", "quarantined"} {
		for _, v := range a.reading[name] {
			for _, vm := range append(slices.Collect(maps.Keys(v.hash)), v.list...) {
				where.put(vm, v.key)
			}
		}
	}
	epochs := a.one("epochs").hash
	a.slotted(func(owner, _ string, slot core.Held) {
		role, at, err := core.ParseOwner(owner)
		if err != nil || role == core.RoleTaskrunner {
			return
		}
		epoch, _, _ := strings.Cut(slot.Token, ".")
		if _, known := host[slot.VM]; !known && epoch != epochs[owner] {
			return // its host was lost, and the slot is about to be settled
		}
		where.put(slot.VM, "slots:"+owner)
		if h, ok := host[slot.VM]; ok && h != at {
			a.report(core.RuleVMs, slot.VM, "it is on host %s but in a slot of %s", h, owner)
		}
	})
	where.check(a, core.RuleVMs, pool)
}

// checkRunning requires that what counts as running is in a slot.
func checkRunning(a *checker) {
	runs := make(map[string]bool)
	a.slotsOf(core.RoleTestrunner, func(_, _, key string, _ core.Held) { runs[key] = true })
	for _, id := range slices.Sorted(maps.Keys(a.one("running").hash)) {
		if !runs[id] {
			a.report(core.RuleLeft, id, "running has it, but it does not run")
		}
	}
}

func checkLeft(a *checker) {
	specs, tasks := a.one("specs").hash, a.one("tasks").hash
	live := func(id string) bool {
		_, request := specs[id]
		_, task := tasks[id]
		return request || task
	}
	for _, name := range []string{"attempts", "cancels", "deaths"} {
		for _, id := range slices.Sorted(maps.Keys(a.one(name).hash)) {
			if !live(id) {
				a.report(core.RuleLeft, id, "%s has it, but it is not there any more", name)
			}
		}
	}
	for _, name := range []string{"shun", "waits", "evacuations"} {
		for _, id := range slices.Sorted(maps.Keys(a.one(name).hash)) {
			if _, request := specs[id]; !request {
				a.report(core.RuleLeft, id, "%s has it, but it is not there any more", name)
			}
		}
	}
	for _, ended := range []struct {
		key string
		ids []string
	}{
		{"tombstones", a.one("tombstones").list},
		{"tombstones:old", a.one("tombstones_old").list},
		{"dead", slices.Sorted(maps.Keys(a.one("dead").scores))},
	} {
		for _, id := range ended.ids {
			if live(id) {
				a.report(core.RuleLeft, id, "%s says that it ended, but it is still there", ended.key)
			}
		}
	}
	hosts, owners := a.one("hosts").scores, a.one("owners").scores
	for _, name := range []string{"bell", "factory_bell", "placement_bell", "tasks_bell", "notice"} {
		for _, v := range a.reading[name] {
			if len(v.list) > 1 {
				a.report(core.RuleLeft, v.key, "it has %d rings", len(v.list))
			}
			if len(v.args) == 0 {
				continue
			}
			_, host := hosts[v.args[0]]
			_, owner := owners[v.args[0]]
			if !host && !owner {
				a.report(core.RuleLeft, v.key, "it is there, but %s is not", v.args[0])
			}
		}
	}
	for _, v := range a.reading["idle"] {
		for _, h := range v.list {
			if _, ok := hosts[h]; !ok {
				a.report(core.RuleLeft, v.key, "host %s is listed as idle, but it is not there", h)
			}
		}
	}
}
