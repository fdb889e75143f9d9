package jobe

import (
	"math"
	"time"

	"drover/core"
)

// limits are a run's limits.
type limits struct {
	cpu, wall               int64 // seconds, of the program
	compileCPU, compileWall int64 // seconds
	data                    int64 // KB of each process; 0 for the VM's
	file                    int64 // KB of each file
	stream                  int64 // bytes kept of stdout and of stderr

	request core.Limits // of compiling and running together
}

// Jobe's defaults, and bounds.
const (
	defaultCPU       = 5
	defaultMemory    = 400 // MB
	defaultDisk      = 20  // MB
	defaultStream    = 2   // MB
	defaultProcesses = 30
	heapProcesses    = 256 // at least, for the threads of a language with a heap of its own
	maxStream        = 4   // MB: an answer is held in memory

	leastCompileCPU    = 2   // seconds
	leastCompileMemory = 500 // MB
	leastCompileDisk   = 20  // MB

	mb        = 1_000_000
	ownPids   = 4               // of the script that compiles and runs
	ownMemory = 8 << 20         // bytes, of the same
	ownTime   = 1 * time.Second // of the same
)

func or(v float64, otherwise int64) int64 {
	if math.IsNaN(v) {
		return otherwise
	}
	return int64(math.Ceil(v))
}

// limits returns the limits of a run in a pool, which caps them all. A time above what the pool allows is refused,
// as in Jobe.
func (s *runspec) limits(p core.Pool) (limits, error) {
	total := max(1, int64((p.Limits.Timeout-ownTime)/time.Second))
	most := total
	if s.language.Compile != "" {
		most = max(1, total/2)
	}
	memory := s.language.Memory
	if memory == 0 {
		memory = defaultMemory
	}
	l := limits{cpu: min(defaultCPU, most)}
	if !math.IsNaN(s.params.cpu) {
		switch l.cpu = or(s.params.cpu, 0); {
		case l.cpu == 0:
			return l, refuse("parameters: cputime: it must be above 0")
		case l.cpu > most:
			return l, refuse("parameters: cputime: %d s are more than the %d s that the pool %s allows", l.cpu, most, p.Name)
		}
	}
	memory = or(s.params.memory, memory)
	processes := or(s.params.processes, defaultProcesses)
	disk := or(s.params.disk, defaultDisk)
	l.stream = min(or(s.params.stream, defaultStream), maxStream) * mb
	if s.language.Heap {
		memory, processes = 0, max(processes, heapProcesses)
	}
	l.data = memory * mb / 1024
	l.request.Memory = p.Limits.Memory
	if memory > 0 {
		if s.language.Compile != "" {
			memory = max(memory, leastCompileMemory)
		}
		l.request.Memory = min(memory*mb+ownMemory, p.Limits.Memory)
	}
	if s.language.Compile != "" {
		l.compileCPU = max(l.cpu, leastCompileCPU)
		l.compileWall = min(2*l.compileCPU, max(1, total/2))
		disk = max(disk, leastCompileDisk)
	}
	l.file = disk * mb / 1024
	if p.Limits.FileSize > 0 {
		l.file = min(l.file, p.Limits.FileSize/1024)
	}
	l.wall = min(2*l.cpu, total-l.compileWall)
	l.request.Timeout = min(ownTime+time.Duration(l.wall+l.compileWall)*time.Second, p.Limits.Timeout)
	l.request.Pids = int(min(processes+ownPids, int64(p.Limits.Pids)))
	return l, nil
}
