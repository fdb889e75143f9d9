package vmfactory_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"drover/core"
)

const (
	host   = "h1"
	runner = "testrunner@h1#0"
)

// cluster is Redis as a vmfactory sees it, in memory, so that tests run on virtual
// time. What the scripts really do is tested on them, in redis_test.go.
type cluster struct {
	mu          sync.Mutex
	pools       map[string]core.Pool
	settings    core.HostSettings
	serves      []string
	measured    []core.HostMeasure
	waiting     map[string]int
	epochs      map[string]int64
	fenced      map[string]bool
	slots       map[string]map[string]core.Held
	vms         map[string]string // VM → pool
	clean       map[string][]string
	dirty       []string
	quarantined map[string]string
	broken      map[string]string
	fetching    map[string]string
	notes       []core.ProviderNote
	ready       bool
	recalls     bool // owners may yet say what they use
	draining    bool
	bell        chan struct{}
	calls       map[string]int
	othersMake  bool // VMs for all that waits
	targets     core.Targets
	placed      bool
	fault       func(op string) (before, after error)
}

func newCluster(pools ...core.Pool) *cluster {
	h := &cluster{
		pools: make(map[string]core.Pool), waiting: make(map[string]int), epochs: make(map[string]int64),
		fenced: make(map[string]bool), slots: make(map[string]map[string]core.Held), vms: make(map[string]string),
		clean: make(map[string][]string), quarantined: make(map[string]string), bell: make(chan struct{}, 1),
		calls: make(map[string]int), fault: func(string) (error, error) { return nil, nil },
	}
	h.slots[runner] = make(map[string]core.Held)
	for _, p := range pools {
		h.pools[p.Name] = p
	}
	return h
}

func pool(name string, warm, most int) core.Pool {
	p := core.DefaultPool(name)
	p.Provider, p.Warm, p.Max = "fake", warm, most
	return p
}

var errDown = core.Errorf(core.CodeUnavailable, "", "Redis did not do it")

// do runs one script: all or nothing, with its refusals and a test's faults.
func (h *cluster) do(ctx context.Context, op, owner string, epoch int64, script func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls[op]++
	before, after := h.fault(op)
	if before != nil {
		return before
	}
	if owner != "" && (h.fenced[owner] || h.epochs[owner] != epoch) {
		return core.Errorf(core.CodeFenced, owner, "the epoch of %s is over", owner)
	}
	script()
	return after
}

func (h *cluster) ring() {
	select {
	case h.bell <- struct{}{}:
	default:
	}
}

// look lets a test see or change everything at once.
func (h *cluster) look(at func(h *cluster)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at(h)
	h.ring()
}

// faults makes every call go through f from now on; nil ends it.
func (h *cluster) faults(f func(op string) (before, after error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f == nil {
		f = func(string) (error, error) { return nil, nil }
	}
	h.fault = f
}

// claim takes a clean VM of the pool into the runner's slot; "" if there is none.
func (h *cluster) claim(pool string) (vm string) {
	h.look(func(h *cluster) {
		if !h.ready || len(h.clean[pool]) == 0 {
			return
		}
		vm = h.clean[pool][0]
		h.clean[pool] = h.clean[pool][1:]
		h.slots[runner][vm] = core.Held{Key: vm, Pool: pool, Phase: "claimed"}
	})
	return vm
}

// finish ends a claim: its VM is dirty.
func (h *cluster) finish(vm string) {
	h.look(func(h *cluster) {
		delete(h.slots[runner], vm)
		h.dirty = append(h.dirty, vm)
	})
}

// fence ends an owner's epoch, as the overseer does.
func (h *cluster) fence(owner string) {
	h.look(func(h *cluster) { h.fenced[owner] = true })
}

// known lists all VMs that Redis has.
func (h *cluster) known() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.vms))
}

func (h *cluster) cleanVMs(pool string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.clean[pool])
}

func (h *cluster) brokenPools() map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.broken
}

func (h *cluster) isReady() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ready
}

func (h *cluster) count(op string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls[op]
}

// held counts the vmfactory's slots.
func (h *cluster) held() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.slots[factory])
}

// Register implements core.Owners.
func (h *cluster) Register(ctx context.Context, r core.Registration) (reg core.Registered, err error) {
	err = h.do(ctx, "register", "", 0, func() {
		h.epochs[r.Owner]++
		h.fenced[r.Owner] = false
		if h.slots[r.Owner] == nil {
			h.slots[r.Owner] = make(map[string]core.Held)
		}
		reg.Epoch = h.epochs[r.Owner]
		reg.Left = slices.Collect(maps.Values(h.slots[r.Owner]))
	})
	return reg, err
}

// Beat implements core.Owners.
func (h *cluster) Beat(ctx context.Context, owner string, epoch int64, _ time.Duration) (b core.Beat, err error) {
	err = h.do(ctx, "beat", owner, epoch, func() {
		b = core.Beat{Slots: len(h.slots[owner]), Draining: h.draining, Ready: h.ready}
	})
	return b, err
}

