package redisstore_test

import (
	"encoding/json"
	"maps"
	"strconv"
	"time"

	"drover/core"
	"drover/core/redisstore"
)

// round is one of placement that an overseer has begun: it has read the number, and writes later, or never.
type round struct {
	begun  bool
	number int64
}

// place lets an overseer do the next step of a round of placement. Two of them do so at once. What it decides is not of
// interest here, but that it is written as a whole or not at all.
func (m *model) place() {
	who := m.n("overseer", len(m.rounds))
	r := &m.rounds[who]
	if !r.begun {
		g, err := m.s.Ground(m.ctx)
		m.must(err)
		*r = round{begun: true, number: g.Number}
		m.note("overseer %d reads for the round after %d", who, g.Number)
		return
	}
	number := r.number
	*r = round{}
	next := core.Round{Targets: make(map[string]core.Targets), Use: make(map[string]core.Use), Lasts: time.Duration(m.n("seconds", 20)) * time.Second}
	for _, host := range modelHosts {
		switch m.n("targets", 4) {
		case 0: // it does not change
		case 1:
			next.Targets[host] = nil
		default:
			its := make(core.Targets)
			for _, pool := range modelPools {
				if t := (core.Target{Warm: m.n("warm", 4), Most: m.n("most", 4)}); t != (core.Target{}) {
					its[pool] = t
				}
			}
			next.Targets[host] = its
		}
	}
	for _, pool := range modelPools {
		if m.chance("use", 2) {
			next.Use[pool] = core.Use{Claims: int64(m.n("claims", 9)), At: int64(m.n("at", 9)), Rate: float64(m.n("rate", 9)), Rated: int64(m.n("rated", 9))}
		}
	}
	write := func() {
		_, err := m.s.SetTargets(m.ctx, number, next)
		m.note("overseer %d writes the round after %d: %v", who, number, err)
		m.may(err, core.CodeConflict)
	}
	write()
	if m.chance("comes twice", 3) {
		m.copyOf(write)
	}
}

// placeForget is how long after the last round a host goes by itself again.
const placeForget = 10 * time.Minute

// noRounds lets so much time pass that the last round counts no more. Nobody else notices: they send heartbeats.
func (m *model) noRounds() {
	if m.b.Mini == nil || m.waitsForClock() {
		return
	}
	m.note("no overseer places for long")
	for passed := time.Duration(0); passed <= placeForget; passed += placeForget / 4 {
		m.pass(placeForget / 4)
		m.beats(nil)
	}
}

// follow asks what VMs the host should have, as a vmfactory does, and makes those that are missing, one step at a time.
func (f *factory) follow() {
	load, err := f.s.Load(f.ctx, f.host, modelPools)
	f.must(err)
	f.checkFollows(load)
	for _, l := range load.Pools {
		if missing := load.Targets[l.Pool.Name].Warm - l.Clean - l.Creating; missing > 0 {
			f.createIn(l.Pool.Name, missing)
			return
		}
	}
}

// planned are the last round's number, time and end by the namespace; nil if there was none.
func planned(l *redisstore.Look) map[string]string {
	return redisstore.ReadRecord("planned", l.Hash("meta")["planned"])
}

// checkFollows requires that a vmfactory is told whether it has reconciled, and of what was decided for its host last, unless that is too old, or by a
// clock that was set back since; and that it leaves waiting work to the rounds only while they come.
func (f *factory) checkFollows(load core.HostLoad) {
	if ready := f.look().Hash("host", f.host)["incarnation"] == f.incarnation(); load.Ready != ready {
		f.fail("%s is told that Redis counts all its VMs: %v", f.name, load.Ready)
	}
	if f.b.Mini == nil {
		return // the model does not know the time
	}
	last, clock := planned(f.look()), f.at.UnixMilli()
	age := clock - redisstore.Num(last["at"])
	known := last != nil && age >= 0 && age < placeForget.Milliseconds()
	if fresh := known && redisstore.Num(last["till"]) >= clock; load.Placed != fresh {
		f.fail("%s is told that rounds come: %v; the last one was %v, and it is %d", f.name, load.Placed, last, clock)
	}
	text := f.look().Hash("host", f.host)["targets"]
	if !known {
		text = ""
	}
	var want core.Targets
	if text != "" {
		f.must(json.Unmarshal([]byte(text), &want))
	}
	if (want == nil) != (load.Targets == nil) || !maps.Equal(want, load.Targets) {
		f.fail("%s is told to have %v, and is to have %v", f.name, load.Targets, want)
	}
}

// checkRound requires that targets and uses are only changed by a round that was computed of the last one, and then as
// it says.
func (m *model) checkRound(c *call) {
	before, after := planned(c.before), planned(c.after)
	wrote := c.name == "place_set" && c.err == nil
	if !wrote {
		if !maps.Equal(before, after) {
			m.fail("%s changed the round from %v to %v", c.name, before, after)
		}
	} else if was := strconv.FormatInt(redisstore.Num(before["number"]), 10); c.args[0] != was || redisstore.Num(after["number"]) != redisstore.Num(was)+1 {
		m.fail("a round after %s was written after round %s, and is number %s", c.args[0], was, after["number"])
	}
	targets, uses := make(map[string]string), make(map[string]string)
	if wrote {
		hosts := int(c.num(2))
		for i := 3; i < 3+2*hosts; i += 2 {
			targets[c.args[i]] = c.args[i+1]
		}
		for i := 3 + 2*hosts; i < len(c.args); i += 5 {
			uses[c.args[i]] = c.args[i+1] + "|" + c.args[i+2] + "|" + c.args[i+3] + "|" + c.args[i+4]
		}
	}
	for _, host := range modelHosts {
		had, has := c.before.Hash("host", host), c.after.Hash("host", host)
		want := had["targets"]
		if text, decided := targets[host]; decided {
			want = text
		}
		if had == nil || has == nil {
			want = "" // forgotten, or not yet there
		}
		if has["targets"] != want {
			m.fail("%s made the targets of %s %q, not %q", c.name, host, has["targets"], want)
		}
	}
	for _, pool := range modelPools {
		want := c.before.Hash("pool", pool)["use"]
		if text, decided := uses[pool]; decided {
			want = text
		}
		if has := c.after.Hash("pool", pool)["use"]; has != want {
			m.fail("%s made the use of %s %q, not %q", c.name, pool, has, want)
		}
	}
}

// checkPlaced requires that who assigns work saw the room that is there.
func (m *model) checkPlaced(c *call) {
	placed := c.before.Hash("meta")["placed"]
	for _, v := range c.after.Lists("assigned") {
		for _, key := range v {
			if c.before.States["request "+key] != string(core.RequestQueued) && placed != c.args[3] && (placed != "" || c.args[3] != "0") {
				m.fail("settle assigned %s by the number %s, and it was %q", key, c.args[3], placed)
			}
		}
	}
}
