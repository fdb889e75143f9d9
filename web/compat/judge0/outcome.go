package judge0

import (
	"bytes"
	"fmt"
	"slices"
	"syscall"

	"drover/core"
	"drover/web/compat"
)

// The statuses.
const (
	inQueue = iota + 1
	processing
	accepted
	wrongAnswer
	timeLimit
	compilationError
	segmentation
	fileSize
	floatingPoint
	aborted
	exitCode
	otherError
	internalError
	execFormat
)

// statusNames are those of the statuses from 1 on.
func statusNames() []string {
	return []string{
		"In Queue", "Processing", "Accepted", "Wrong Answer", "Time Limit Exceeded", "Compilation Error",
		"Runtime Error (SIGSEGV)", "Runtime Error (SIGXFSZ)", "Runtime Error (SIGFPE)", "Runtime Error (SIGABRT)",
		"Runtime Error (NZEC)", "Runtime Error (Other)", "Internal Error", "Exec Format Error",
	}
}

// outcome is the result of a submission. Nil is null.
type outcome struct {
	status         int
	stdout, stderr []byte
	compile        []byte
	message        string
	code, signal   *int
	cpu, wall      *float64 // seconds
	memory         *float64 // KB
}

// ended judges a request that has its result.
func (s *submission) ended(r *core.Result, files collectedFiles) (outcome, error) {
	o := outcome{compile: files["compile"]}
	p := compat.ReadPhases(files["note"], maxRuns)
	switch r.State {
	case core.RequestCancelled, core.RequestDead:
		return platform(o, r), nil
	case core.RequestTimedOut, core.RequestFailed, core.RequestCompleted:
	default:
		return o, core.Errorf(core.CodeInternal, r.ID, "request %s has not ended", r.ID)
	}
	if r.Blame == core.BlamePlatform || r.Times.Started < 0 {
		return platform(o, r), nil
	}
	if p.Compiling && p.Compiled == nil || p.Compiled != nil && p.Compiled.Status != 0 {
		return s.notCompiled(o, r, p), nil
	}
	s.ran(&o, r, p, files)
	return o, nil
}

func platform(o outcome, r *core.Result) outcome {
	o.status, o.message, o.compile = internalError, r.Reason, nil
	if o.message == "" {
		o.message = "request " + string(r.State)
	}
	return o
}

func (s *submission) notCompiled(o outcome, r *core.Result, p compat.Phases) outcome {
	o.status = compilationError
	const killed = 128 + int(syscall.SIGKILL)
	if p.Compiled == nil && r.Limit == core.LimitTime || p.Compiled != nil && (p.Compiled.Status == killed || p.Compiled.Status == 128+int(syscall.SIGXCPU)) {
		o.compile = []byte("Compilation time limit exceeded.")
	}
	if p.Compiled == nil && r.Limit != core.LimitTime {
		o.compile = append(o.compile, r.Reason...)
	}
	return o
}

// ran judges the runs: the first wrong one, or the last.
func (s *submission) ran(o *outcome, r *core.Result, p compat.Phases, files collectedFiles) {
	before := 0.0
	if p.Compiled != nil {
		before = p.Compiled.CPU
	}
	if len(p.Runs) == 0 { // the script was ended together with the program
		p.Runs = []compat.Phase{{Status: compat.StatusOf(r), Wall: float64(r.Usage.WallMs) / 1000}}
	}
	// The VM's measure is more precise than the shell's, and no program can forge it.
	whole := max(0, float64(r.Usage.CPUMs)/1000-before)
	if len(p.Runs) == 1 {
		p.Runs[0].CPU = whole
	}
	cpu, wall := 0.0, 0.0
	for i, run := range p.Runs {
		o.stdout, o.stderr = files[fmt.Sprintf("out.%d", i+1)], files[fmt.Sprintf("err.%d", i+1)]
		cpu, wall = cpu+run.CPU, wall+run.Wall
		s.judge(o, r, run, i == len(p.Runs)-1)
		if o.status != accepted {
			p.Runs = p.Runs[:i+1]
			break
		}
	}
	n := float64(len(p.Runs))
	cpu, wall = cpu/n, wall/n
	memory := float64(r.Usage.MemoryPeakBytes / 1024)
	o.cpu, o.wall, o.memory = &cpu, &wall, &memory
}

// judge judges one run; limits of the VM ended only the last one.
func (s *submission) judge(o *outcome, r *core.Result, run compat.Phase, last bool) {
	code := run.Status
	o.code, o.signal, o.message = &code, nil, ""
	if code > 128 && code <= 128+31 {
		signal := code - 128
		o.signal, o.message = &signal, fmt.Sprintf("Caught fatal signal %d", signal)
	} else if code != 0 {
		o.message = fmt.Sprintf("Exited with error status %d", code)
	}
	signal := 0
	if o.signal != nil {
		signal = *o.signal
	}
	switch {
	case last && r.Limit == core.LimitTime, run.CPU > s.CPU, signal == int(syscall.SIGXCPU):
		o.status, o.message = timeLimit, "Time limit exceeded"
	case run.Wall > s.Wall, signal == int(syscall.SIGKILL) && run.Wall >= s.Wall:
		o.status, o.message = timeLimit, "Time limit exceeded (wall clock)"
	case signal == int(syscall.SIGXFSZ):
		o.status = fileSize
	case last && r.Limit != "":
		o.status, o.message = otherError, r.Reason
	case signal != 0:
		o.status = ofSignal(signal)
	case code == notExecutable:
		o.status = execFormat
	case code != 0:
		o.status = exitCode
	case s.Expected == nil || slices.EqualFunc(lines(s.Expected), lines(o.stdout), bytes.Equal):
		o.status = accepted
	default:
		o.status = wrongAnswer
	}
}

// notExecutable is a shell's exit code for a file that is not executable.
const notExecutable = 126

func ofSignal(n int) int {
	switch syscall.Signal(n) {
	case syscall.SIGSEGV:
		return segmentation
	case syscall.SIGFPE:
		return floatingPoint
	case syscall.SIGABRT:
		return aborted
	default:
		return otherError
	}
}

// lines are compared without white space at their ends, and without empty lines at the end.
func lines(text []byte) [][]byte {
	const space = " \t\n\v\f\r\x00"
	all := bytes.Split(bytes.TrimRight(text, space), []byte("\n"))
	for i := range all {
		all[i] = bytes.TrimRight(all[i], space)
	}
	return all
}
