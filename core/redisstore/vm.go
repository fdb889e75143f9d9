package redisstore

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// Load implements core.VMs. A host of hundreds of pools takes several calls.
func (s *Store) Load(ctx context.Context, host string, pools []string) (core.HostLoad, error) {
	var out core.HostLoad
	for first := true; first || len(pools) > 0; first = false {
		n := min(len(pools), poolsAtOnce)
		args := []any{host, core.OwnerName(core.RoleVMFactory, host, 0), served{s: s}}
		reply, err := s.run(ctx, "vm_load", host, append(args, anys(pools[:n])...)...)
		if err != nil {
			return core.HostLoad{}, err
		}
		some, err := toHostLoad(host, list(reply))
		if err != nil {
			return core.HostLoad{}, err
		}
		if !first {
			some.Pools = append(out.Pools, some.Pools...)
		}
		out, pools = some, pools[n:]
	}
	return out, nil
}

// toHostLoad reads vm_load's answer.
func toHostLoad(host string, f []any) (core.HostLoad, error) {
	if len(f) < 4 {
		return core.HostLoad{}, core.Errorf(core.CodeInternal, host, "the load script answered %d parts", len(f))
	}
	var out core.HostLoad
	if err := cmp.Or(readNote(host, "settings", str(f[0]), &out.Settings), readNote(host, "targets", str(f[1]), &out.Targets)); err != nil {
		return out, err
	}
	out.Placed, out.Ready = str(f[2]) == "1", str(f[3]) == "1"
	f = f[4:]
	for i := 0; i+6 < len(f); i += 7 {
		l := core.PoolLoad{
			Clean: int(num(f[i+1])), Creating: int(num(f[i+2])), Dirty: int(num(f[i+3])),
			Quarantined: int(num(f[i+4])), Waiting: int(num(f[i+6])),
		}
		if err := json.Unmarshal([]byte(str(f[i])), &l.Pool); err != nil {
			return out, core.Wrap(err, core.CodeInternal, host, "the settings of a pool in Redis are not readable")
		}
		l.InUse = max(0, int(num(f[i+5]))-l.Clean-l.Creating-l.Dirty-l.Quarantined)
		out.Pools = append(out.Pools, l)
	}
	return out, nil
}

// Promise implements core.VMs.
func (s *Store) Promise(ctx context.Context, host string, wants []core.VMWant) ([]int, error) {
	granted := make([]int, 0, len(wants))
	for some := range slices.Chunk(wants, poolsAtOnce) {
		args := []any{host}
		for _, w := range some {
			args = append(args, w.Pool, w.Clean, w.Creating, w.More)
		}
		reply, err := s.run(ctx, "vm_promise", host, args...)
		if err != nil {
			return nil, err
		}
		its := list(reply)
		for i := range some {
			grant := 0
			if i < len(its) {
				grant = int(num(its[i]))
			}
			granted = append(granted, grant)
		}
	}
	return granted, nil
}

// each calls a script for at most maxBatch VMs at a time, after the common arguments.
func (s *Store) each(ctx context.Context, script string, head []any, width int, rest []any) ([]any, error) {
	var replies []any
	for chunk := range slices.Chunk(rest, width*maxBatch) {
		reply, err := s.run(ctx, script, str(head[2]), append(slices.Clone(head), chunk...)...)
		if err != nil {
			return replies, err
		}
		replies = append(replies, reply)
	}
	return replies, nil
}

// Create implements core.VMs.
func (s *Store) Create(ctx context.Context, owner string, epoch int64, host, pool string, vms []string) error {
	for _, vm := range vms {
		if err := core.CheckName("VM", vm); err != nil {
			return err
		}
	}
	_, err := s.each(ctx, "vm_create", []any{owner, epoch, host, pool}, 1, anys(vms))
	return err
}

