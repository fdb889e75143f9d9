package judge0

import (
	"cmp"
	"time"

	"drover/core"
)

// Limits are a submission's default limits and their maxima.
type Limits struct {
	CPU, MaxCPU             float64 // seconds
	Extra, MaxExtra         float64 // seconds
	Wall, MaxWall           float64 // seconds; MaxWall bounds the compiler too
	Memory, MaxMemory       int64   // KB
	Stack, MaxStack         int64   // KB
	Processes, MaxProcesses int64
	FileSize, MaxFileSize   int64 // KB
	Runs, MaxRuns           int64
	MaxExtract              int64 // KB, of additional_files once unpacked

	total float64 // seconds, for compiling and all runs
}

// DefaultLimits are Judge0's, except for the number of runs: each keeps its output.
func DefaultLimits() Limits {
	return Limits{
		CPU: 5, MaxCPU: 15, Extra: 1, MaxExtra: 5, Wall: 10, MaxWall: 20, Memory: 128_000, MaxMemory: 512_000, Stack: 64_000, MaxStack: 128_000,
		Processes: 60, MaxProcesses: 120, FileSize: 1024, MaxFileSize: 4096, Runs: 1, MaxRuns: maxRuns, MaxExtract: 10_240,
	}
}

const (
	maxRuns   = 10              // each run's output is two paths to collect
	ownPids   = 4               // of the script that compiles and runs
	ownMemory = 8 << 20         // bytes, of the same
	ownTime   = 1 * time.Second // of the same
	leastKB   = 2048            // of memory
)

// in returns the limits, lowered to what a pool allows.
func (l Limits) in(p core.Pool) Limits {
	l.total = (p.Limits.Timeout - ownTime).Seconds()
	l.MaxWall = min(l.MaxWall, l.total/2)
	l.MaxMemory = min(l.MaxMemory, (p.Limits.Memory-ownMemory)/1024)
	l.MaxProcesses = min(l.MaxProcesses, int64(p.Limits.Pids-ownPids))
	l.MaxFileSize = min(l.MaxFileSize, p.Limits.FileSize/1024)
	l.MaxExtract = min(l.MaxExtract, p.Limits.Disk/1024)
	l.Wall, l.Memory, l.Processes, l.FileSize = min(l.Wall, l.MaxWall), min(l.Memory, l.MaxMemory), min(l.Processes, l.MaxProcesses), min(l.FileSize, l.MaxFileSize)
	return l
}

// seconds makes a duration of what a submission says.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// within returns the request's limits: for compiling and all runs together.
func (s *submission) within(l Language, most Limits, p core.Pool) core.Limits {
	time := ownTime + seconds(s.Wall)*time.Duration(s.Runs)
	memory := int64(s.Memory)*1024 + ownMemory
	if l.Compile != "" {
		time += seconds(most.MaxWall)
		memory = max(memory, most.MaxMemory*1024+ownMemory)
	}
	return core.Limits{
		Timeout: min(time, p.Limits.Timeout), Memory: cmp.Or(min(memory, p.Limits.Memory), p.Limits.Memory),
		Pids: int(s.Processes) + ownPids,
	}
}
