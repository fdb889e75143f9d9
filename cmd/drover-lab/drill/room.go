package drill

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/service/clock"
	"drover/vmfactory/hostload"
	"drover/vmfactory/local"
	"drover/vmfactory/trace"
)

// room is what a host has for VMs. Memory and processors are set as a reserve of all that the machine has, which is
// overcommitted.
type room struct {
	vms    int
	memory int64
	cpu    int64 // thousandths of a processor
}

// overcommit is that of every host.
var overcommit = core.Overcommit{CPU: 2, Memory: 1.25}

// The size of hosts, in VMs of the first pool.
const (
	hostVMs  = 10
	smallVMs = 2
	vmMemory = 256 << 20
)

// whole is the room of a host that is as large as it can be.
func whole() room { return room{vms: hostVMs, memory: hostVMs * vmMemory, cpu: 2000} }

// small is the room of a host that came back with less: of memory, of processors, of VMs, or of all.
func small(n int) room {
	r, less := whole(), room{vms: smallVMs, memory: smallVMs * vmMemory, cpu: 1000}
	const ways = 4
	switch n % ways {
	case 0:
		r.memory = less.memory
	case 1:
		r.cpu = less.cpu
	case 2:
		r.vms = less.vms
	default:
		r = less
	}
	return r
}

// settings are those of a host with that room, on a machine of the given size.
func (r room) settings(machine core.Size) core.HostSettings {
	return core.HostSettings{
		Reserve:    &core.Size{CPU: max(0, machine.CPU-r.cpu), Memory: max(0, machine.Memory-r.memory)},
		Overcommit: overcommit, Labels: map[string]string{"ordinary": "yes"},
	}
}

// environ is what tells the vmfactory how many VMs it may make.
func (r room) environ() string { return "DROVER_MAX_VMS=" + strconv.Itoa(r.vms) }

// size is what VMs may take on the host, with its overcommit.
func (r room) size(machine core.Size) core.Size { return r.settings(machine).Capacity(machine) }

// thisMachine is the size that every host reports.
func thisMachine() (core.Size, error) {
	var facts unix.Sysinfo_t
	if err := unix.Sysinfo(&facts); err != nil {
		return core.Size{}, core.Wrap(err, core.CodeUnavailable, "", "this machine does not say what memory it has")
	}
	memory := int64(facts.Totalram * uint64(facts.Unit)) //nolint:gosec // no machine has that much
	return core.Size{CPU: int64(runtime.NumCPU()) * 1000, Memory: hostload.Memory(memory, "/")}, nil
}

// rooms watches that no host holds more VMs than fit. It looks at the processes that are on the hosts, not at what the
// cluster says of them.
type rooms struct {
	mu      sync.Mutex
	machine core.Size
	of      map[*host]room
	most    map[string]int    // host → most VMs seen at a time
	over    []string          // hosts that held more than fits, once each time
	broken  map[*host]bool    // they do now
	leased  map[string]string // VM of a lease that was seen → the lease
}

func newRooms() *rooms {
	return &rooms{of: map[*host]room{}, most: map[string]int{}, broken: map[*host]bool{}, leased: map[string]string{}}
}

// set says what room a host has from now on.
func (r *rooms) set(o *host, its room) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of[o] = its
}

// watch looks at all hosts until ctx ends, and once more then.
func (r *rooms) watch(ctx context.Context, hosts []*host) {
	const often = 50 * time.Millisecond
	for ended := false; !ended; {
		ended = clock.Sleep(ctx, clock.Real{}, often) != nil
		for _, o := range hosts {
			vms, its := o.living()
			r.look(o, its)
			r.note(vms, its)
		}
	}
}

// note remembers which VMs are of which leases.
func (r *rooms) note(vms []string, its []core.Pool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range its {
		if its[i].Lease != "" {
			r.leased[vms[i]] = its[i].Lease
		}
	}
}

// leaseOf is the lease of which a VM was; "" if it was of none, or was not seen.
func (r *rooms) leaseOf(vm string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leased[vm]
}

