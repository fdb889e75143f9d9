package drill

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"drover/core"
)

// inside is set in the environment of a drill that has its namespaces.
const inside = "DRILL_INSIDE"

// Isolated reports whether this process has namespaces of its own for a drill.
func Isolated() bool { return os.Getenv(inside) != "" && os.Getpid() > 1 && os.Geteuid() == 0 }

// insideScript is the first process there: it adopts orphaned processes, and when it is killed all others die with
// it. $0 is this program.
const insideScript = `mount --make-rprivate / && mount -t proc proc /proc && ip link set lo up || exit 5
"$0" "$@"
exit $?`

// Isolate runs this program again in namespaces of processes, mounts and networks of its own, which end with this
// process, and returns its exit code.
func Isolate(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	program, err := os.Executable()
	if err != nil {
		return 0, core.Wrap(err, core.CodeUnavailable, "", "this program does not find itself")
	}
	// Before the child is there: a Ctrl-C is meant for it.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	cmd := exec.Command("/bin/sh", append([]string{"-c", insideScript, program}, args...)...) //nolint:noctx // it ends by signals, so that it can clean up
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET,
		Setpgid:    true, Pdeathsig: syscall.SIGKILL,
	}
	if err := cmd.Start(); err != nil {
		return 0, core.Wrap(err, core.CodeUnavailable, "", "the drill cannot have namespaces of its own: use --plain")
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	end := ctx.Done()
	for {
		select {
		case s := <-signals:
			if n, ok := s.(syscall.Signal); ok {
				_ = syscall.Kill(-cmd.Process.Pid, n) // it may have ended meanwhile
			}
		case <-end:
			end = nil
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // it may have ended meanwhile
		case err := <-ended:
			var exit *exec.ExitError
			if err == nil || errors.As(err, &exit) {
				return cmd.ProcessState.ExitCode(), nil
			}
			return 0, err
		}
	}
}
