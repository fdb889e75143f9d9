package metric

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

var started = time.Now()

// memory is what dashboards of Go programs expect, with the runtime's own metrics that it is the sum of.
var memory = []struct{ name, kind, sum string }{
	{"alloc_bytes", gauge, "/memory/classes/heap/objects:bytes"},
	{"alloc_bytes_total", counter, "/gc/heap/allocs:bytes"},
	{"buck_hash_sys_bytes", gauge, "/memory/classes/profiling/buckets:bytes"},
	{"frees_total", counter, "/gc/heap/frees:objects /gc/heap/tiny/allocs:objects"},
	{"gc_sys_bytes", gauge, "/memory/classes/metadata/other:bytes"},
	{"heap_alloc_bytes", gauge, "/memory/classes/heap/objects:bytes"},
	{"heap_idle_bytes", gauge, "/memory/classes/heap/released:bytes /memory/classes/heap/free:bytes"},
	{"heap_inuse_bytes", gauge, "/memory/classes/heap/objects:bytes /memory/classes/heap/unused:bytes"},
	{"heap_objects", gauge, "/gc/heap/objects:objects"},
	{"heap_released_bytes", gauge, "/memory/classes/heap/released:bytes"},
	{"heap_sys_bytes", gauge, "/memory/classes/heap/objects:bytes /memory/classes/heap/unused:bytes /memory/classes/heap/released:bytes /memory/classes/heap/free:bytes"},
	{"mallocs_total", counter, "/gc/heap/allocs:objects /gc/heap/tiny/allocs:objects"},
	{"mcache_inuse_bytes", gauge, "/memory/classes/metadata/mcache/inuse:bytes"},
	{"mcache_sys_bytes", gauge, "/memory/classes/metadata/mcache/inuse:bytes /memory/classes/metadata/mcache/free:bytes"},
	{"mspan_inuse_bytes", gauge, "/memory/classes/metadata/mspan/inuse:bytes"},
	{"mspan_sys_bytes", gauge, "/memory/classes/metadata/mspan/inuse:bytes /memory/classes/metadata/mspan/free:bytes"},
	{"next_gc_bytes", gauge, "/gc/heap/goal:bytes"},
	{"other_sys_bytes", gauge, "/memory/classes/other:bytes"},
	{"stack_inuse_bytes", gauge, "/memory/classes/heap/stacks:bytes"},
	{"stack_sys_bytes", gauge, "/memory/classes/heap/stacks:bytes /memory/classes/os-stacks:bytes"},
	{"sys_bytes", gauge, "/memory/classes/total:bytes"},
}

// Process declares what monitors expect of each process and of each program in Go, by the names that Prometheus' own
// client has for them.
func (s *Set) Process() {
	single := func(name, kind, help string, value func() (float64, error)) {
		s.declare(&Family{name: name, kind: kind, help: help, read: func(to Reports) {
			if v, err := value(); err == nil {
				to(v)
			}
		}})
	}
	for _, m := range memory {
		from := strings.Fields(m.sum)
		single("go_memstats_"+m.name, m.kind, "Sum of Go's "+strings.Join(from, ", ")+".", func() (float64, error) { return sum(from), nil })
	}
	for name, from := range map[string]string{
		"go_gc_gogc_percent": "/gc/gogc:percent", "go_gc_gomemlimit_bytes": "/gc/gomemlimit:bytes",
		"go_goroutines": "/sched/goroutines:goroutines", "go_sched_gomaxprocs_threads": "/sched/gomaxprocs:threads",
		"go_threads": "/sched/threads/total:threads",
	} {
		single(name, gauge, "Go's "+from+".", func() (float64, error) { return sum([]string{from}), nil })
	}
	s.GaugeFunc("go_info", "The version of Go.", func(to Reports) { to(1, runtime.Version()) }, "version")
	pauses := func() debug.GCStats {
		stats := debug.GCStats{PauseQuantiles: make([]time.Duration, 5)}
		debug.ReadGCStats(&stats)
		return stats
	}
	single("go_memstats_last_gc_time_seconds", gauge, "When garbage was last collected.", func() (float64, error) {
		return float64(pauses().LastGC.UnixMilli()) / 1000, nil
	})
	s.GaugeFunc("go_gc_duration_seconds", "Pauses of the last collections of garbage.", func(to Reports) {
		for i, d := range pauses().PauseQuantiles {
			to(d.Seconds(), number(float64(i)/4))
		}
	}, "quantile")
	single("go_gc_duration_seconds_sum", counter, "Pauses for garbage since the start.", func() (float64, error) {
		return pauses().PauseTotal.Seconds(), nil
	})
	single("go_gc_duration_seconds_count", counter, "Collections of garbage since the start.", func() (float64, error) {
		return float64(pauses().NumGC), nil
	})
	single("process_cpu_seconds_total", counter, "Processor time.", func() (float64, error) {
		var used unix.Rusage
		err := unix.Getrusage(unix.RUSAGE_SELF, &used)
		return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9, err
	})
	single("process_start_time_seconds", gauge, "When the process started.", func() (float64, error) {
		return float64(started.UnixMilli()) / 1000, nil
	})
	single("process_open_fds", gauge, "Open files.", func() (float64, error) {
		open, err := os.ReadDir("/proc/self/fd")
		return float64(len(open)), err
	})
	limit := func(of int) func() (float64, error) {
		return func() (float64, error) {
			var l unix.Rlimit
			err := unix.Getrlimit(of, &l)
			return float64(l.Cur), err
		}
	}
	single("process_max_fds", gauge, "Files that may be open.", limit(unix.RLIMIT_NOFILE))
	single("process_virtual_memory_max_bytes", gauge, "Virtual memory that the process may have.", limit(unix.RLIMIT_AS))
	pages := func(field int) func() (float64, error) {
		return func() (float64, error) {
			text, err := os.ReadFile("/proc/self/statm")
			if err != nil {
				return 0, err
			}
			n, err := strconv.Atoi(slices.Concat(strings.Fields(string(text)), []string{"", ""})[field])
			return float64(n * os.Getpagesize()), err
		}
	}
	single("process_virtual_memory_bytes", gauge, "Virtual memory.", pages(0))
	single("process_resident_memory_bytes", gauge, "Memory.", pages(1))
}

// sum adds up metrics of Go's runtime.
func sum(names []string) float64 {
	total := 0.0
	for _, name := range names {
		one := []metrics.Sample{{Name: name}}
		metrics.Read(one)
		if one[0].Value.Kind() == metrics.KindUint64 {
			total += float64(one[0].Value.Uint64())
		}
	}
	return total
}
