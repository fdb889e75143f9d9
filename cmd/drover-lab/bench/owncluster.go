package bench

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"drover/cmd/drover/access"
	"drover/core"
	"drover/core/config"
	"drover/core/redisstore/redisserver"
	"drover/core/service"
)

// ownPrefix begins the name of the folder of a cluster for one command.
const ownPrefix = "drover-bench-"

// ownHost is the one host of such a cluster.
const ownHost = "bench"

// stopTimeout bounds the end of each process.
const stopTimeout = 30 * time.Second

// ownCluster is a cluster for one command: a redis-server, and a process for each component.
type ownCluster struct {
	dir     string
	program string
	env     []string
	redis   *redisserver.Server
	redisID int // its process
	cluster *access.Cluster
	all     []*process // in the order in which they are stopped
	group   *group     // of all components and their VMs; nil: there is none
}

// process is one component.
type process struct {
	name  string
	cmd   *exec.Cmd
	log   string
	ended chan struct{}
}

// startOwn starts a cluster in a folder. A component that ends by itself fails the command. What was started must be
// stopped, also after an error.
func startOwn(ctx context.Context, cfg *config.Config, program, dir string, b jobsBench, fail context.CancelCauseFunc) (*ownCluster, error) {
	o := &ownCluster{dir: dir, program: program}
	var err error
	if o.redis, err = redisserver.Start(ctx, "--appendonly", "yes"); err != nil {
		return o, err
	}
	settings := filepath.Join(dir, "drover.yaml") // empty: nobody else's are meant
	if err := os.WriteFile(settings, nil, 0o600); err != nil {
		return o, core.Wrap(err, core.CodeUnavailable, settings, "the cluster's settings cannot be written")
	}
	o.env = append(ownEnv(dir), "TMPDIR="+dir, "DROVER_CONFIG="+settings, "DROVER_REDIS="+o.redis.URL(), "DROVER_SLOTS="+strconv.Itoa(b.Slots),
		"DROVER_POOLS="+b.Pool, "DROVER_SELF_TEST="+config.SelfTestOff, "DROVER_LISTEN=127.0.0.1:0",
		"DROVER_SUSPECT=1m", "DROVER_DOWN=2m") // a machine that is measured is busy: nobody is dead
	for name, value := range map[string]string{"DROVER_AGENT": cfg.Agent, "DROVER_CGROUP": cfg.Cgroup} {
		if value != "" {
			o.env = append(o.env, name+"="+value)
		}
	}
	its, err := config.Load(nil, o.env)
	if err != nil {
		return o, err
	}
	if err := access.MakeData(its); err != nil {
		return o, err
	}
	if o.cluster, err = access.OpenCluster(ctx, its); err != nil {
		return o, err
	}
	if err := o.cluster.Intake.SetPool(ctx, ownPool(b)); err != nil {
		return o, err
	}
	facts, err := o.cluster.Redis.Server(ctx)
	if err == nil {
		o.redisID, err = strconv.Atoi(facts["process_id"])
	}
	if err != nil {
		return o, core.Wrap(err, core.CodeUnavailable, "", "redis-server does not say which process it is")
	}
	o.group = newGroup()
	for _, name := range []string{partRunner, partWatch, partMaker} {
		if err := o.start(name, fail); err != nil {
			return o, err
		}
	}
	return o, nil
}

// ownEnv is the environment by which the VMs of a folder are found again.
func ownEnv(dir string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "DROVER_DATA=" + filepath.Join(dir, "data"), "DROVER_RUN=" + filepath.Join(dir, "run"),
		"DROVER_HOST=" + ownHost, "DROVER_PROVIDER=" + core.ProviderNames()[0],
	}
}

func ownPool(b jobsBench) core.Pool {
	p := core.DefaultPool(b.Pool)
	p.Warm, p.Max, p.MaxWaiting = b.Warm, b.Warm+b.Slots, 1<<20
	return p
}

