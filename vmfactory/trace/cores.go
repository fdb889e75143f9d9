package trace

import (
	"math"
	"os"
	"path/filepath"

	"drover/core"
	"drover/core/agent/wire"
	"drover/vmfactory/enter"
)

// keepOnCores keeps a record, of a quiet pool's VM with cores of its own where the host has them to spare.
func (s Set) keepOnCores(r Record) error {
	if !r.Pool.Quiet || s.Cores == nil {
		return s.Keep(r)
	}
	return s.Cores.Take(int(math.Ceil(r.Pool.Limits.Cores(s.CPUs))), s.taken, func(processors []int) error {
		r.Cores = processors
		return s.Keep(r)
	})
}

// taken returns the processors of all VMs of the run folder, of every provider.
func (s Set) taken() ([]int, error) {
	entries, err := os.ReadDir(s.Run)
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, "", "the run folder cannot be read")
	}
	var all []int
	for _, e := range entries {
		if !e.IsDir() || !core.ValidName(e.Name()) {
			continue
		}
		var r Record
		if err := ReadJSON(filepath.Join(s.Run, e.Name(), RecordFile), &r); err == nil { // a damaged record is for a look at the VM to find
			all = append(all, r.Cores...)
		}
	}
	return all, nil
}

// Pinned returns the steps that bind a VM's first process to its cores.
func (r Record) Pinned() []enter.Step {
	if len(r.Cores) == 0 {
		return nil
	}
	num := make([]uint64, len(r.Cores))
	for i, cpu := range r.Cores {
		num[i] = uint64(cpu) //nolint:gosec // a small number
	}
	return []enter.Step{{Do: enter.Pin, Num: num}}
}

// Held adds to what enforces a VM's limits whether it has cores of its own, if its pool asks for them.
func (r Record) Held(by map[string]string) map[string]string {
	if r.Pool.Quiet {
		by[wire.LimitCores] = ""
		if len(r.Cores) > 0 {
			by[wire.LimitCores] = wire.HeldByAffinity
		}
	}
	return by
}
