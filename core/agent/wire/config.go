package wire

import (
	"maps"
	"slices"
	"time"

	"drover/core"
	"drover/core/agent/pack"
)

// Config are the provider's settings for the agent of its VM, read once from ConfigFD.
type Config struct {
	VM       string
	Secret   string            // must be in every request; 16 to 256 bytes
	UID      int               // of user code, inside the VM; not 0
	GID      int               // of user code, inside the VM
	BoxUID   int               // of the box; 0 is that it has UID, and Landlock
	BoxGID   int               // of the box
	BoxBPF   []byte            // without BoxUID: one more seccomp filter for the box, an array of struct sock_filter
	Home     string            // where the places are; "" is Home
	Env      []string          // NAME=value for every run, beside a default PATH, HOME and LANG
	Limits   core.Limits       // the VM's own: a run gets at most these
	HeldBy   map[string]string // limit → what enforces it outside the agent
	Alone    bool              // nothing outside the VM counts as UID in its user namespace, so RLIMIT_NPROC can hold pids
	Scratch  []string          // all folders beside Home that user code can write to; without them a VM cannot be reset
	Cgroup   Cgroup            // files that tell usage, where the VM can see them
	Controls []int             // which of the controls are open; none if user code has no cgroups for itself
	Badge    bool              // BadgeFD is open
	Proc     bool              // ProcFD is open
	Renews   uintptr           // namespaces that user code has anew after each reset, as flags of clone: CLONE_NEWNET, CLONE_NEWIPC
	Lifeline bool              // LifelineFD is open
	Anchor   time.Duration     // AnchorFD is open, and looked at so often; 0 is not
}

// Cgroup names files of the VM's cgroups as seen inside the VM, in either
// version's format. An empty name leaves the agent to its own counting.
type Cgroup struct {
	Gauges
	MemoryAll string // memory.current or memory.usage_in_bytes: of the whole VM
	MemoryJob string // the same of user code alone, where it is apart
	Own       Gauges // of the run that has limits of its own
}

// Gauges name files that tell what is used in one cgroup.
type Gauges struct {
	MemoryPeak   string // memory.peak or memory.max_usage_in_bytes
	MemoryEvents string // memory.events or memory.oom_control
	MemoryStat   string // memory.stat
	CPU          string // cpu.stat or cpuacct.usage
	PidsEvents   string // pids.events
}

// Encode returns the encoded settings.
func (c Config) Encode() []byte {
	var w pack.Writer
	for _, text := range []string{c.VM, c.Secret, string(c.BoxBPF), c.Home, c.Cgroup.MemoryAll, c.Cgroup.MemoryJob} {
		w.Text(text)
	}
	for _, n := range []int64{int64(c.UID), int64(c.GID), int64(c.BoxUID), int64(c.BoxGID), int64(c.Renews), int64(c.Anchor)} { //nolint:gosec // flags
		w.Signed(n)
	}
	for _, on := range []bool{c.Alone, c.Badge, c.Proc, c.Lifeline} {
		w.Flag(on)
	}
	w.Texts(c.Env)
	w.Texts(c.Scratch)
	l := c.Limits
	for _, n := range []int64{int64(l.Timeout), l.Memory, l.Disk, l.FileSize, int64(l.Pids), int64(l.CPU), int64(l.OpenFiles), l.Output} {
		w.Signed(n)
	}
	held := slices.Sorted(maps.Keys(c.HeldBy))
	w.Texts(held)
	for _, limit := range held {
		w.Text(c.HeldBy[limit])
	}
	w.Number(uint64(len(c.Controls)))
	for _, control := range c.Controls {
		w.Signed(int64(control))
	}
	for _, g := range []Gauges{c.Cgroup.Gauges, c.Cgroup.Own} {
		for _, text := range []string{g.MemoryPeak, g.MemoryEvents, g.MemoryStat, g.CPU, g.PidsEvents} {
			w.Text(text)
		}
	}
	return w.End()
}

// DecodeConfig reads settings.
func DecodeConfig(text []byte) (Config, error) {
	r := pack.NewReader(text)
	var c Config
	c.VM, c.Secret, c.BoxBPF, c.Home, c.Cgroup.MemoryAll, c.Cgroup.MemoryJob = r.Text(), r.Text(), r.Bytes(), r.Text(), r.Text(), r.Text()
	number := func() int { return int(r.Signed()) }
	c.UID, c.GID, c.BoxUID, c.BoxGID, c.Renews, c.Anchor = number(), number(), number(), number(), uintptr(number()), time.Duration(r.Signed())
	c.Alone, c.Badge, c.Proc, c.Lifeline = r.Flag(), r.Flag(), r.Flag(), r.Flag()
	c.Env, c.Scratch = r.Texts(), r.Texts()
	c.Limits = core.Limits{
		Timeout: time.Duration(r.Signed()), Memory: r.Signed(), Disk: r.Signed(), FileSize: r.Signed(),
		Pids: number(), CPU: number(), OpenFiles: number(), Output: r.Signed(),
	}
	held := r.Texts()
	c.HeldBy = make(map[string]string, len(held))
	for _, limit := range held {
		c.HeldBy[limit] = r.Text()
	}
	c.Controls = make([]int, r.Count())
	for i := range c.Controls {
		c.Controls[i] = number()
	}
	for _, g := range []*Gauges{&c.Cgroup.Gauges, &c.Cgroup.Own} {
		g.MemoryPeak, g.MemoryEvents, g.MemoryStat, g.CPU, g.PidsEvents = r.Text(), r.Text(), r.Text(), r.Text(), r.Text()
	}
	return c, r.End()
}