// start starts a component.
func (o *ownCluster) start(name string, fail context.CancelCauseFunc) error {
	p := &process{name: name, log: filepath.Join(o.dir, name+".log"), ended: make(chan struct{})}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return core.Wrap(err, core.CodeUnavailable, p.log, "a log cannot be made")
	}
	defer out.Close()                     //nolint:errcheck // the component has it
	p.cmd = exec.Command(o.program, name) //nolint:noctx // it ends when it is told to, or with us
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = o.env, out, out
	// Not our group, whose Ctrl-C is not meant for it; and never longer than we.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	o.group.begin(p.cmd.SysProcAttr)
	if err := p.cmd.Start(); err != nil {
		return core.Wrap(err, core.CodeUnavailable, name, "%s cannot be started", name)
	}
	o.all = append(o.all, p)
	go func() {
		err := p.cmd.Wait()
		close(p.ended)
		fail(core.Errorf(core.CodeUnavailable, name, "%s ended by itself: %v", name, err)) // without effect once the command ends
	}()
	return nil
}

// explain adds to an error what the components said last.
func (o *ownCluster) explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	for _, p := range o.all {
		text, _ := os.ReadFile(p.log) // without it there is nothing to add
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		if last := lines[len(lines)-1]; last != "" {
			err = core.Wrap(err, core.CodeOf(err), "", "%s said: %s", p.name, last)
		}
	}
	return err
}

// stop ends everything, destroys the VMs and closes the connections. The folder is its owner's to remove.
func (o *ownCluster) stop(ctx context.Context) error {
	var errs []error
	for _, p := range o.all {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-p.ended:
		case <-time.After(stopTimeout):
			_ = p.cmd.Process.Kill() // likewise
			<-p.ended
			errs = append(errs, core.Errorf(core.CodeConflict, p.name, "%s did not stop within %s", p.name, stopTimeout))
		}
	}
	if len(o.all) > 0 {
		errs = append(errs, destroyVMs(ctx, o.program, o.env))
	}
	if o.cluster != nil {
		errs = append(errs, o.cluster.Close())
	}
	if o.redis != nil {
		_ = o.redis.Stop() // it reports its own violent end
	}
	return errors.Join(append(errs, o.group.remove(ctx))...)
}

func destroyVMs(ctx context.Context, program string, env []string) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, string(core.RoleVMFactory), "--destroy-vms")
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	return core.Wrap(err, core.CodeUnavailable, "", "VMs cannot be destroyed: %s", bytes.TrimSpace(out))
}

// sweepOwn destroys the VMs and folders that killed commands left.
func sweepOwn(ctx context.Context, program string) {
	service.SweepScratch(ownPrefix, func(dir string) error { return destroyVMs(ctx, program, ownEnv(dir)) })
	sweepGroups()
}

func (o *ownCluster) sameClock() bool { return true }

// read returns the processor time of each component. What is not theirs in their cgroup is the VMs'; where there is no
// such cgroup, it is what the starter of VMs has waited for.
func (o *ownCluster) read(context.Context) (usage, error) {
	u := usage{partKernel: kernelTime()}
	var err error
	if u[partClient], err = ownTime(); err != nil {
		return u, err
	}
	if u[partRedis], _, err = processTime(o.redisID); err != nil {
		return u, err
	}
	all, known, vms := o.group.time(), cpu{}, cpu{}
	for _, p := range o.all {
		own, children, err := processTime(p.cmd.Process.Pid)
		if err != nil {
			return u, err
		}
		if p.name == partMaker {
			vms = vms.plus(children)
			for _, pid := range childrenOf(p.cmd.Process.Pid) {
				its, waited, err := processTime(pid)
				if err != nil {
					continue // it has ended, and is among the children that were waited for
				}
				own, vms = own.plus(its), vms.plus(waited)
			}
		}
		u[p.name], known = own, known.plus(own)
	}
	u[partVMs] = vms
	if all != (cpu{}) {
		u[partVMs] = all.minus(known).balanced()
	}
	return u, nil
}
