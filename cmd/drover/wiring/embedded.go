package wiring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/config"
	"drover/core/service"
	"drover/core/service/metric"
	"drover/vmfactory"
)

// MaybeEmbedded runs an action on the cluster or site in the settings, or on an embedded cluster.
func MaybeEmbedded(c *cli.Context, action func(*cli.Context, access.Backend) error) error {
	if !c.Bool("embedded") {
		return access.WithBackend(action)(c)
	}
	if c.IsSet("server") || c.String("as") != "" {
		return core.Errorf(core.CodeInvalid, "", "--embedded makes a cluster for this command alone, where nobody is known: leave --server and --as away")
	}
	return InScratch(c, func(c *cli.Context, dir string) error {
		pool := core.DefaultPool(c.String("pool"))
		pool.Warm = 0 // one request comes, and none after it
		return InEmbeddedCluster(c, dir, []core.Pool{pool}, access.WithSession(func(c *cli.Context, s *access.Session) error { return action(c, s) }))
	})
}

// InScratch runs an action in a temporary folder. A signal ends the action, so that it can clean up; a second Ctrl-C
// ends the program. Other signals often arrive twice: from a terminal and its shell, from timeout(1).
func InScratch(c *cli.Context, action func(c *cli.Context, dir string) error) (err error) {
	ctx, stop := signal.NotifyContext(c.Context, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, func() {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGHUP) // before stop: there must be no gap
		stop()
	})
	scratch, err := service.NewScratch("drover-embedded-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, scratch.Remove()) }()
	c.Context = ctx
	if err = action(c, scratch.Dir); ctx.Err() == nil || err == nil {
		return err
	}
	fmt.Fprintln(c.App.ErrWriter, "drover: stopped before it ended")
	return terminal.ExitCode(terminal.ExitStopped)
}

// InEmbeddedCluster runs an action on a cluster in this process, which is in the folder dir, has these pools and ends
// with the action.
func InEmbeddedCluster(c *cli.Context, dir string, pools []core.Pool, action func(*cli.Context, *access.Cluster) error) error {
	return inEmbedded(c, dir, pools, Surroundings{embedded: true}, action)
}

// InHostlessCluster is InEmbeddedCluster with a cluster that has no host: others join it by its Redis' socket.
func InHostlessCluster(c *cli.Context, dir string, pools []core.Pool, action func(*cli.Context, *access.Cluster) error) error {
	return inEmbedded(c, dir, pools, Surroundings{embedded: true, hostless: true}, action)
}

func inEmbedded(c *cli.Context, dir string, pools []core.Pool, s Surroundings, action func(*cli.Context, *access.Cluster) error) (err error) {
	cfg, err := terminal.Load(c)
	if err != nil {
		return err
	}
	cfg = cfg.In(dir)
	cfg.Pools, cfg.Drain = nil, 0
	for _, pool := range pools {
		cfg.Pools = append(cfg.Pools, pool.Name)
	}
	log := logrus.New()
	log.SetOutput(c.App.ErrWriter)
	log.SetLevel(logrus.ErrorLevel) // a person wants the action's output, not the cluster's
	if cfg.Source("log_level") != config.Default {
		if log, err = terminal.NewLog(cfg, c.App.ErrWriter); err != nil {
			return err
		}
	}
	e, err := prepareEmbedded(c.Context, cfg, log, s)
	if err != nil {
		return err
	}
	for _, pool := range pools {
		if err := e.Cluster.Intake.SetPool(c.Context, pool); err != nil {
			return errors.Join(err, e.release())
		}
	}
	group := service.Start(context.WithoutCancel(c.Context), e.services...)
	err = action(c, e.Cluster)
	now, cancel := context.WithCancel(context.Background())
	cancel() // work that is left is not wanted any more
	return errors.Join(err, group.Stop(now), e.release())
}

// EmbeddedCluster is a whole cluster in this process.
type EmbeddedCluster struct {
	Cluster  *access.Cluster
	metrics  *metric.Set
	redis    *embeddedRedis // nil: a real server is used
	roles    []Role
	services []service.Service
	lock     *service.Lock
}

// prepareEmbedded makes every role, ready to run.
func prepareEmbedded(ctx context.Context, cfg *config.Config, log logrus.FieldLogger, s Surroundings) (e *EmbeddedCluster, err error) {
	if err := access.MakeData(cfg); err != nil {
		return nil, err
	}
	e = &EmbeddedCluster{}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.release())
		}
	}()
	if e.lock, err = service.TakeLock(cfg.Data, "cluster"); err != nil {
		return e, err
	}
	if cfg.Source("redis") == config.Default {
		if e.redis, err = startEmbeddedRedis(cfg.Data); err != nil {
			return e, err
		}
	}
	if e.Cluster, err = access.JoinCluster(ctx, cfg); err != nil {
		return e, err
	}
	if err := e.Refill(ctx); err != nil {
		return e, err
	}
	e.metrics = newMetrics(e.Cluster)
	s.Cluster, s.Log, s.Metrics = e.Cluster, log, e.metrics
	if err := e.build(ctx, s); err != nil {
		return e, err
	}
	return e, nil
}

// Refill puts pools and waiting work back into a Redis that may have lost them.
func (e *EmbeddedCluster) Refill(ctx context.Context) error {
	if _, err := e.Cluster.Intake.RestorePools(ctx); err != nil {
		return err
	}
	names, err := e.Cluster.Pools(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		_, err := e.Cluster.Redis.GetPool(ctx, name)
		if p := core.DefaultPool(name); core.Is(err, core.CodeNotFound) {
			if err = nil; e.Cluster.Makes(p) {
				err = e.Cluster.Intake.SetPool(ctx, p)
			}
		}
		if err != nil {
			return err
		}
	}
	_, err = e.Cluster.Intake.Sweep(ctx) // in a Redis that may not be complete yet an overseer does it
	return err
}

