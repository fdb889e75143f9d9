package redisstore

import (
	"context"
	"maps"
	"slices"

	"drover/core"
)

// What the tests of the scripts themselves look at.
var (
	ScriptNames = scriptNames
	Assemble    = assemble
	ReadLua     = readLua
	Library     = library
	CallsOf     = callsOf
	KeysUsed    = keysUsed
	LuaKey      = luaKey
	Fault       = fault
)

// Born is when the life of the server began that the store is connected to, ms.
func (s *Store) Born() int64 { return s.born() }

// Look reads the namespace once: what is wrong with it, and the state of every
// request, VM and host as "request a-1": "queued".
func (s *Store) Look(ctx context.Context) ([]core.Violation, map[string]string, error) {
	r, err := s.readAll(ctx)
	if err != nil {
		return nil, nil, err
	}
	a := &audit{reading: r}
	a.check()
	states := make(map[string]string)
	place := func(kind, state string, ids []string) {
		for _, id := range ids {
			states[kind+id] = state
		}
	}
	for _, v := range r["queue"] {
		place("request ", "queued", v.list)
	}
	for _, v := range r["clean"] {
		place("vm ", "clean", v.list)
	}
	for _, v := range r["dirty"] {
		place("vm ", "dirty", v.list)
	}
	for _, v := range r["aside"] {
		place("vm ", "aside", slices.Collect(maps.Keys(v.hash)))
	}
	for _, v := range r["host"] {
		states["host "+v.args[0]] = v.hash["state"]
	}
	a.slotted(func(owner, key string, slot core.Held) {
		if role, _, err := core.ParseOwner(owner); err == nil && role == core.RoleVMFactory {
			states["vm "+key] = slot.Phase
			return
		}
		states["request "+key], states["vm "+slot.VM] = slot.Phase, "claimed"
		if _, cancelled := r.one("cancels").hash[key]; cancelled {
			states["request "+key] = "cancelling"
		}
	})
	return a.found, states, nil
}