// look judges what a host holds at this moment.
func (r *rooms) look(o *host, vms []core.Pool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	its, known := r.of[o]
	if !known {
		return
	}
	r.most[o.name] = max(r.most[o.name], len(vms))
	left := its.size(r.machine)
	for i := range vms {
		left = left.Less(vms[i].Size(), 1)
	}
	over := len(vms) > its.vms || left.Memory < 0 || left.CPU < 0
	if over && !r.broken[o] {
		size := its.size(r.machine)
		r.over = append(r.over, fmt.Sprintf("%s holds %d VMs at %s, and has room for %d; of %d MiB %d are left, of %d thousandths of a processor %d",
			o.name, len(vms), time.Now().UTC().Format("15:04:05.000"), its.vms, size.Memory>>20, left.Memory>>20, size.CPU, left.CPU))
	}
	r.broken[o] = over
}

// report puts what was seen into the report.
func (r *rooms) report(into *Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	into.MostVMs = maps.Clone(r.most)
	for _, what := range r.over {
		into.Oversold++
		into.detail("oversold: %s", what)
	}
}

// living returns the host's VMs that live, and the pool of each.
func (o *host) living() (vms []string, its []core.Pool) {
	set := trace.Set{Run: o.run, Provider: local.Name}
	for _, vm := range o.vms() {
		first, err := set.First(vm)
		if err != nil {
			continue // it has none yet, or none any more
		}
		alive, err := first.Alive()
		record, unreadable := set.Read(vm)
		if err == nil && alive && unreadable == nil {
			vms, its = append(vms, vm), append(its, record.Pool)
		}
	}
	return vms, its
}

// resize gives a host another room. The store hears it first, as from an operator: it holds after a loss of Redis, too.
// A vmfactory that runs hears of its number of VMs when it starts again.
func (h *cluster) resize(ctx context.Context, o *host, its room) error {
	o.parts[core.RoleVMFactory].setEnv(append(slices.Clone(o.env), its.environ()))
	settings := its.settings(h.rooms.machine)
	w := core.HostWish{Host: o.name, Kind: core.WishSettings, Settings: &settings, By: "drill", At: time.Now().UnixMilli()}
	err := w.Check()
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	h.await(ctx, stopTimeout, func(ctx context.Context) bool {
		_, err = h.client.Store.PutHostWish(ctx, w)
		return err == nil || !core.Is(err, core.CodeUnavailable)
	})
	if err != nil {
		return err
	}
	h.await(ctx, stopTimeout, func(ctx context.Context) bool {
		err = h.client.Redis.SetHost(ctx, o.name, settings)
		return err == nil || !core.Is(err, core.CodeUnavailable)
	})
	if core.Is(err, core.CodeNotFound) {
		return nil // Redis was wiped, or has not heard of the host yet
	}
	return err
}

// shrinkHost loses the host, which returns with less room, and has its former room again later.
func shrinkHost(ctx context.Context, h *cluster, f fault) (func(context.Context) error, error) {
	start, err := loseHost(ctx, h, f)
	if h.await(ctx, stopTimeout, func(context.Context) bool {
		vms, _ := f.host.living()
		return len(vms) == 0
	}) {
		its := small(f.n)
		h.rooms.set(f.host, its)
		h.note("fault %d: %s has room for %d VMs, %d MiB, %d thousandths of a processor", f.n, f.host.name, its.vms, its.memory>>20, its.cpu)
		err = errors.Join(err, h.resize(ctx, f.host, its))
	}
	_ = clock.Sleep(ctx, clock.Real{}, f.hold) // the end of the drill brings it back early
	err = errors.Join(err, start(context.WithoutCancel(ctx)))
	return func(ctx context.Context) error {
		h.rooms.set(f.host, whole())
		err := h.resize(ctx, f.host, whole())
		p := f.host.parts[core.RoleVMFactory]
		bounded, cancel := context.WithTimeout(ctx, stopTimeout)
		defer cancel()
		p.stop(bounded) // one that hangs is killed
		return errors.Join(err, p.start())
	}, err
}
