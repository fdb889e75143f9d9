package jobe

import (
	"fmt"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"drover/core"
	"drover/web/compat"
)

// The outcomes.
const (
	compileError = 11
	runtimeError = 12
	timeLimit    = 13
	success      = 15
	memoryLimit  = 17
	illegalCall  = 19
	internal     = 20
	overload     = 21
)

// result is the answer to a run.
type result struct {
	ID      string `json:"run_id"`
	Outcome int    `json:"outcome"`
	Compile string `json:"cmpinfo"`
	Stdout  string `json:"stdout"`
	Stderr  string `json:"stderr"`
}

// notes are the files that the script left, by name.
type notes map[string][]byte

// judge makes the answer of a request that has ended. CodeRunner takes each run that wrote to stderr for a runtime
// error: so stderr is empty where the outcome says more.
func judge(r *core.Result, l limits, files notes) result {
	p := compat.ReadPhases(files["note"], 1)
	answer := result{ID: r.ID, Outcome: internal, Stderr: r.Reason}
	missing := strings.TrimSpace(string(files["missing"]))
	switch {
	case r.State == core.RequestTimedOut && r.Times.Started < 0: // it waited for longer than its pool allows
		answer.Outcome = overload
	case r.State == core.RequestCancelled, r.State == core.RequestDead, r.Blame == core.BlamePlatform, r.Times.Started < 0:
		if answer.Stderr == "" {
			answer.Stderr = "request " + string(r.State)
		}
	case missing != "":
		answer.Stderr = fmt.Sprintf("The image of the pool has no program %.80q, which this language needs.", missing)
	case p.Compiling && p.Compiled == nil, p.Compiled != nil && (p.Compiled.Status != 0 || len(files["compiled.err"]) > 0):
		answer.Outcome, answer.Stderr, answer.Compile = compileError, "", clean(compilerSaid(r, p.Compiled, files))
	default:
		ran(&answer, r, l, p, files)
	}
	return answer
}

// compilerSaid is what is told of a compiler that failed: never nothing, because that is success for CodeRunner.
func compilerSaid(r *core.Result, p *compat.Phase, files notes) []byte {
	var said []byte
	for _, name := range []string{"compiled.out", "compiled.err"} {
		if len(said) > 0 && len(files[name]) > 0 {
			said = append(said, '\n')
		}
		said = append(said, files.text(name)...)
		if files["cut."+name] != nil {
			said = append(said, "\n*** The rest is not shown.\n"...)
		}
	}
	const killed = 128 + int(syscall.SIGKILL)
	switch {
	case p == nil && r.Limit != core.LimitTime && r.Reason != "":
		said = append(said, r.Reason...)
	case p == nil || p.Status == killed || p.Status == 128+int(syscall.SIGXCPU):
		said = append(said, "The compiler exceeded its time limit."...)
	case len(said) == 0:
		said = fmt.Appendf(nil, "The compiler exited with status %d.", p.Status)
	}
	return said
}

// ran judges the run itself.
func ran(answer *result, r *core.Result, l limits, p compat.Phases, files notes) {
	var run compat.Phase
	if len(p.Runs) > 0 {
		run = p.Runs[0]
	} else { // the script was ended together with the program
		run = compat.Phase{Status: compat.StatusOf(r), Wall: float64(r.Usage.WallMs) / 1000}
	}
	// The VM's measure is more precise than the shell's, and no program can forge it.
	cpu := float64(r.Usage.CPUMs) / 1000
	if p.Compiled != nil {
		cpu -= p.Compiled.CPU
	}
	answer.Stdout, answer.Stderr = clean(files.text("out")), clean(files.text("err"))
	signal := syscall.Signal(0)
	if run.Status > 128 && run.Status <= 128+31 {
		signal = syscall.Signal(run.Status - 128)
	}
	limit := ""
	if len(p.Runs) == 0 {
		limit = r.Limit
	}
	switch {
	case limit == core.LimitTime, signal == syscall.SIGXCPU, cpu > float64(l.cpu), signal == syscall.SIGKILL && run.Wall >= float64(l.wall):
		answer.Outcome, answer.Stderr = timeLimit, ""
	case r.Limit == core.LimitMemory:
		answer.Outcome, answer.Stderr = memoryLimit, ""
	case signal == syscall.SIGSYS:
		answer.Outcome, answer.Stderr = illegalCall, ""
	default:
		answer.Stderr += remarks(r, l, limit, signal, files)
		answer.Outcome = success
		if answer.Stderr != "" {
			answer.Outcome = runtimeError
		}
	}
}

// remarks are what is added to stderr. As in Jobe, an exit code is not looked at.
func remarks(r *core.Result, l limits, limit string, signal syscall.Signal, files notes) string {
	var said strings.Builder
	for _, of := range []struct{ file, name string }{{"cut.out", "stdout"}, {"cut.err", "stderr"}} {
		if _, is := files[of.file]; is {
			fmt.Fprintf(&said, "\n*** Only the first %d MB of %s are shown (parameter streamsize).\n", l.stream/mb, of.name)
		}
	}
	switch {
	case limit != "":
		fmt.Fprintf(&said, "\n*** %s\n", r.Reason)
	case signal == syscall.SIGXFSZ:
		fmt.Fprintf(&said, "\n*** The program wrote a file, or output, of more than %d MB (parameter disklimit).\n", l.file*1024/mb)
	case signal != 0:
		fmt.Fprintf(&said, "\n*** The program was ended by the signal %d (%s).\n", int(signal), unix.SignalName(signal))
	}
	return said.String()
}

// text returns what was printed, without what is left of a character where it was cut.
func (n notes) text(name string) []byte {
	text := n[name]
	if n["cut."+name] == nil {
		return text
	}
	for i := 1; i <= min(utf8.UTFMax-1, len(text)); i++ {
		if b := text[len(text)-i]; utf8.RuneStart(b) {
			if !utf8.FullRune(text[len(text)-i:]) {
				return text[:len(text)-i]
			}
			break
		}
	}
	return text
}

// clean makes a text of bytes as Jobe does: what is not UTF-8 is shown with each byte that is not printable as \x and
// two digits.
func clean(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	var s strings.Builder
	s.Grow(2 * len(text))
	for _, b := range text {
		if b >= ' ' && b <= '~' || b == '\n' || b == '\r' || b == '\t' {
			s.WriteByte(b)
		} else {
			fmt.Fprintf(&s, `\x%02x`, b)
		}
	}
	return s.String()
}
