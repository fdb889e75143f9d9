package redisstore_test

import (
	"fmt"
	"slices"
	"time"

	"drover/core"
)

// factory is a host's vmfactory. There is one at a time, but calls of a former one may
// arrive late.
type factory struct {
	*model
	host, name string
	epoch      int64
	creating   []string
	destroying []string
	left       []core.Held
	wakes      int // the step from which on it does something
}

func (f *factory) start() {
	f.epoch, f.left = f.register(f.name, f.host, f.newProcess())
	f.creating, f.destroying = nil, nil
	f.note("%s starts as %d, finds %d", f.name, f.epoch, len(f.left))
}

func (f *factory) crash() {
	f.note("%s crashes", f.name)
	f.start()
}

// call runs a call of the factory, and at times once more, later.
func (f *factory) call(what string, do func() error) bool {
	f.note("%s %s", f.name, what)
	if f.chance(what+" comes twice", 4) {
		f.copyOf(func() { _ = do() })
	}
	if !f.may(do(), core.CodeFenced) {
		f.start()
		return false
	}
	return true
}

func (f *factory) beat() {
	epoch := f.epoch
	f.call("beats", func() error { _, err := f.s.Beat(f.ctx, f.name, epoch, time.Second); return err })
}

func (f *factory) create() {
	f.createIn(pick(f.model, "pool", f.pools()), 1+f.n("VMs", 3))
	if f.chance("at once", 2) {
		f.ready()
	}
}

func (f *factory) createIn(pool string, n int) {
	var vms []string
	for range n {
		f.made++
		vms = append(vms, fmt.Sprintf("vm%d", f.made))
	}
	epoch := f.epoch
	if !f.call("creates "+fmt.Sprint(vms), func() error { return f.s.Create(f.ctx, f.name, epoch, f.host, pool, vms) }) {
		return
	}
	for _, vm := range vms {
		f.real[vm] = realVM{host: f.host, pool: pool}
	}
	f.creating = append(f.creating, vms...)
}

func (f *factory) ready() {
	if len(f.creating) == 0 {
		return
	}
	good := make(map[string]bool)
	for _, vm := range f.creating {
		good[vm] = f.draining || !f.chance("is bad", 6)
	}
	f.creating = nil
	epoch := f.epoch
	f.call("readies", func() error { return f.s.Ready(f.ctx, f.name, epoch, f.host, good) })
}

func (f *factory) retire() {
	clean, err := f.s.CleanVMs(f.ctx, f.host, pick(f.model, "pool", f.pools()))
	f.must(err)
	if len(clean) == 0 {
		return
	}
	vms, epoch := []string{pick(f.model, "VM", clean)}, f.epoch
	f.call("retires", func() error { _, err := f.s.Retire(f.ctx, f.name, epoch, f.host, vms); return err })
}

// destroy takes dirty VMs. Its own repeats have the same call id and are the client's matter.
func (f *factory) destroy() {
	vms, err := f.s.Destroy(f.ctx, f.name, f.epoch, f.host, 1+f.n("VMs", 4))
	if !f.may(err, core.CodeFenced) {
		f.start()
		return
	}
	f.note("%s destroys %v", f.name, vms)
	f.destroys(vms)
}

// destroys takes VMs in hand to destroy them, also those whose creation was taken from it meanwhile: it does not call
// them ready any more.
func (f *factory) destroys(vms []string) {
	f.destroying = append(f.destroying, vms...)
	f.creating = slices.DeleteFunc(f.creating, func(vm string) bool { return slices.Contains(vms, vm) })
}

func (f *factory) gone() {
	if len(f.destroying) == 0 {
		return
	}
	notes := make(map[string]string)
	for _, vm := range f.destroying {
		if f.chance("will not die", 10) {
			notes[vm] = "it will not die"
		} else {
			delete(f.real, vm)
			notes[vm] = ""
		}
	}
	f.destroying = nil
	epoch := f.epoch
	f.call("is rid of "+fmt.Sprint(sortedKeys(notes)), func() error { return f.s.Gone(f.ctx, f.name, epoch, f.host, notes) })
}

func (f *factory) recover() {
	if len(f.left) > 0 {
		some := f.left
		f.left = nil
		f.settle(f.name, f.epoch, f.decide(some), f.start)
	}
}

func (f *factory) recoverAll() {
	for len(f.left) > 0 {
		f.recover()
	}
}

// reconcile reports to Redis the VMs that really exist, except those that it works on: a VM that
// it is destroying may be clean in a Redis that was restored.
func (f *factory) reconcile() {
	found := make(map[string]core.Found)
	for id, vm := range f.real {
		if vm.host == f.host && !f.inHand(id) {
			found[id] = core.Found{Pool: vm.pool, Usable: !vm.used}
		}
	}
	f.note("%s finds %d VMs", f.name, len(found))
	if _, err := f.s.Reconcile(f.ctx, f.name, f.epoch, f.host, found, nil); !f.may(err, core.CodeFenced) {
		f.start()
	}
}

// hurries reconciles, mostly, while its host may claim nothing.
func (f *factory) hurries() bool {
	if f.look().Hash("host", f.host)["incarnation"] == f.incarnation() || !f.chance("looks first", 2) {
		return false
	}
	f.reconcile()
	return true
}

func (f *factory) inHand(vm string) bool {
	return slices.Contains(f.creating, vm) || slices.Contains(f.destroying, vm)
}

// tidy gives away slots that the process does not recognise: of a late copy of a call, or
// back with a Redis that was restored.
func (f *factory) tidy() {
	held, err := f.s.Held(f.ctx, f.name, 0)
	f.must(err)
	held = slices.DeleteFunc(held, func(h core.Held) bool { return f.inHand(h.Key) })
	if len(held) > 0 {
		f.note("%s gives away %d strangers", f.name, len(held))
		f.settle(f.name, f.epoch, f.decide(held), f.start)
	}
}

// turnOver is a draining factory's: all dirty VMs go, enough clean ones come.
func (f *factory) turnOver() {
	for {
		vms, err := f.s.Destroy(f.ctx, f.name, f.epoch, f.host, 100)
		if !f.may(err, core.CodeFenced) {
			f.start()
			return
		}
		f.destroys(vms)
		if len(f.destroying) == 0 {
			break
		}
		f.gone()
	}
	for _, pool := range modelPools {
		f.createIn(pool, 8)
	}
	f.ready()
}