// Held implements core.Owners.
func (h *cluster) Held(ctx context.Context, owner string, _ int64) (held []core.Held, err error) {
	err = h.do(ctx, "held", "", 0, func() { held = slices.Collect(maps.Values(h.slots[owner])) })
	return held, err
}

// Settle implements core.Owners.
func (h *cluster) Settle(ctx context.Context, owner string, epoch int64, items []core.Settlement, _ int64) (out core.Settled, err error) {
	err = h.do(ctx, "settle", owner, epoch, func() {
		for _, it := range items {
			if s, ok := h.slots[owner][it.Key]; ok && s.Token == it.Token {
				delete(h.slots[owner], it.Key)
				h.dirty = append(h.dirty, it.Key)
				out.Moved++
			}
		}
	})
	return out, err
}

// Deregister implements core.Owners.
func (h *cluster) Deregister(ctx context.Context, owner string, epoch int64) error {
	conflict := false
	err := h.do(ctx, "deregister", owner, epoch, func() {
		if conflict = len(h.slots[owner]) > 0; !conflict {
			h.fenced[owner] = true
		}
	})
	if err == nil && conflict {
		return core.Errorf(core.CodeConflict, owner, "%s holds something", owner)
	}
	return err
}

// Late, Fence, DeclareDead, Revoke, Forget and ListOwners implement core.Owners; a vmfactory does not call them.
func (h *cluster) Late(context.Context, time.Duration) ([]string, error) { panic("not called") }

func (h *cluster) Fence(context.Context, string, time.Duration) (int64, error) { panic("not called") }

func (h *cluster) DeclareDead(context.Context, string, int64) (int64, error) { panic("not called") }

func (h *cluster) Revoke(context.Context, string, core.Held, core.Settlement, string) error {
	panic("not called")
}
func (h *cluster) Forget(context.Context, string, int64) error          { panic("not called") }
func (h *cluster) ListOwners(context.Context) ([]core.OwnerInfo, error) { panic("not called") }

// Load implements core.VMs.
func (h *cluster) Load(ctx context.Context, _ string, pools []string) (load core.HostLoad, err error) {
	load.Settings = h.settings
	err = h.do(ctx, "load", "", 0, func() {
		load.Targets, load.Placed, load.Ready = h.targets, h.placed, h.ready
		for _, name := range pools {
			p, ok := h.pools[name]
			if !ok {
				continue
			}
			l := core.PoolLoad{Pool: p, Clean: len(h.clean[name]), Waiting: min(h.waiting[name], p.Max)}
			for _, s := range h.slots[factory] {
				if s.Pool == name && s.Phase == "creating" {
					l.Creating++
				} else if s.Pool == name {
					l.Dirty++
				}
			}
			for _, s := range h.slots[runner] {
				if s.Pool == name {
					l.InUse++
				}
			}
			for _, vm := range h.dirty {
				if h.vms[vm] == name {
					l.Dirty++
				}
			}
			for vm := range h.quarantined {
				if h.vms[vm] == name {
					l.Quarantined++
				}
			}
			load.Pools = append(load.Pools, l)
		}
	})
	return load, err
}

// Promise implements core.VMs: no other host makes anything, unless the test says so.
func (h *cluster) Promise(ctx context.Context, _ string, wants []core.VMWant) (granted []int, err error) {
	err = h.do(ctx, "promise", "", 0, func() {
		for _, w := range wants {
			n := w.More
			if h.othersMake {
				n = 0
			}
			granted = append(granted, n)
		}
	})
	return granted, err
}

// Create implements core.VMs.
func (h *cluster) Create(ctx context.Context, owner string, epoch int64, _, pool string, vms []string) error {
	return h.do(ctx, "create", owner, epoch, func() {
		for _, vm := range vms {
			h.vms[vm] = pool
			h.slots[owner][vm] = core.Held{Key: vm, Pool: pool, Phase: "creating", Token: "t"}
		}
	})
}

// Ready implements core.VMs.
func (h *cluster) Ready(ctx context.Context, owner string, epoch int64, _ string, made map[string]bool) error {
	return h.do(ctx, "ready", owner, epoch, func() {
		for vm, ok := range made {
			s, mine := h.slots[owner][vm]
			if !mine || s.Phase != "creating" {
				continue
			}
			delete(h.slots[owner], vm)
			if ok {
				h.clean[s.Pool] = append(h.clean[s.Pool], vm)
			} else {
				h.dirty = append(h.dirty, vm)
			}
		}
	})
}

// Destroy implements core.VMs.
func (h *cluster) Destroy(ctx context.Context, owner string, epoch int64, _ string, n int) (vms []string, err error) {
	err = h.do(ctx, "destroy", owner, epoch, func() {
		n = min(n, len(h.dirty))
		vms, h.dirty = slices.Clone(h.dirty[:n]), h.dirty[n:]
		for _, vm := range vms {
			h.slots[owner][vm] = core.Held{Key: vm, Pool: h.vms[vm], Phase: "destroying", Token: "t"}
		}
	})
	if err != nil {
		return nil, err
	}
	return vms, nil
}

