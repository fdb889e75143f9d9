package redisstore_test

import (
	"context"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"drover/core"
	"drover/core/redisstore"

	"github.com/redis/go-redis/v9"
)

// watcher sees every script call of a model, with the namespace before and after it.
type watcher struct {
	look    func() *redisstore.Look // as it was last seen
	changed func()                  // it may not be so any more
	check   func(*call)
}

func (watcher) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (watcher) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (w watcher) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c := call{name: scriptOf(cmd)}
		if c.name == "" || c.name == "held" { // which only reads
			return next(ctx, cmd)
		}
		for _, arg := range cmd.Args()[4:] { // evalsha, hash, 1, key
			c.args = append(c.args, redisstore.Text(arg))
		}
		c.before = w.look()
		c.err = next(ctx, cmd)
		w.changed()
		if redis.HasErrorPrefix(c.err, "NOSCRIPT") {
			return c.err
		}
		if reply, ok := cmd.(*redis.Cmd); ok && c.err == nil {
			c.reply, _ = reply.Val().([]any)
		}
		c.after = w.look()
		w.check(&c)
		return c.err
	}
}

// scriptsByHash names the scripts by what EVALSHA calls them.
var scriptsByHash = func() map[string]string {
	names := make(map[string]string)
	for _, name := range redisstore.ScriptNames() {
		names[hashOf(redisstore.Assemble(name))] = name
	}
	return names
}()

func hashOf(text string) string { return redis.NewScript(text).Hash() }

// scriptOf says which script a command calls, "" if none.
func scriptOf(cmd redis.Cmder) string {
	if args := cmd.Args(); len(args) > 3 {
		switch cmd.Name() {
		case "evalsha":
			return scriptsByHash[redisstore.Text(args[1])]
		case "eval":
			return scriptsByHash[hashOf(redisstore.Text(args[1]))]
		}
	}
	return ""
}

// look is the namespace as it is. Between two calls of scripts nothing changes it, but
// what forgets what was seen.
func (m *model) look() *redisstore.Look {
	if m.seen == nil {
		l, err := m.s.Look(m.ctx)
		m.must(err)
		m.seen = l
	}
	return m.seen
}

// call is one of a script.
type call struct {
	name          string
	args          []string // from ARGV[1] on, which is args[0]
	before, after *redisstore.Look
	err           error
	reply         []any
}

// signed says where a script's arguments have the epoch of the owner, who is the first.
var signed = map[string]int{
	"exchange": 2, "settle": 1, "progress": 1, "beat": 1, "deregister": 1, "vm_create": 1, "vm_ready": 1,
	"vm_retire": 1, "vm_destroy": 1, "vm_gone": 1, "vm_reconcile": 1,
}

func (c *call) num(i int) int64 {
	n, err := strconv.ParseInt(c.args[i], 10, 64)
	if err != nil {
		panic(err) // a call of ours has a number there
	}
	return n
}

// check holds a call against the rules: those of the namespace as it is then, and those
// of what this call may have done.
func (m *model) check(c *call) {
	for _, v := range c.after.Found {
		m.fail("after %s: %s %s: %s", c.name, v.Rule, v.ID, v.Text)
	}
	for key, r := range m.ledger {
		if r.known && r.end == "" && c.after.States["request "+key] == "" {
			m.fail("after %s: request %s is lost: it has not ended and is nowhere", c.name, key)
		}
	}
	if at, ok := signed[c.name]; ok {
		epoch := c.before.Hash("owner", c.args[0])["epoch"]
		if epoch != c.args[at] && c.err == nil && (c.name != "deregister" || epoch != "") {
			m.fail("%s of %s is accepted under epoch %s, and its epoch is %s", c.name, c.args[0], c.args[at], epoch)
		}
	}
	if c.err != nil && !same(c) {
		m.fail("%s was refused (%v) and changed something", c.name, c.err)
	}
	if c.name == "settle" {
		m.checkPlaced(c)
	}
	m.checkMoves(c)
	m.checkSlots(c)
	m.checkAttempts(c)
	m.checkBlame(c)
	m.checkOwners(c)
	m.checkHosts(c)
	m.checkIdle(c)
	m.checkClock(c)
	m.checkCancels(c)
	m.checkLease(c)
	m.checkRound(c)
	if c.name == "exchange" && c.err == nil {
		m.checkExchange(c)
	}
}

// same says whether everything is where it was.
func same(c *call) bool {
	return maps.Equal(c.before.States, c.after.States) && maps.EqualFunc(c.before.Slots, c.after.Slots, func(a, b core.Held) bool { return a.Slot == b.Slot }) &&
		maps.Equal(c.before.Hash("attempts"), c.after.Hash("attempts")) && maps.Equal(c.before.Hash("cancels"), c.after.Hash("cancels")) &&
		maps.Equal(c.before.Hash("epochs"), c.after.Hash("epochs"))
}

