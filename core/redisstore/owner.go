package redisstore

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// Register implements core.Owners.
func (s *Store) Register(ctx context.Context, r core.Registration) (core.Registered, error) {
	role, host, err := core.ParseOwner(r.Owner)
	if err != nil {
		return core.Registered{}, err
	}
	if host != r.Host {
		return core.Registered{}, core.Errorf(core.CodeInvalid, r.Owner, "owner %s does not belong to host %s", r.Owner, r.Host)
	}
	reply, err := s.run(ctx, "register", r.Owner, r.Owner, string(role), r.Host, r.Machine, r.PID, r.Version,
		r.Beat.Milliseconds(), Schema, r.CPU, r.MemoryBytes, r.DiskBytes, r.Process, r.Former, flag(r.Clears))
	if err != nil {
		return core.Registered{}, err
	}
	f := list(reply)
	if len(f) != 2 {
		return core.Registered{}, core.Errorf(core.CodeInternal, r.Owner, "the register script answered %d parts", len(f))
	}
	return core.Registered{Epoch: num(f[0]), Left: toHeld(list(f[1])), Incarnation: s.incarnation()}, nil
}

// toHeld reads what an owner holds, oldest first: Redis has it in no order.
func toHeld(f []any) []core.Held {
	const width = 7
	out := make([]core.Held, 0, len(f)/width)
	for i := 0; i+width <= len(f); i += width {
		h, ok := toSlot(str(f[i]), str(f[i+1]), str(f[i+4]))
		if !ok {
			continue
		}
		h.Attempts, h.Cancelled, h.Deaths = int(num(f[i+2])), str(f[i+3]), toDeaths(f[i+5])
		h.Change = int(num(f[i+6]))
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b core.Held) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), strings.Compare(a.Key, b.Key))
	})
	return out
}

// toSlot reads a slot. A vmfactory's slot has the pool of its VM; for a request, pool is known from elsewhere.
func toSlot(key, slot, pool string) (core.Held, bool) {
	r := readRecord("slot", slot)
	if r == nil {
		return core.Held{}, false
	}
	h := core.Held{
		Key: key, VM: r["what"], Token: r["token"], Since: num(r["since"]), Phase: r["phase"], Pool: pool, Slot: slot,
		Limit: time.Duration(num(r["limit"])) * time.Millisecond,
	}
	if h.Phase == string(core.VMCreating) || h.Phase == string(core.VMDestroying) {
		h.Pool, h.VM = h.VM, h.Key
	}
	return h, true
}

// toDeaths reads the deaths that a request or task met.
func toDeaths(text any) []core.Death {
	var deaths []core.Death
	for who := range strings.FieldsSeq(str(text)) {
		name, counts := strings.CutSuffix(who, "!")
		name, unclean := strings.CutSuffix(name, "~")
		deaths = append(deaths, core.Death{Of: name, Counts: counts, Unclean: unclean})
	}
	return deaths
}

// deathsText is the reverse of toDeaths.
func deathsText(deaths []core.Death) string {
	words := make([]string, len(deaths))
	for i, d := range deaths {
		words[i] = d.Of
		if d.Unclean {
			words[i] += "~"
		}
		if d.Counts {
			words[i] += "!"
		}
	}
	return strings.Join(words, " ")
}

// Beat implements core.Owners.
func (s *Store) Beat(ctx context.Context, owner string, epoch int64, next time.Duration) (core.Beat, error) {
	role, host, err := core.ParseOwner(owner)
	if err != nil {
		return core.Beat{}, err
	}
	if role == core.RoleVMFactory {
		s.doubt() // one owner of each host checks, whatever the connection's state
	}
	reply, err := s.run(ctx, "beat", owner, owner, epoch, next.Milliseconds(), host, served{s: s})
	if err != nil {
		return core.Beat{}, err
	}
	f := list(reply)
	if len(f) != 4 {
		return core.Beat{}, core.Errorf(core.CodeInternal, owner, "the beat script answered %d parts", len(f))
	}
	b := core.Beat{Slots: int(num(f[0])), Draining: num(f[1]) == 1, Cancelled: byWhom(f[2]), Ready: num(f[3]) == 1, Incarnation: s.incarnation()}
	if !b.Ready {
		s.doubt()
	}
	return b, nil
}

// Held implements core.Owners.
func (s *Store) Held(ctx context.Context, owner string, epoch int64) ([]core.Held, error) {
	reply, err := s.run(ctx, "held", owner, owner, epoch)
	return toHeld(list(reply)), err
}

