package server

import (
	"errors"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"drover/core"
	"drover/core/agent/wire"
)

// command is a checked run, ready to start.
type command struct {
	path   string
	args   []string
	env    []string
	dir    string
	limits core.Limits // of this run and all later ones
	share  core.Limits // of this run
	cell   cell        // its cgroup
	boxed  bool        // a harness runs it
}

// prepare checks a run and finds its program.
func (a *Agent) prepare(s wire.Spec) (*command, error) {
	c := &command{args: s.Args, dir: s.Dir, limits: effective(s.Limits, a.cfg.Limits)}
	if c.dir == "" {
		c.dir = path.Join(a.cfg.Home, wire.Work)
	}
	if s.Called {
		s.Env = append([]string{"HOME=" + c.dir, wire.EnvFiles + "=" + path.Join(a.cfg.Home, wire.Submission)}, s.Env...)
	}
	c.share = effective(s.Share, c.limits)
	switch {
	case len(s.Args) == 0 || s.Args[0] == "":
		return nil, core.Errorf(core.CodeInvalid, a.cfg.VM, "there is no command to run")
	case len(s.Args) > wire.MaxArgs:
		return nil, core.Errorf(core.CodeLimit, a.cfg.VM, "the command has %d words; %d are allowed", len(s.Args), wire.MaxArgs)
	case slices.ContainsFunc(append(s.Args, c.dir), func(w string) bool { return strings.ContainsRune(w, 0) }):
		return nil, core.Errorf(core.CodeInvalid, a.cfg.VM, "the command holds a NUL byte")
	case c.dir[0] != '/':
		return nil, core.Errorf(core.CodeInvalid, a.cfg.VM, "the folder %q to run in is not absolute", c.dir)
	}
	if err := checkEnv(s.Env); err != nil {
		return nil, err
	}
	if s.Harness {
		s.Env = append(slices.Clip(s.Env), wire.EnvBox+"="+path.Join(a.cfg.Home, wire.BoxSocket))
		if s.Away {
			s.Env = append(s.Env, wire.EnvPeer+"=yes")
		}
	}
	c.env = a.environ(s.Env)
	program, err := find(s.Args[0], c.env)
	if err != nil {
		return nil, wire.Unstarted{Exit: wire.ExitAbsent, Err: core.Wrap(err, core.CodeInvalid, a.cfg.VM, "run %q", s.Args[0])}
	}
	c.path = program
	return c, nil
}

func checkEnv(env []string) error {
	if len(env) > wire.MaxEnv {
		return core.Errorf(core.CodeLimit, "", "there are %d environment variables; %d are allowed", len(env), wire.MaxEnv)
	}
	for _, v := range env {
		if at := strings.IndexByte(v, '='); at < 1 || strings.ContainsRune(v, 0) {
			return core.Errorf(core.CodeInvalid, "", "the environment variable %q is not of the form NAME=value", v)
		}
	}
	return nil
}

// environ returns the VM's environment, overridden by the run's.
func (a *Agent) environ(run []string) []string {
	at := map[string]int{}
	var env []string
	own := []string{"PATH=/usr/local/bin:/usr/bin:/bin:" + path.Dir(wire.BoxProgram), "HOME=" + a.cfg.Home, "LANG=C.UTF-8"}
	for _, v := range slices.Concat(own, a.cfg.Env, run) {
		name, _, _ := strings.Cut(v, "=")
		if i, known := at[name]; known {
			env[i] = v
			continue
		}
		at[name] = len(env)
		env = append(env, v)
	}
	return env
}

// find looks up a program without a slash in the PATH of env.
func find(program string, env []string) (string, error) {
	if strings.ContainsRune(program, '/') {
		return program, nil
	}
	for _, v := range env {
		dirs, ok := strings.CutPrefix(v, "PATH=")
		if !ok {
			continue
		}
		for dir := range strings.SplitSeq(dirs, ":") {
			file := path.Join(dir, program)
			info, err := os.Stat(file)
			if path.IsAbs(file) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return file, nil
			}
		}
	}
	return "", errNoProgram
}