// Ready implements core.VMs.
func (s *Store) Ready(ctx context.Context, owner string, epoch int64, host string, made map[string]bool) error {
	rest := make([]any, 0, 2*len(made))
	for _, vm := range slices.Sorted(maps.Keys(made)) {
		rest = append(rest, vm, flag(made[vm]))
	}
	_, err := s.each(ctx, "vm_ready", []any{owner, epoch, host}, 2, rest)
	return err
}

// Destroy implements core.VMs.
func (s *Store) Destroy(ctx context.Context, owner string, epoch int64, host string, n int) ([]string, error) {
	if n < 1 {
		return nil, nil
	}
	reply, err := s.run(ctx, "vm_destroy", host, owner, epoch, host, min(n, maxBatch), callID())
	return strs(reply), err
}

// Gone implements core.VMs.
func (s *Store) Gone(ctx context.Context, owner string, epoch int64, host string, vms map[string]string) error {
	rest := make([]any, 0, 2*len(vms))
	for _, vm := range slices.Sorted(maps.Keys(vms)) {
		rest = append(rest, vm, vms[vm])
	}
	_, err := s.each(ctx, "vm_gone", []any{owner, epoch, host}, 2, rest)
	return err
}

// Retire implements core.VMs.
func (s *Store) Retire(ctx context.Context, owner string, epoch int64, host string, vms []string) ([]string, error) {
	replies, err := s.each(ctx, "vm_retire", []any{owner, epoch, host}, 1, anys(vms))
	var taken []string
	for _, r := range replies {
		taken = append(taken, strs(r)...)
	}
	return taken, err
}

// Reconcile implements core.VMs.
func (s *Store) Reconcile(ctx context.Context, owner string, epoch int64, host string, found map[string]core.Found, wishes []core.HostWish) (core.Reconciled, error) {
	const most = 2000 // one call must have all VMs of the host
	if len(found) > most {
		return core.Reconciled{}, core.Errorf(core.CodeLimit, host, "host %s has %d VMs, more than %d: destroy some by hand", host, len(found), most)
	}
	recalled, err := s.Recalled(ctx)
	if err != nil {
		return core.Reconciled{}, err
	}
	// The incarnation in which the host was inspected: if it is over, the host is not ready in the next.
	args := []any{owner, epoch, host, s.incarnation(), len(found)}
	for _, vm := range slices.Sorted(maps.Keys(found)) {
		f := found[vm]
		if !core.ValidName(vm) || !core.ValidName(f.Pool) {
			continue // not ours: no VM of drover has such a name
		}
		state := flag(f.Usable)
		if f.Used {
			state = 2
		}
		args = append(args, vm, f.Pool, state)
	}
	args[4] = (len(args) - 5) / 3
	args = append(append(args, flag(recalled)), wanted(wishes)...)
	reply, err := s.run(ctx, "vm_reconcile", host, args...)
	if err != nil {
		return core.Reconciled{}, err
	}
	f := list(reply)
	if len(f) != 4 {
		return core.Reconciled{}, core.Errorf(core.CodeInternal, host, "the reconcile script answered %d parts", len(f))
	}
	return core.Reconciled{Adopted: int(num(f[0])), Dirtied: int(num(f[1])), Removed: int(num(f[2])), Alone: int(num(f[3]))}, nil
}

// wanted returns a host's wishes as arguments of vm_reconcile. The clocks of their times are not synchronized.
func wanted(wishes []core.HostWish) []any {
	args := []any{flag(wishes != nil), "", "", "", "", "", "", "", ""}
	for _, w := range wishes {
		left := time.Until(time.UnixMilli(w.Until))
		switch {
		case w.Lifted:
		case w.Kind == core.WishDrain && w.Until == 0:
			args[1] = 0
		case w.Kind == core.WishDrain:
			args[1] = max(left, time.Second).Milliseconds()
		case w.Kind == core.WishFailed:
			args[2], args[3] = cmp.Or(name(w.By), "-"), oneLine(w.Reason)
		case w.Kind == core.WishProbation:
			wait := min(max(left, 0), mostDelay)
			args[4], args[5], args[6], args[7] = wait.Milliseconds(), max(wait, leastDelay).Milliseconds(), max(w.Needed, 1), oneLine(w.Reason)
		case w.Kind == core.WishSettings && w.Settings != nil:
			if text, err := json.Marshal(w.Settings); err == nil {
				args[8] = text
			}
		}
	}
	return args
}

