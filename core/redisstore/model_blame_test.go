package redisstore_test

import (
	"slices"
	"strings"

	"drover/core"
	"drover/core/redisstore"
)

// hand is what owners hold together, by the slots before a call, and what their death
// counts against: what is alone, or the only one that met a death before.
func (c *call) hand(owners []string) (keys []string, only string) {
	var marked []string
	deaths := c.before.Hash("deaths")
	for id := range c.before.Slots {
		if slices.Contains(owners, id[0]) {
			keys = append(keys, id[1])
			if strings.Contains(deaths[id[1]], "@") {
				marked = append(marked, id[1])
			}
		}
	}
	switch {
	case len(marked) == 1:
		only = marked[0]
	case len(marked) == 0 && len(keys) == 1:
		only = keys[0]
	}
	slices.Sort(keys)
	return keys, only
}

// checkBlame requires that a death is noted once it is known and then once, of all that was in
// hand, that it counts against one at most, and that what met one runs apart. Nothing else
// is noted: not of who is late, nor of who lives.
func (m *model) checkBlame(c *call) {
	want := make(map[string]string)
	note := func(key, who string) {
		names := append(strings.Fields(want[key]), who)
		want[key] = strings.Join(names[max(0, len(names)-8):], " ")
	}
	died := func(owner string, keys []string, only string) {
		for _, key := range keys {
			if key == only {
				note(key, owner+"!")
			} else {
				note(key, owner)
			}
		}
	}
	for key, names := range c.before.Hash("deaths") {
		want[key] = names
	}
	var ended []string // testrunners whose epoch this call ended
	for owner, due := range c.before.Scores("owners") {
		after := c.after.Hash("owner", owner)["epoch"]
		if due > 0 && after != "" && after != c.before.Hash("owner", owner)["epoch"] && strings.HasPrefix(owner, string(core.RoleTestrunner)) {
			ended = append(ended, owner)
		}
	}
	_, only := c.hand(ended)
	owner := ""
	if len(c.args) > 0 {
		owner = c.args[0]
	}
	kept := redisstore.ReadRecord("hand", c.before.Hash("hands")[owner])
	switch {
	case c.err != nil:
	case c.name == "declare_dead" && slices.Contains(ended, owner):
		keys, _ := c.hand(ended)
		died(owner, keys, only)
	case c.name == "declare_dead" && kept != nil && kept["epoch"] == c.args[1]:
		died(owner, strings.Fields(kept["keys"]), kept["only"])
	case c.name == "register":
		keys, former := []string{}, c.before.Hash("owner", owner)["process"]
		if slices.Contains(ended, owner) {
			keys, only = c.hand(ended)
		} else if kept != nil {
			keys, only, former = strings.Fields(kept["keys"]), kept["only"], kept["process"]
		}
		if former != "" && c.args[11] != "" && former != c.args[11] {
			died(owner, keys, only)
		}
	default:
		for _, owner := range ended {
			m.checkKept(c, owner, only)
		}
	}
	for id, outcome := range c.items() {
		slot := c.before.Slots[[2]string{owner, id[0]}]
		_, host, _ := core.ParseOwner(owner)
		how := map[core.Outcome]string{core.OutcomeBroken: "!", core.OutcomeUnclean: "~!"}[core.Outcome(outcome)]
		if how != "" && slot.Token == id[1] && c.after.Slots[[2]string{owner, id[0]}].Token != id[1] && !isCanary(c, host, id[0], owner) {
			note(id[0], slot.VM+how)
		}
	}
	deaths := c.after.Hash("deaths")
	for key := range m.ledger {
		if c.before.States["request "+key] != "" && c.after.States["request "+key] != "" && deaths[key] != want[key] {
			m.fail("%s: request %s met %q, and noted is %q", c.name, key, want[key], deaths[key])
		}
	}
	m.checkApart(c, owner)
}

// isCanary says whether a request was an owner's canary of a host, before a call.
func isCanary(c *call, host, key, owner string) bool {
	canary := redisstore.ReadRecord("canary", c.before.Hash("host", host)["canary"])
	return canary["key"] == key && canary["owner"] == owner
}

// checkKept requires that the work of a fenced owner is kept until it is known whether the owner died.
func (m *model) checkKept(c *call, owner, only string) {
	keys, _ := c.hand([]string{owner})
	text := c.after.Hash("hands")[owner]
	kept := redisstore.ReadRecord("hand", text)
	if len(keys) == 0 {
		return
	}
	if kept == nil || kept["epoch"] != c.before.Hash("owner", owner)["epoch"] || kept["only"] != only {
		m.fail("%s ended the epoch of %s, and kept of its hand %v, of which %q is to blame: %q", c.name, owner, keys, only, text)
	}
	held := strings.Fields(kept["keys"])
	if slices.Sort(held); !slices.Equal(held, keys) {
		m.fail("%s ended the epoch of %s, which had in hand %v, and kept %v", c.name, owner, keys, held)
	}
}

// checkApart requires that an owner claims nothing that met a death beside another such one.
func (m *model) checkApart(c *call, owner string) {
	if c.name != "exchange" || c.err != nil {
		return
	}
	var marked []string
	claimed := false
	for id, slot := range c.after.Slots {
		if id[0] == owner && strings.Contains(c.after.Hash("deaths")[id[1]], "@") {
			marked = append(marked, id[1])
			claimed = claimed || c.before.Slots[id].Token != slot.Token
		}
	}
	if claimed && len(marked) > 1 {
		m.fail("%s has %v in hand, which met deaths, and claimed one of them beside the others", owner, marked)
	}
}
