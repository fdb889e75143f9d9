package cores

import (
	"fmt"

	"drover/core/agent/wire"
	"drover/vmfactory"
)

// LimitName is what doctor and hosts call it that VMs have cores of their own.
const LimitName = "own cores"

// Limit says whether VMs of quiet pools can have cores of their own here.
func (h *Host) Limit() vmfactory.Limit {
	l := vmfactory.Limit{Name: LimitName, Note: "this kernel does not say which threads share a core: VMs of quiet pools run on any"}
	switch n := h.Number(); {
	case h.Spare():
		l.HeldBy, l.Note = wire.HeldByAffinity, fmt.Sprintf("for VMs of quiet pools: %d of %d cores, one is left for everything else", n-1, n)
	case n > 0:
		l.Note = fmt.Sprintf("VMs of quiet pools run on any: there are %d cores to use, and with %d or more each would have its own", n, Least)
	}
	return l
}