// Settle implements core.Owners.
func (s *Store) Settle(ctx context.Context, owner string, epoch int64, items []core.Settlement, placed int64) (core.Settled, error) {
	out := core.Settled{Placed: placed}
	_, host, err := core.ParseOwner(owner)
	if err != nil {
		return out, err
	}
	for chunk := range slices.Chunk(items, maxBatch) {
		words := make([]string, len(chunk))
		for i, it := range chunk {
			if words[i], err = outcomeWord(it); err != nil {
				return out, err
			}
		}
		args := appendEndings([]any{owner, epoch, host, out.Placed, len(chunk)}, len(chunk), func(i int) ending {
			return ending{chunk[i].Key, chunk[i].Token, words[i]}
		})
		reply, err := s.run(ctx, "settle", owner, args...)
		if err != nil {
			return out, err
		}
		f := list(reply)
		if len(f) != 2 {
			return out, core.Errorf(core.CodeInternal, owner, "the settle script answered %d parts", len(f))
		}
		out.Moved += int(num(f[0]))
		if num(f[1]) > 0 {
			out.Placed = num(f[1])
		}
	}
	return out, nil
}

// outcomeWord is a settlement's outcome as scripts read it: retry>h2 assigns to h2,
// release>- parks.
func outcomeWord(s core.Settlement) (string, error) {
	switch {
	case s.To == "":
		return string(s.Outcome), nil
	case s.Outcome != core.OutcomeRetry && s.Outcome != core.OutcomeRelease:
		return "", core.Errorf(core.CodeInvalid, s.Key, "%s ends by %s and goes nowhere, not to %s", s.Key, s.Outcome, s.To)
	case s.To != core.Parked && !core.ValidName(s.To):
		return "", core.CheckName("host", s.To)
	}
	return string(s.Outcome) + ">" + s.To, nil
}

// Revoke implements core.Owners.
func (s *Store) Revoke(ctx context.Context, owner string, h core.Held, it core.Settlement, why string) error {
	_, host, err := core.ParseOwner(owner)
	if err != nil {
		return err
	}
	word, err := outcomeWord(it)
	if err != nil {
		return err
	}
	_, err = s.run(ctx, "revoke", owner, owner, host, h.Key, h.Slot, word, oneLine(why))
	return err
}

// maxWhy bounds a recorded reason, in bytes.
const maxWhy = 500

// oneLine makes a reason fit for a record that people read.
func oneLine(why string) string {
	why = strings.Join(strings.Fields(why), " ")
	if len(why) > maxWhy {
		why = strings.ToValidUTF8(why[:maxWhy], "") + "…"
	}
	return why
}

// DeclareDead implements core.Owners.
func (s *Store) DeclareDead(ctx context.Context, owner string, epoch int64) (int64, error) {
	reply, err := s.run(ctx, "declare_dead", owner, owner, epoch)
	return num(reply), err
}

// Deregister implements core.Owners.
func (s *Store) Deregister(ctx context.Context, owner string, epoch int64) error {
	_, err := s.run(ctx, "deregister", owner, owner, epoch)
	return err
}

// Forget implements core.Owners.
func (s *Store) Forget(ctx context.Context, owner string, epoch int64) error {
	return s.Deregister(ctx, owner, epoch)
}

// Late implements core.Owners.
func (s *Store) Late(ctx context.Context, by time.Duration) ([]string, error) {
	reply, err := s.run(ctx, "late", "", by.Milliseconds(), served{s: s, since: true})
	return strs(reply), err
}

// Fence implements core.Owners.
func (s *Store) Fence(ctx context.Context, owner string, by time.Duration) (int64, error) {
	reply, err := s.run(ctx, "fence", owner, owner, by.Milliseconds())
	return num(reply), err
}

// ListOwners implements core.Owners.
func (s *Store) ListOwners(ctx context.Context) ([]core.OwnerInfo, error) {
	due, err := s.db.ZRangeWithScores(ctx, s.space.Key("owners"), 0, -1).Result()
	if err != nil {
		return nil, fault(ctx, err, "")
	}
	now, err := s.db.Time(ctx).Result()
	if err != nil {
		return nil, fault(ctx, err, "")
	}
	facts := make([]*redis.MapStringStringCmd, len(due))
	slots := make([]*redis.IntCmd, len(due))
	if err := s.pipelined(ctx, len(due), func(p redis.Pipeliner, i int) {
		owner := str(due[i].Member)
		facts[i], slots[i] = p.HGetAll(ctx, s.space.Key("owner", owner)), p.HLen(ctx, s.space.Key("slots", owner))
	}); err != nil {
		return nil, err
	}
	out := make([]core.OwnerInfo, len(due))
	for i, z := range due {
		f := facts[i].Val()
		out[i] = core.OwnerInfo{
			Name: str(z.Member), Role: core.Role(f["role"]), Host: f["host"], PID: int(num(f["pid"])),
			Version: f["version"], Epoch: num(f["epoch"]), Since: num(f["since"]), Deadline: int64(z.Score),
			Late: int64(z.Score) < now.UnixMilli(), Slots: int(slots[i].Val()),
		}
	}
	slices.SortFunc(out, func(a, b core.OwnerInfo) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