// transitions is the table, made once.
var transitions = core.Transitions()

// may says whether the script makes the move by the table; "" goes from or to nowhere.
func (c *call) may(kind core.Entity, from, to string) bool {
	return slices.ContainsFunc(transitions, func(t core.Transition) bool {
		return t.Entity == kind && t.From == from && t.To == to && slices.Contains(t.By, c.name)
	})
}

// leads says whether the script makes moves, one after another, that lead to a state by the table.
func (c *call) leads(kind core.Entity, from, to string) bool {
	reached := []string{from}
	for i := 0; i < len(reached); i++ {
		for _, t := range transitions {
			if t.Entity == kind && t.From == reached[i] && slices.Contains(t.By, c.name) && !slices.Contains(reached, t.To) {
				reached = append(reached, t.To)
			}
		}
	}
	return slices.Contains(reached[1:], to)
}

// checkEvacuation requires that moves off a host go by the table, and end in its record of ends.
func (m *model) checkEvacuation(c *call, key, from, to string) {
	ended := func(l *redisstore.Look) (ends []string) {
		for _, record := range l.List("evacuated") {
			if its := redisstore.ReadRecord("moved", record); its["key"] == key {
				ends = append(ends, its["state"])
			}
		}
		return ends
	}
	ends := ended(c.after)
	ends = ends[:len(ends)-len(ended(c.before))]
	if len(ends) > 0 && from != "" {
		if !c.leads(core.EntityEvacuation, from, ends[0]) {
			m.fail("%s made the evacuation of %s go from %s to %s, which the table does not have", c.name, key, from, ends[0])
		}
		from = ""
	}
	if from != to && (to == "" || !c.leads(core.EntityEvacuation, from, to)) {
		m.fail("%s made the evacuation of %s go from %q to %q, which the table does not have", c.name, key, from, to)
	}
}

// checkMoves requires that what changed are moves that the script has in the table. A
// request may make two of them in one call: given back, and claimed anew.
func (m *model) checkMoves(c *call) {
	for id, from := range c.before.States {
		to := c.after.States[id]
		if from == to {
			continue
		}
		word, name, _ := strings.Cut(id, " ")
		switch kind := core.Entity(word); {
		case kind == core.EntityEvacuation:
			m.checkEvacuation(c, name, from, to)
		case c.may(kind, from, to):
		case kind == core.EntityRequest && to == "":
			if m.ledger[name].end == "" {
				m.fail("request %s was %s and is gone after %s without an end", name, from, c.name)
			}
			if !slices.Contains([]string{"exchange", "settle", "revoke", "withdraw"}, c.name) {
				m.fail("%s ended request %s", c.name, name)
			}
		case kind == core.EntityRequest && c.may(kind, from, "queued") && c.may(kind, "queued", to):
		case kind == core.EntityVM && to == "" && (c.may(kind, from, "gone") || c.may(kind, from, "lost")):
		case id == "host "+c.args[0] && c.name == "host_forget" && from == string(core.HostDown) && to == "":
		default:
			m.fail("%s made %s go from %s to %q, which the table does not have", c.name, id, from, to)
		}
	}
	for id, to := range c.after.States {
		word, name, _ := strings.Cut(id, " ")
		if c.before.States[id] == "" && word == string(core.EntityEvacuation) {
			m.checkEvacuation(c, name, "", to)
			continue
		}
		if c.before.States[id] == "" && !c.may(core.Entity(word), "", to) {
			m.fail("%s made %s begin as %s, which the table does not have", c.name, id, to)
		}
	}
}

// endings are what a call ends, as key, token and outcome each.
func (c *call) endings() [][3]string {
	at := len(c.args)
	switch c.name {
	case "exchange":
		at = 11 + int(c.num(9))
	case "settle":
		at = 5
	case "revoke":
		slot := redisstore.ReadRecord("slot", c.args[3])
		return [][3]string{{c.args[2], slot["token"], c.args[4]}}
	}
	var ends [][3]string
	for at+2 < len(c.args) {
		first := at + 3
		next := first + int(c.num(at+2))
		for _, key := range c.args[first:next] {
			ends = append(ends, [3]string{key, c.args[at], c.args[at+1]})
		}
		at = next
	}
	return ends
}

// items are the endings by key and token: the first of each counts.
func (c *call) items() map[[2]string]string {
	ends := make(map[[2]string]string)
	for _, e := range c.endings() {
		id := [2]string{e[0], e[1]}
		if _, again := ends[id]; !again {
			ends[id] = e[2]
		}
	}
	return ends
}