// A host whose probation is restored gets nothing for the time that was left, limited to the longest delay, and after
// a fault for at least twice this.
const (
	leastDelay = 30 * time.Second
	mostDelay  = 10 * time.Minute
)

// Note implements core.VMs.
func (s *Store) Note(ctx context.Context, owner string, epoch int64, host string, notes core.HostNotes) error {
	args := []any{owner, epoch, host}
	for _, n := range []struct {
		what string
		is   any
		n    int
	}{
		{"broken pools", notes.Broken, len(notes.Broken)},
		{"providers", notes.Providers, len(notes.Providers)},
		{"fetched images", notes.Fetching, len(notes.Fetching)},
		{"pools", notes.Serves, len(notes.Serves)},
		{"limit of VMs", notes.MaxVMs, notes.MaxVMs},
		{"times of making", notes.Takes, len(notes.Takes)},
	} {
		text, err := noteText(n.is, n.n)
		if err != nil {
			return core.Wrap(err, core.CodeInternal, host, "the %s of host %s cannot be written down", n.what, host)
		}
		args = append(args, text)
	}
	_, err := s.run(ctx, "vm_note", host, args...)
	return err
}

// Measured implements core.VMs.
func (s *Store) Measured(ctx context.Context, owner string, epoch int64, host string, m core.HostMeasure) (time.Duration, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return 0, core.Wrap(err, core.CodeInternal, host, "what was measured of host %s cannot be written as JSON", host)
	}
	reply, err := s.run(ctx, "host_measured", host, owner, epoch, host, text, core.MeasureWithin.Milliseconds(), core.MeasurePerHost.Milliseconds())
	return time.Duration(num(reply)) * time.Millisecond, err
}