// Gone implements core.VMs.
func (h *cluster) Gone(ctx context.Context, owner string, epoch int64, _ string, vms map[string]string) error {
	return h.do(ctx, "gone", owner, epoch, func() {
		for vm, note := range vms {
			if s, mine := h.slots[owner][vm]; !mine || s.Phase != "destroying" {
				continue
			}
			delete(h.slots[owner], vm)
			if note == "" {
				delete(h.vms, vm)
			} else {
				h.quarantined[vm] = note
			}
		}
	})
}

// Retire implements core.VMs.
func (h *cluster) Retire(ctx context.Context, owner string, epoch int64, _ string, vms []string) (taken []string, err error) {
	err = h.do(ctx, "retire", owner, epoch, func() {
		for _, vm := range vms {
			list := h.clean[h.vms[vm]]
			if i := slices.Index(list, vm); i >= 0 {
				h.clean[h.vms[vm]] = slices.Delete(slices.Clone(list), i, i+1)
				h.dirty = append(h.dirty, vm)
				taken = append(taken, vm)
			}
		}
	})
	return taken, err
}

// Note implements core.VMs.
func (h *cluster) Note(ctx context.Context, owner string, epoch int64, _ string, notes core.HostNotes) error {
	return h.do(ctx, "note", owner, epoch, func() {
		h.broken, h.fetching, h.notes, h.serves = notes.Broken, notes.Fetching, notes.Providers, notes.Serves
	})
}

// Measured implements core.VMs.
func (h *cluster) Measured(ctx context.Context, owner string, epoch int64, _ string, m core.HostMeasure) (time.Duration, error) {
	err := h.do(ctx, "measured", owner, epoch, func() { h.measured = append(h.measured, m) })
	return core.MeasureWithin, err
}

// Reconcile implements core.VMs.
func (h *cluster) Reconcile(ctx context.Context, owner string, epoch int64, _ string, found map[string]core.Found, _ []core.HostWish) (r core.Reconciled, err error) {
	err = h.do(ctx, "reconcile", owner, epoch, func() {
		for vm, f := range found {
			if state := h.state(vm); state == core.VMClean && !f.Usable {
				h.drop(vm)
			} else if state != "" {
				continue
			}
			if h.recalls && f.Used {
				r.Alone++
				continue
			}
			h.vms[vm] = f.Pool
			if f.Usable {
				h.clean[f.Pool] = append(h.clean[f.Pool], vm)
				r.Adopted++
			} else {
				h.dirty = append(h.dirty, vm)
				r.Dirtied++
			}
		}
		for vm := range h.vms {
			if _, there := found[vm]; !there && !h.slotted(vm) {
				h.drop(vm)
				delete(h.vms, vm)
				r.Removed++
			}
		}
		h.ready = true
		h.ring()
	})
	return r, err
}

func (h *cluster) slotted(vm string) bool {
	for _, slots := range h.slots {
		if _, ok := slots[vm]; ok {
			return true
		}
	}
	return false
}

// state says where a VM is; "" if nowhere.
func (h *cluster) state(vm string) core.VMState {
	switch {
	case h.slotted(vm):
		return core.VMClaimed
	case slices.Contains(h.clean[h.vms[vm]], vm):
		return core.VMClean
	case slices.Contains(h.dirty, vm):
		return core.VMDirty
	case h.quarantined[vm] != "":
		return core.VMQuarantined
	}
	return ""
}

// drop takes a VM off every list.
func (h *cluster) drop(vm string) {
	is := func(x string) bool { return x == vm }
	h.clean[h.vms[vm]] = slices.DeleteFunc(slices.Clone(h.clean[h.vms[vm]]), is)
	h.dirty = slices.DeleteFunc(slices.Clone(h.dirty), is)
	delete(h.quarantined, vm)
}

// WaitWork implements core.VMs.
func (h *cluster) WaitWork(ctx context.Context, _ string, poll time.Duration) error {
	if err := h.do(ctx, "wait", "", 0, func() {}); err != nil {
		return err
	}
	select {
	case <-h.bell:
	case <-time.After(poll):
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// ListVMs implements core.VMs.
func (h *cluster) ListVMs(ctx context.Context, _ string) (infos []core.VMInfo, err error) {
	err = h.do(ctx, "list", "", 0, func() {
		for vm, pool := range h.vms {
			infos = append(infos, core.VMInfo{ID: vm, Host: host, Pool: pool, State: h.state(vm)})
		}
	})
	return infos, err
}

// CleanVMs implements core.VMs.
func (h *cluster) CleanVMs(ctx context.Context, _, pool string) (vms []string, err error) {
	err = h.do(ctx, "clean", "", 0, func() { vms = slices.Clone(h.clean[pool]) })
	return vms, err
}

// served are the pools that the host said last it makes VMs of.
func (h *cluster) served() (pools []string) {
	h.look(func(h *cluster) { pools = h.serves })
	return pools
}