// checkSlots requires that a slot is left by those only who name its owner, itself and
// its token, and filled by its owner only.
func (m *model) checkSlots(c *call) {
	ends := c.items()
	for id, slot := range c.before.Slots {
		if c.after.Slots[id].Token == slot.Token {
			continue
		}
		_, named := ends[[2]string{id[1], slot.Token}]
		if c.name == "vm_ready" || c.name == "vm_gone" {
			named = slices.Contains(c.args[3:], id[1])
		}
		if !named || c.args[0] != id[0] {
			m.fail("%s ended what %s holds of %s under %s, and does not name it: %q", c.name, id[0], id[1], slot.Token, c.args)
		}
	}
	for id, slot := range c.after.Slots {
		if c.before.Slots[id].Token == slot.Token && c.before.Belongs(id[1]) != c.after.Belongs(id[1]) {
			m.fail("%s changed request %s, which %s holds", c.name, id[1], id[0])
		}
		if c.before.Slots[id].Token != slot.Token && (len(c.args) == 0 || c.args[0] != id[0]) {
			m.fail("%s gave %s to %s, who did not ask", c.name, id[1], id[0])
		}
	}
}

// checkAttempts requires that an attempt is used by a retry of what was held, and by
// nothing else.
func (m *model) checkAttempts(c *call) {
	retried := make(map[string]int)
	if len(c.args) == 0 {
		return
	}
	_, at, _ := core.ParseOwner(c.args[0])
	for id, outcome := range c.items() {
		if isCanary(c, at, id[0], c.args[0]) { // its fault is the host's
			continue
		}
		slot, held := c.before.Slots[[2]string{c.args[0], id[0]}]
		if held && slot.Token == id[1] && c.after.Slots[[2]string{c.args[0], id[0]}].Token != id[1] && (strings.HasPrefix(outcome, string(core.OutcomeRetry)) || core.Outcome(outcome).Fault()) {
			retried[id[0]] = 1
		}
	}
	before, after := c.before.Hash("attempts"), c.after.Hash("attempts")
	for key := range m.ledger {
		if c.before.States["request "+key] == "" || c.after.States["request "+key] == "" {
			continue
		}
		was, _ := strconv.Atoi(before[key])
		is, _ := strconv.Atoi(after[key])
		if is != was+retried[key] {
			m.fail("%s: request %s had %d attempts used and %d retries now, and has %d", c.name, key, was, retried[key], is)
		}
	}
}

// checkOwners requires that epochs only grow, also beyond a loss of Redis, that only a
// start brings back a fenced owner, and that nobody is fenced who is not late.
func (m *model) checkOwners(c *call) {
	before, after := c.before.Scores("owners"), c.after.Scores("owners")
	for owner, due := range after {
		was, there := before[owner]
		epoch, err := strconv.ParseInt(c.after.Hash("owner", owner)["epoch"], 10, 64)
		m.must(err)
		if old := c.before.Hash("owner", owner)["epoch"]; old != c.after.Hash("owner", owner)["epoch"] {
			if now, _ := strconv.ParseInt(old, 10, 64); epoch <= now || m.epochs[owner+" "+strconv.FormatInt(epoch, 10)] || epoch <= m.newest[owner] && m.back == 0 {
				m.fail("%s gave %s the epoch %d, and it had %d before", c.name, owner, epoch, m.newest[owner])
			}
			m.epochs[owner+" "+strconv.FormatInt(epoch, 10)], m.newest[owner] = true, max(epoch, m.newest[owner])
		}
		if due > 0 && (!there || was == 0) && c.name != "register" {
			m.fail("%s brought %s back to life", c.name, owner)
		}
		if due == 0 && was > 0 && m.b.Mini != nil && (c.name == "fence" || c.name == "host_down") && float64(m.at.UnixMilli())-was < float64(c.num(1)) {
			m.fail("%s fenced %s, which was due %v ms ago and may be late by %d", c.name, owner, float64(m.at.UnixMilli())-was, c.num(1))
		}
		if old := c.before.Hash("owner", owner)["epoch"]; c.name == "declare_dead" && due == 0 && was > 0 && old != c.args[1] {
			m.fail("declare_dead of the epoch %s of %s ended its epoch %s", c.args[1], owner, old)
		}
	}
	for owner := range before {
		if _, there := after[owner]; !there && len(c.before.Hash("slots", owner)) > 0 {
			m.fail("%s forgot %s with what it holds", c.name, owner)
		}
	}
}

