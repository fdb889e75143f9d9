package metric

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

var started = time.Now()

// Process declares what is watched of every process, by the names that are usual for it.
func (s *Set) Process() {
	single := func(name, kind, help string, value func() (float64, error)) {
		s.declare(&Family{name: name, kind: kind, help: help, read: func(to Reports) {
			if v, err := value(); err == nil {
				to(v)
			}
		}})
	}
	s.GaugeFunc("go_info", "The version of Go.", func(to Reports) { to(1, runtime.Version()) }, "version")
	single("go_goroutines", gauge, "Goroutines.", func() (float64, error) { return float64(runtime.NumGoroutine()), nil })
	single("process_cpu_seconds_total", counter, "Processor time.", func() (float64, error) {
		var used unix.Rusage
		err := unix.Getrusage(unix.RUSAGE_SELF, &used)
		return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds(), err
	})
	single("process_start_time_seconds", gauge, "When the process started.", func() (float64, error) {
		return float64(started.UnixMilli()) / 1000, nil
	})
	single("process_open_fds", gauge, "Open files.", func() (float64, error) {
		open, err := os.ReadDir("/proc/self/fd")
		return float64(len(open)), err
	})
	single("process_max_fds", gauge, "Files that may be open.", func() (float64, error) {
		var l unix.Rlimit
		err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l)
		return float64(l.Cur), err
	})
	single("process_resident_memory_bytes", gauge, "Memory.", func() (float64, error) {
		text, err := os.ReadFile("/proc/self/statm") // size and resident, in pages
		if err != nil {
			return 0, err
		}
		_, after, _ := strings.Cut(string(text), " ")
		resident, _, _ := strings.Cut(after, " ")
		pages, err := strconv.Atoi(resident)
		return float64(pages * os.Getpagesize()), err
	})
}
