package compat

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"drover/core"
)

// Phases are what a script that compiles and runs in a VM notes: of compiling, and of each run.
type Phases struct {
	Compiling bool // it did not complete
	Compiled  *Phase
	Runs      []Phase
}

// Phase is one of them.
type Phase struct {
	Status    int     // as a shell says it: 128 and the signal's number for one that a signal ended
	CPU, Wall float64 // seconds
}

// ReadPhases reads the notes of at most so many runs: a line "compiling", and lines of "compiled" or "ran" with a
// status, the CPU time so far as the shell's times prints it, and the clock before and after. A program that forges
// them only harms itself: an invalid line ends them.
func ReadPhases(note []byte, most int) Phases {
	var p Phases
	before := 0.0 // CPU of the phases so far
	lines := bufio.NewScanner(bytes.NewReader(note))
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		if words[0] == "compiling" {
			p.Compiling = true
			continue
		}
		var ph Phase
		var user, system minutes
		var from, to float64
		n, _ := fmt.Sscan(strings.Join(words[1:], " "), &ph.Status, &user, &system, &from, &to)
		if n < 3 || len(p.Runs) > most {
			break
		}
		total := user.seconds + system.seconds
		ph.CPU, before = max(0, total-before), total
		ph.Wall = max(0, to-from)
		if words[0] == "compiled" {
			p.Compiled = &ph
		} else {
			p.Runs = append(p.Runs, ph)
		}
	}
	return p
}

// StatusOf returns the exit code of a result as a shell says it.
func StatusOf(r *core.Result) int {
	if n := unix.SignalNum(r.Signal); n > 0 {
		return 128 + int(n)
	}
	return r.ExitCode
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