// noteText returns v as JSON, or "" if n is 0.
func noteText(v any, n int) (string, error) {
	if n == 0 {
		return "", nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

// WaitWork implements core.VMs.
func (s *Store) WaitWork(ctx context.Context, host string, poll time.Duration) error {
	return s.await(ctx, poll, "", s.space.Key("factory_bell", host))
}

// CleanVMs implements core.VMs.
func (s *Store) CleanVMs(ctx context.Context, host, pool string) ([]string, error) {
	vms, err := s.db.LRange(ctx, s.space.Key("clean", host, pool), 0, -1).Result()
	return vms, fault(ctx, err, host)
}

// ListVMs implements core.VMs.
func (s *Store) ListVMs(ctx context.Context, host string) ([]core.VMInfo, error) {
	if host != "" {
		owners, err := s.db.SMembers(ctx, s.space.Key("owners_on", host)).Result()
		if err != nil {
			return nil, fault(ctx, err, host)
		}
		return s.vmsOf(ctx, []string{host}, owners)
	}
	hosts, err := s.db.ZRange(ctx, s.space.Key("hosts"), 0, -1).Result()
	if err != nil {
		return nil, fault(ctx, err, "")
	}
	owners, err := s.db.ZRange(ctx, s.space.Key("owners"), 0, -1).Result()
	if err != nil {
		return nil, fault(ctx, err, "")
	}
	return s.vmsOf(ctx, hosts, owners)
}

func (s *Store) vmsOf(ctx context.Context, hosts, owners []string) ([]core.VMInfo, error) {
	of := ownersByHost(owners)
	var out []core.VMInfo
	for some := range slices.Chunk(hosts, hostsAtOnce) {
		held := make([]vmPlaces, len(some))
		if err := s.pipelined(ctx, len(some), func(p redis.Pipeliner, i int) {
			held[i] = s.placesOf(ctx, p, some[i], of[some[i]])
		}); err != nil {
			return nil, err
		}
		for i, h := range some {
			out = append(out, held[i].vms(h)...)
		}
	}
	return out, nil
}

// ownersByHost sorts owners by their hosts, in order of name.
func ownersByHost(owners []string) map[string][]string {
	of := make(map[string][]string)
	for _, o := range slices.Sorted(slices.Values(owners)) {
		if _, host, err := core.ParseOwner(o); err == nil {
			of[host] = append(of[host], o)
		}
	}
	return of
}

// vmPlaces are all places of one host's VMs.
type vmPlaces struct {
	all, quarantined *redis.MapStringStringCmd
	dirty            *redis.StringSliceCmd
	slots            map[string]*redis.MapStringStringCmd // by owner
}

// placesOf requests the places of a host's VMs together with what else the pipeline has. That is no transaction: a
// full Redis refuses transactions.
func (s *Store) placesOf(ctx context.Context, p redis.Pipeliner, host string, owners []string) vmPlaces {
	at := vmPlaces{
		all: p.HGetAll(ctx, s.space.Key("vms", host)), quarantined: p.HGetAll(ctx, s.space.Key("quarantined", host)),
		dirty: p.LRange(ctx, s.space.Key("dirty", host), 0, -1), slots: make(map[string]*redis.MapStringStringCmd),
	}
	for _, o := range owners {
		at.slots[o] = p.HGetAll(ctx, s.space.Key("slots", o))
	}
	return at
}

var slotWhat, slotPhase, vmPool = partAt("slot", "what"), partAt("slot", "phase"), partAt("vm", "pool")

// states returns the states of the host's VMs that are not clean, and which owner has one.
func (at vmPlaces) states() (state map[string]core.VMState, owner map[string]string) {
	state, owner = make(map[string]core.VMState), make(map[string]string)
	for _, vm := range at.dirty.Val() {
		state[vm] = core.VMDirty
	}
	for vm := range at.quarantined.Val() {
		state[vm] = core.VMQuarantined
	}
	for o, cmd := range at.slots {
		for key, slot := range cmd.Val() {
			its := readParts("slot", slot)
			if its == nil {
				continue // an unreadable slot holds no VM
			}
			vm, phase := its[slotWhat], core.VMClaimed
			if its := core.VMState(its[slotPhase]); its == core.VMCreating || its == core.VMDestroying {
				vm, phase = key, its
			}
			state[vm], owner[vm] = phase, o
		}
	}
	return state, owner
}

// count says of a host how many VMs it has in these places.
func (at vmPlaces) count(h *core.HostInfo) {
	h.VMs, h.VMsOf = make(map[string]int), make(map[string]map[core.VMState]int)
	states, _ := at.states()
	for vm, fact := range at.all.Val() {
		pool, state := "", cmp.Or(states[vm], core.VMClean)
		if its := readParts("vm", fact); its != nil {
			pool = its[vmPool]
		}
		h.VMs[string(state)]++
		if h.VMsOf[pool] == nil {
			h.VMsOf[pool] = make(map[core.VMState]int)
		}
		h.VMsOf[pool][state]++
	}
}

// vms lists the VMs of the host in these places.
func (at vmPlaces) vms(host string) []core.VMInfo {
	state, owner := at.states()
	out := make([]core.VMInfo, 0, len(at.all.Val()))
	for vm, fact := range at.all.Val() {
		its := readRecord("vm", fact)
		info := core.VMInfo{
			ID: vm, Host: host, Pool: its["pool"], State: cmp.Or(state[vm], core.VMClean), Since: num(its["since"]), Owner: owner[vm],
			Note: at.quarantined.Val()[vm],
		}
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b core.VMInfo) int { return strings.Compare(a.ID, b.ID) })
	return out
}
