package redisstore

import (
	"maps"
	"slices"
	"strings"

	"drover/core"
)

// checkMoves compares the records of evacuations with the places of the requests.
func checkMoves(a *checker) {
	type spot struct {
		state core.EvacuationState
		host  string
	}
	at, where := make(map[string]spot), make(map[string]string)
	for _, v := range a.reading["assigned"] {
		if h := a.host(v.args[0]); h == nil || h["state"] == string(core.HostDown) || h["drain"] == "1" {
			a.report(core.RuleHosts, v.args[0], "it takes no work, and requests are assigned to it: %s", strings.Join(v.list, " "))
		}
		for _, key := range v.list {
			at[key], where[key] = spot{core.EvacuationScheduled, v.args[0]}, v.key
		}
	}
	for _, v := range a.reading["parked"] {
		for _, key := range v.list {
			at[key], where[key] = spot{core.EvacuationParked, ""}, v.key
		}
	}
	records := a.one("evacuations").hash
	for _, key := range slices.Sorted(maps.Keys(at)) {
		if _, ok := records[key]; !ok {
			a.report(core.RuleMoves, key, "it is in %s, and no record of an evacuation says so", where[key])
		}
	}
	a.slotsOf(core.RoleTestrunner, func(_, host, key string, _ core.Held) {
		at[key] = spot{core.EvacuationAccepted, host}
	})
	for _, key := range slices.Sorted(maps.Keys(records)) {
		its := readRecord("move", records[key])
		e := toEvacuation(key, its)
		switch is := at[key]; {
		case its == nil:
			a.report(core.RuleMoves, key, "the record of its evacuation is not readable: %q", records[key])
		case is != spot{e.State, e.To}:
			a.report(core.RuleMoves, key, "its evacuation is %s to %q, and it is %q at %q", e.State, e.To, is.state, is.host)
		}
	}
}

// checkTrials requires that a host's canary is in a slot of its owner, and that the host is on probation.
func checkTrials(a *checker) {
	slots := make(map[[2]string]bool)
	a.slotted(func(owner, key string, _ core.Held) { slots[[2]string{key, owner}] = true })
	for _, v := range a.reading["host"] {
		its := readRecord("canary", v.hash["canary"])
		if v.hash["canary"] != "" && (v.hash["probation"] == "" || !slots[[2]string{its["key"], its["owner"]}]) {
			a.report(core.RuleHosts, v.args[0], "its canary is %q, which is not on trial there", v.hash["canary"])
		}
	}
}