// checkHosts requires that a host which goes down takes its owners with it, and one that is
// ready has no clean VM that was used or is not there.
func (m *model) checkHosts(c *call) {
	for id, state := range c.after.States {
		host, is := strings.CutPrefix(id, "host ")
		if !is {
			continue
		}
		if state == string(core.HostDown) && c.before.States[id] != state {
			for owner, due := range c.after.Scores("owners") {
				if _, at, _ := core.ParseOwner(owner); at == host && due != 0 {
					m.fail("host %s is down, and %s is not fenced", host, owner)
				}
			}
		}
		if c.after.Hash("host", host)["failed"] != "" && state != string(core.HostDown) {
			m.fail("host %s is %s, and is reported failed", host, state)
		}
		if c.after.Hash("host", host)["incarnation"] != m.incarnation() {
			continue
		}
		for _, pool := range m.pools() {
			for _, vm := range c.after.List("clean", host, pool) {
				if real, there := m.real[vm]; c.name == "vm_reconcile" && (!there || real.host != host || real.used) {
					m.fail("VM %s is clean on host %s, which is ready, and really it is %+v", vm, host, real)
				}
			}
		}
	}
}

// checkCancels requires that who holds something that is to stop is told with each heartbeat
// and that no wish is forgotten.
func (m *model) checkCancels(c *call) {
	cancels := c.after.Hash("cancels")
	for key := range c.before.Hash("cancels") {
		if _, still := cancels[key]; !still && c.after.States["request "+key] != "" {
			m.fail("%s forgot that %s is to stop", c.name, key)
		}
	}
	var told []any
	switch {
	case c.err == nil && c.name == "exchange" && c.num(7) > 0:
		told = c.reply[10 : 10+c.reply[6].(int64)]
	case c.err == nil && c.name == "beat":
		told, _ = c.reply[2].([]any)
	default:
		return
	}
	for id := range c.after.Slots {
		if _, stop := cancels[id[1]]; stop && id[0] == c.args[0] && !slices.Contains(told, any(id[1])) {
			m.fail("%s does not tell %s that %s is to stop", c.name, c.args[0], id[1])
		}
	}
}

// checkExchange requires that a call acts once, answers for each item by itself, and claims
// what it may.
func (m *model) checkExchange(c *call) {
	lane := strings.Join([]string{c.args[0], c.args[2], c.args[3]}, " ")
	seq := c.num(4)
	if last, known := m.acted[lane]; known && seq <= last {
		if !same(c) {
			m.fail("call %d of %s acted, and %d acted before", seq, lane, last)
		}
		return
	}
	m.acted[lane] = seq
	owner, host := c.args[0], c.before.Hash("host", c.args[1])
	verdicts := redisstore.Text(c.reply[0])
	ends := c.endings()
	if want := int(c.num(10)); len(ends) != want || len(verdicts) != want {
		m.fail("%d ends have the answers %q", want, verdicts)
	}
	seen := make(map[string]bool)
	for i, e := range ends {
		key, token := e[0], e[1]
		mine := c.before.Slots[[2]string{owner, key}].Token == token && !seen[key]
		if seen[key] = seen[key] || mine; mine != (verdicts[i] == '1') {
			m.fail("the end of %s under %s is answered %c, and %s holds %+v", key, token, verdicts[i], owner, c.before.Slots[[2]string{owner, key}])
		}
	}
	claims := 0
	for id, slot := range c.after.Slots {
		if c.before.Slots[id].Token == slot.Token {
			continue
		}
		claims++
		if pool := strings.Split(c.before.Belongs(id[1])+":", ":")[1]; c.before.Hash("pool", pool)["paused"] == "1" {
			m.fail("%s claimed %s of pool %s, which is paused", owner, id[1], pool)
		}
	}
	if claims > 0 && host["failed"] != "" {
		m.fail("%s claimed on a host that is reported failed", owner)
	}
	if claims > 0 && host["drain"] == "1" {
		m.fail("%s claimed on a host that drains", owner)
	}
	if claims > 0 && host["incarnation"] != c.args[8] {
		m.fail("%s claimed on a host that must reconcile", owner)
	}
	if host["probation"] != "" {
		m.checkTrial(c, claims)
	}
	if int64(claims) > c.num(6) {
		m.fail("%s wanted %d and got %d", owner, c.num(6), claims)
	}
}

// checkTrial requires that a host on probation has one canary, and none before its time.
func (m *model) checkTrial(c *call, claims int) {
	host := c.after.Hash("host", c.args[1])
	if claims == 0 || host["probation"] == "" { // ended by the canary that this call ended
		return
	}
	canary := redisstore.ReadRecord("canary", c.before.Hash("host", c.args[1])["canary"])
	id := [2]string{canary["owner"], canary["key"]}
	_, out := c.after.Slots[id]
	if claims > 1 || out && c.before.Slots[id].Token == c.after.Slots[id].Token {
		m.fail("%s claimed %d on a host on probation, whose canary was %v", c.args[0], claims, id)
	}
	if m.b.Mini != nil && m.early(host["probation"]) {
		m.fail("%s claimed on a host that gets nothing yet: %s", c.args[0], host["probation"])
	}
}
