package cgroup

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"drover/core"
	"drover/vmfactory/process"
)

// BenchmarkMake makes a VM's cgroups, opens their controls and removes them, and reports the processor time of that.
// What the kernel frees later is not in it.
func BenchmarkMake(b *testing.B) {
	h := Find(Root, FSType)
	if os.Geteuid() != 0 || len(h.Missing()) > 0 {
		b.Skip("needs root, and cgroups")
	}
	before := computed(b)
	for i := range b.N {
		g := h.At(fmt.Sprintf("drover-bench%d-%d", os.Getpid(), i), true)
		if err := g.Make(core.Limits{Memory: 64 << 20, Pids: 64}, 1); err != nil {
			b.Fatal(err)
		}
		controls, err := g.Controls()
		for _, fd := range controls {
			process.CloseFD(fd)
		}
		if err := errors.Join(err, g.End(b.Context())); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((computed(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
}

func computed(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
