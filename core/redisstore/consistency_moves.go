package redisstore

import (
	"maps"
	"slices"
	"strings"

	"drover/core"
)

// checkMoves holds the records of evacuations against where the requests are.
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
	a.slotted(func(owner, key string, _ core.Held) {
		if role, host, err := core.ParseOwner(owner); err == nil && role == core.RoleTestrunner {
			at[key] = spot{core.EvacuationAccepted, host}
		}
	})
	for _, key := range slices.Sorted(maps.Keys(records)) {
		e, ok := toEvacuation(key, records[key])
		switch is := at[key]; {
		case !ok:
			a.report(core.RuleMoves, key, "the record of its evacuation is not readable: %q", records[key])
		case is != spot{e.State, e.To}:
			a.report(core.RuleMoves, key, "its evacuation is %s to %q, and it is %q at %q", e.State, e.To, is.state, is.host)
		}
	}
}

// checkTrials requires that a host's canary is in a slot of its owner, and the host
// on probation.
func checkTrials(a *checker) {
	slots := make(map[string]bool)
	a.slotted(func(owner, key string, _ core.Held) { slots[key+"|"+owner] = true })
	for _, v := range a.reading["host"] {
		canary := v.hash["canary"]
		if canary != "" && (v.hash["probation"] == "" || !slots[canary]) {
			a.report(core.RuleHosts, v.args[0], "its canary is %q, which is not on trial there", canary)
		}
	}
}