// buildHost makes what a host needs.
func (e *EmbeddedCluster) buildHost(ctx context.Context, s Surroundings) error {
	_, factory, err := newFactory(ctx, s, func(conf *vmfactory.Config) {
		conf.StopTimeout, conf.DestroyOnStop = 10*time.Second, true
		// An operator who starts a cluster by hand wants to use it at once; a setting for the self-test makes the
		// start wait for it.
		conf.SelfTestBeside = s.Cluster.Config.Source("self_test") == config.Default
	})
	if err != nil {
		return err
	}
	e.roles = append(e.roles, factory)
	if err := factory.checks["provider"](ctx); err != nil {
		return err
	}
	runner, err := newTestrunner(ctx, s)
	if err != nil {
		return err
	}
	e.roles = append(e.roles, runner)
	return nil
}

func (e *EmbeddedCluster) build(ctx context.Context, s Surroundings) error {
	if !s.hostless {
		if err := e.buildHost(ctx, s); err != nil {
			return err
		}
	}
	tasks, err := newTaskrunner(s)
	if err != nil {
		return err
	}
	e.roles = append(e.roles, tasks)
	_, watch, err := NewOverseer(s)
	if err != nil {
		return err
	}
	e.roles = append(e.roles, watch)
	for _, r := range e.roles {
		e.services = append(e.services, r.services()...)
	}
	e.services = append(e.services, e.Cluster.Ledger())
	if !s.embedded { // else it has none
		e.services = append(e.services, neighbours(e.Cluster, s.Log))
	}
	return nil
}

// release frees what a stopped cluster holds.
func (e *EmbeddedCluster) release() error {
	var errs []error
	for _, r := range slices.Backward(e.roles) {
		errs = append(errs, r.end())
	}
	if e.Cluster != nil {
		errs = append(errs, e.Cluster.Close())
	}
	if e.redis != nil {
		e.redis.close()
	}
	if e.lock != nil {
		e.lock.Release()
	}
	return errors.Join(errs...)
}

// UpCommand is drover up.
func UpCommand() *cli.Command {
	return &cli.Command{
		Name: "up", Usage: "run a whole cluster in this process until Ctrl-C", OnUsageError: terminal.UsageError,
		Description: "Everything is kept in the data folder, also through kill -9. Without --redis it has a Redis of its\n" +
			"own that only its owner can reach and that keeps nothing: waiting work is queued again from the store.\n" +
			"With --listen it has the site as well.",
		Flags:  terminal.WithSettings(nil, "testrunner", "vmfactory", "taskrunner", "overseer", "web"),
		Action: untilSignal(up),
	}
}

func up(c *cli.Context, cfg *config.Config, signals *service.Signals) error {
	log, err := terminal.NewLog(cfg, c.App.ErrWriter)
	if err != nil {
		return err
	}
	e, err := prepareEmbedded(c.Context, cfg, log, Surroundings{})
	if err != nil {
		return err
	}
	var text strings.Builder
	if err = e.Announce(c.Context, &text); err == nil {
		err = announcing(cfg, log, c.App.Writer, text.String())
	}
	if err == nil && cfg.Listen != "" {
		err = e.addSite(c, log)
	}
	if err == nil {
		err = e.addOps(log)
	}
	if err == nil {
		err = signals.Run(c.Context, cfg.Drain, func(text string) { log.Info(text) }, e.services...)
	}
	return errors.Join(err, e.release())
}

// addSite makes the site of the cluster, and prints its address.
func (e *EmbeddedCluster) addSite(c *cli.Context, log logrus.FieldLogger) error {
	f, err := NewWebsite(e.Cluster, log)
	if err != nil {
		return err
	}
	if err := f.announce(c, e.Cluster.Config, log); err != nil {
		return errors.Join(err, f.Server.Close())
	}
	e.services = append(e.services, f.Services()...)
	return nil
}

// addOps serves the cluster's /healthz and /metrics, if the settings have an address.
func (e *EmbeddedCluster) addOps(log logrus.FieldLogger) error {
	checks := map[string]service.Check{}
	for _, r := range e.roles {
		maps.Copy(checks, r.checks)
	}
	services, err := opsServices(e.Cluster.Config, "up", checks, e.metrics, log)
	e.services = append(e.services, services...)
	return err
}

// Announce prints where the cluster is, and what to try.
func (e *EmbeddedCluster) Announce(ctx context.Context, w io.Writer) error {
	cfg := e.Cluster.Config
	text := "the cluster is up on host " + cfg.Host + ", with everything in " + cfg.Data + "\n" +
		"try: drover run -- echo hello\n"
	if e.redis == nil {
		text = "the cluster is up on host " + cfg.Host + ", with its queues in " + cfg.Redis.String() + " and the rest in " + cfg.Data + "\n"
	}
	pools, err := e.Cluster.Store.Pools(ctx)
	if err == nil && len(pools) == 0 {
		text += "it has no pool yet, and its provider " + strings.Join(cfg.Provider, ", ") + " needs an image: drover image build NAME, then\n" +
			"drover pool set " + access.DefaultPool + " --provider " + cfg.Provider[0] + " --image NAME\n"
	}
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	return err
}
