package judge0

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"drover/core"
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

// phases are the script's notes: of compiling, and of each run.
type phases struct {
	compiling bool // it did not complete
	compiled  *phase
	runs      []phase
}

type phase struct {
	status    int
	cpu, wall float64 // seconds
}

// readPhases reads the notes. A program that forges them only harms itself: an invalid line ends them.
func readPhases(note []byte) phases {
	var p phases
	before := 0.0 // CPU of the phases so far
	lines := bufio.NewScanner(bytes.NewReader(note))
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		if words[0] == "compiling" {
			p.compiling = true
			continue
		}
		var ph phase
		var user, system minutes
		var from, to float64
		n, _ := fmt.Sscan(strings.Join(words[1:], " "), &ph.status, &user, &system, &from, &to)
		if n < 3 || len(p.runs) > maxRuns {
			break
		}
		total := user.seconds + system.seconds
		ph.cpu, before = max(0, total-before), total
		ph.wall = max(0, to-from)
		if words[0] == "compiled" {
			p.compiled = &ph
		} else {
			p.runs = append(p.runs, ph)
		}
	}
	return p
}

// minutes is a time as a shell writes it: 1m2.30s.
type minutes struct{ seconds float64 }

// Scan reads it.
func (m *minutes) Scan(state fmt.ScanState, _ rune) error {
	token, err := state.Token(true, nil)
	if err != nil {
		return err
	}
	var whole int
	if _, err := fmt.Sscanf(string(token), "%dm%fs", &whole, &m.seconds); err != nil {
		return err
	}
	m.seconds += 60 * float64(whole)
	return nil
}

// ended judges a request that has its result.
func (s *submission) ended(r *core.Result, files collectedFiles) (outcome, error) {
	o := outcome{compile: files["compile"]}
	p := readPhases(files["note"])
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
	if p.compiling && p.compiled == nil || p.compiled != nil && p.compiled.status != 0 {
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

func (s *submission) notCompiled(o outcome, r *core.Result, p phases) outcome {
	o.status = compilationError
	const killed = 128 + int(syscall.SIGKILL)
	if p.compiled == nil && r.Limit == core.LimitTime || p.compiled != nil && (p.compiled.status == killed || p.compiled.status == 128+int(syscall.SIGXCPU)) {
		o.compile = []byte("Compilation time limit exceeded.")
	}
	if p.compiled == nil && r.Limit != core.LimitTime {
		o.compile = append(o.compile, r.Reason...)
	}
	return o
}

// ran judges the runs: the first wrong one, or the last.
func (s *submission) ran(o *outcome, r *core.Result, p phases, files collectedFiles) {
	before := 0.0
	if p.compiled != nil {
		before = p.compiled.cpu
	}
	if len(p.runs) == 0 { // the script was ended together with the program
		p.runs = []phase{{status: exitOf(r), wall: float64(r.Usage.WallMs) / 1000}}
	}
	// The VM's measure is more precise than the shell's, and no program can forge it.
	whole := max(0, float64(r.Usage.CPUMs)/1000-before)
	if len(p.runs) == 1 {
		p.runs[0].cpu = whole
	}
	cpu, wall := 0.0, 0.0
	for i, run := range p.runs {
		o.stdout, o.stderr = files[fmt.Sprintf("out.%d", i+1)], files[fmt.Sprintf("err.%d", i+1)]
		cpu, wall = cpu+run.cpu, wall+run.wall
		s.judge(o, r, run, i == len(p.runs)-1)
		if o.status != accepted {
			p.runs = p.runs[:i+1]
			break
		}
	}
	n := float64(len(p.runs))
	cpu, wall = cpu/n, wall/n
	memory := float64(r.Usage.MemoryPeakBytes / 1024)
	o.cpu, o.wall, o.memory = &cpu, &wall, &memory
}

// exitOf returns a result's exit code as in a shell.
func exitOf(r *core.Result) int {
	if n := unix.SignalNum(r.Signal); n > 0 {
		return 128 + int(n)
	}
	return r.ExitCode
}

// judge judges one run; limits of the VM ended only the last one.
func (s *submission) judge(o *outcome, r *core.Result, run phase, last bool) {
	code := run.status
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
	case last && r.Limit == core.LimitTime, run.cpu > s.CPU, signal == int(syscall.SIGXCPU):
		o.status, o.message = timeLimit, "Time limit exceeded"
	case run.wall > s.Wall, signal == int(syscall.SIGKILL) && run.wall >= s.Wall:
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