var errNoProgram = core.Errorf(core.CodeInvalid, "", "no such program in the VM's PATH")

// pipes are the standard streams of a command: our ends and its own.
type pipes struct {
	ours   [3]*os.File
	theirs [3]int
}

func openPipes() (*pipes, error) {
	p := &pipes{theirs: [3]int{-1, -1, -1}}
	for i := range p.theirs {
		var ends [2]int
		if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
			p.closeTheirs()
			p.closeOurs()
			return nil, err
		}
		our, their := ends[0], ends[1]
		if i == 0 {
			our, their = their, our
		}
		p.theirs[i] = their
		err := syscall.SetNonblock(our, true) // for the poller; the command's end still blocks
		p.ours[i] = os.NewFile(uintptr(our), "pipe")
		if err != nil {
			p.closeTheirs()
			p.closeOurs()
			return nil, err
		}
	}
	return p, nil
}

func (p *pipes) closeTheirs() {
	for i, fd := range p.theirs {
		if fd >= 0 {
			_ = syscall.Close(fd)
			p.theirs[i] = -1
		}
	}
}

func (p *pipes) closeOurs() {
	for _, f := range p.ours {
		if f != nil {
			_ = f.Close()
		}
	}
}

// start starts the command and returns its pid. All restrictions are in force before its first instruction: limits
// and filter are the agent's own, and the thread that starts it has dropped what the command must not have.
func (a *Agent) start(c *command, p *pipes) (int, error) {
	defer p.closeTheirs()
	a.ready(a.starter)
	if err := a.bind(c.limits); err != nil {
		return 0, err
	}
	if err := a.controls.bound(c.cell, c.limits, c.share); err != nil {
		return 0, err
	}
	pid, err := a.startBy(a.starter, a.cred, c, p)
	if err != nil && pid > 0 {
		err = errors.Join(err, a.tree.killAll()) // it must not go on in this state
	}
	return pid, err
}

// startBy has a starter start the command as a user.
func (a *Agent) startBy(s *starter, as credential, c *command, p *pipes) (pid int, err error) {
	s.do(func() {
		if err = core.Wrap(s.failed, core.CodeBadVM, a.cfg.VM, "make ready to start commands"); err == nil {
			pid, err = a.fork(as, c, p)
		}
	})
	return pid, err
}

func (a *Agent) fork(as credential, c *command, p *pipes) (pid int, err error) {
	attr := &syscall.ProcAttr{
		Dir:   c.dir,
		Env:   c.env,
		Files: []uintptr{uintptr(p.theirs[0]), uintptr(p.theirs[1]), uintptr(p.theirs[2])},
		Sys:   &syscall.SysProcAttr{Setsid: true, Credential: as.sys},
	}
	err = a.controls.around(c.cell, func() error {
		if !c.boxed { // the harness has that number
			a.renumber()
		}
		return a.badge.around(func() error {
			pid, err = syscall.ForkExec(c.path, c.args, attr)
			return err
		})
	})
	if err == nil {
		err = a.controls.close(c.cell, c.limits, c.share)
	}
	if err == nil {
		return pid, nil
	}
	if pid > 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it must not go on in this state
	}
	if !slices.ContainsFunc(callers, func(theirs error) bool { return errors.Is(err, theirs) }) {
		return pid, core.Wrap(err, core.CodeBadVM, a.cfg.VM, "run %q in %q", c.args[0], c.dir)
	}
	exit := wire.ExitRefused
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR) {
		exit = wire.ExitAbsent
	}
	return pid, wire.Unstarted{Exit: exit, Err: core.Wrap(err, core.CodeInvalid, a.cfg.VM, "run %q in %q", c.args[0], c.dir)}
}

// callers are the errors of a start for which the command or its folder is to blame.
var callers = []error{
	syscall.ENOENT, syscall.EACCES, syscall.ENOTDIR, syscall.EISDIR, syscall.ENOEXEC, syscall.ELOOP,
	syscall.ENAMETOOLONG, syscall.E2BIG, syscall.EINVAL, syscall.ELIBBAD,
}
