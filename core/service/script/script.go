// Package script runs programs of operators: those that make hosts, watch them, or cut their power.
package script

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"drover/core"
)

// Script is a program of an operator, and how it is bounded.
type Script struct {
	Path    string        // absolute
	Timeout time.Duration // of one run; then all its processes are killed
	Output  int           // most bytes that it may write to standard output
	Env     []string      // NAME=value, beside PATH, HOME, LANG and TZ of this process: secrets of drover stay out
}

const (
	maxErrors = 4 << 10         // bytes kept of standard error
	maxQuote  = 300             // bytes of it that an error quotes
	waitDelay = 2 * time.Second // for pipes that a grandchild holds open
)

// Check returns INVALID for a path that no program can be at.
func (s Script) Check() error {
	info, err := os.Stat(s.Path)
	if err != nil || !strings.HasPrefix(s.Path, "/") || info.IsDir() || info.Mode().Perm()&0o111 == 0 {
		return core.Errorf(core.CodeInvalid, s.Path, "%q is no program: name one by its whole path, which may be executed", s.Path)
	}
	return nil
}

// Run runs the program with arguments and standard input, and returns its standard output. Returns UNAVAILABLE if it
// cannot be run, fails or takes too long, LIMIT if it writes too much; the error quotes what it wrote to standard error.
func (s Script) Run(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	out, said := &bounded{most: s.Output, stop: cancel}, &bounded{most: maxErrors}
	cmd := exec.CommandContext(ctx, s.Path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), out, said
	cmd.Env, cmd.Dir = append(environment(), s.Env...), "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = waitDelay
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left running
	}
	switch {
	case out.full:
		return nil, core.Errorf(core.CodeLimit, s.Path, "%s wrote more than %d bytes", s.Path, s.Output)
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, core.Errorf(core.CodeUnavailable, s.Path, "%s took longer than %s", s.Path, s.Timeout)
	case err != nil:
		return nil, core.Wrap(err, core.CodeUnavailable, s.Path, "%s failed%s", s.Path, quote(said.kept))
	}
	return out.kept, nil
}

// environment is what of this process' environment a program gets.
func environment() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "LANG", "TZ"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// quote makes a part of a sentence of what a program wrote.
func quote(said []byte) string {
	if text := core.OneLine(string(said), maxQuote); text != "" {
		return " (" + text + ")"
	}
	return ""
}

// bounded keeps the first bytes that are written to it.
type bounded struct {
	kept []byte
	most int
	full bool
	stop func() // once there are more; may be nil
}

func (b *bounded) Write(p []byte) (int, error) {
	room := min(len(p), b.most-len(b.kept))
	b.kept = append(b.kept, p[:room]...)
	if room < len(p) {
		b.full = true
		if b.stop != nil {
			b.stop()
		}
	}
	return len(p), nil
}
