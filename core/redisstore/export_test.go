package redisstore

import (
	"context"
	"maps"
	"slices"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// What the tests of the scripts themselves look at.
var (
	ScriptNames = scriptNames
	Assemble    = assemble
	ReadLua     = readLua
	Library     = library
	CallsOf     = callsOf
	Named       = named
	LuaRecord   = luaRecord
	ReadRecord  = readRecord
	Num         = num
	Classify    = classify
	Fault       = fault
	Text        = str
	InfoField   = infoField
)

// Born is when the life of the server began that the store is connected to, ms.
func (s *Store) Born() int64 { return s.born() }

// Young is whether what Redis gives out may have ended.
func (s *Store) Young() bool { return s.young() }

// LeastYouth is for how long an incarnation is young at least.
const LeastYouth = leastYouth

// Look is one reading of the namespace: what is wrong with it, and the state of every
// request, VM, host, task and evacuation under way as "request a-1": "queued".
type Look struct {
	reading
	Found  []core.Violation
	States map[string]string
	Slots  map[[2]string]core.Held // by owner and what it holds
}

// Hash returns a hash of the namespace, nil if there is none.
func (l *Look) Hash(name string, args ...string) map[string]string {
	for _, v := range l.reading[name] {
		if slices.Equal(v.args, args) {
			return v.hash
		}
	}
	return nil
}

// Belongs returns the key of the queue in which a request belongs by its spec, "" if there is no such request.
func (l *Look) Belongs(key string) string { return l.Hash("specs")[key] }

// Scores returns a sorted set of the namespace that is there once.
func (l *Look) Scores(name string) map[string]float64 { return l.one(name).scores }

// List returns a list or set of the namespace.
func (l *Look) List(name string, args ...string) []string {
	for _, v := range l.reading[name] {
		if slices.Equal(v.args, args) {
			return v.list
		}
	}
	return nil
}

// Lists returns all lists of one kind.
func (l *Look) Lists(name string) [][]string {
	var out [][]string
	for _, v := range l.reading[name] {
		out = append(out, v.list)
	}
	return out
}

// Look takes one.
func (s *Store) Look(ctx context.Context) (*Look, error) {
	r, err := s.readAll(ctx)
	if err != nil {
		return nil, err
	}
	a := &checker{reading: r, still: true}
	a.check()
	l := &Look{reading: r, Found: a.found, States: make(map[string]string), Slots: make(map[[2]string]core.Held)}
	place := func(kind, state string, ids []string) {
		for _, id := range ids {
			l.States[kind+id] = state
		}
	}
	for _, v := range r["queue"] {
		place("request ", "queued", v.list)
	}
	for _, v := range r["apart"] {
		place("request ", "queued", v.list)
	}
	for _, v := range r["assigned"] {
		place("request ", "queued", v.list)
	}
	for _, v := range r["parked"] {
		place("request ", "parked", v.list)
	}
	place("request ", "queued", slices.Collect(maps.Keys(r.one("later").scores)))
	for _, v := range r["clean"] {
		place("vm ", "clean", v.list)
	}
	for _, v := range r["dirty"] {
		place("vm ", "dirty", v.list)
	}
	for _, v := range r["quarantined"] {
		place("vm ", "quarantined", slices.Collect(maps.Keys(v.hash)))
	}
	for _, v := range r["host"] {
		l.States["host "+v.args[0]] = v.hash["state"]
	}
	for _, v := range r["tasks_queue"] {
		place("task ", "queued", v.list)
	}
	place("task ", "delayed", slices.Collect(maps.Keys(r.one("tasks_later").scores)))
	for key, record := range r.one("evacuations").hash {
		l.States["evacuation "+key] = readRecord("move", record)["state"]
	}
	a.slotted(func(owner, key string, slot core.Held) {
		l.Slots[[2]string{owner, key}] = slot
		_, cancelled := r.one("cancels").hash[key]
		switch role, _, _ := core.ParseOwner(owner); {
		case role == core.RoleVMFactory:
			l.States["vm "+key] = slot.Phase
			return
		case role == core.RoleTaskrunner && cancelled:
			l.States["task "+key] = "cancelling"
			return
		case role == core.RoleTaskrunner:
			l.States["task "+key] = "running"
			return
		}
		l.States["request "+key], l.States["vm "+slot.VM] = slot.Phase, "claimed"
		if cancelled {
			l.States["request "+key] = "cancelling"
		}
	})
	return l, nil
}

// ParseSentinel reads a URL of Sentinels.
func ParseSentinel(url string) (*redis.FailoverOptions, error) {
	l, err := parseURL(url)
	return l.sentinel, err
}

// Incarnation is the life of the server as scripts are told it.
func (s *Store) Incarnation() string { return s.incarnation() }

// Once is the connection of calls that are not repeated.
func (s *Store) Once() *redis.Client { return s.once }
