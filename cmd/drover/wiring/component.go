package wiring

import (
	"context"
	"errors"
	"fmt"
	"slices"

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

// component makes the action of a command that runs one role until a signal.
func component(build func(context.Context, *cli.Context, Surroundings) (Role, error)) cli.ActionFunc {
	return joined(func(c *cli.Context, h *access.Cluster, signals *service.Signals) error {
		return serve(c, h, signals, build)
	})
}

// joined makes the action of a command that is a part of the cluster.
func joined(action func(c *cli.Context, h *access.Cluster, signals *service.Signals) error) cli.ActionFunc {
	return untilSignal(asPart(action))
}

// asPart connects what is a part of the cluster.
func asPart(action func(c *cli.Context, h *access.Cluster, signals *service.Signals) error) signalled {
	return func(c *cli.Context, cfg *config.Config, signals *service.Signals) error {
		if err := access.MakeData(cfg); err != nil {
			return err
		}
		h, err := access.JoinCluster(c.Context, cfg)
		if err != nil {
			return err
		}
		return errors.Join(action(c, h, signals), h.Close())
	}
}

// signalled is an action that runs until a signal.
type signalled func(c *cli.Context, cfg *config.Config, signals *service.Signals) error

// untilSignal makes the action of a command that takes no arguments and runs until a signal.
func untilSignal(action signalled) cli.ActionFunc {
	return func(c *cli.Context) error {
		if err := terminal.NoArgs(c); err != nil {
			return err
		}
		return action.run(c)
	}
}

// run runs the action until a signal, even one during its start: it then exits without an error.
func (action signalled) run(c *cli.Context) error {
	cfg, err := terminal.Load(c)
	if err != nil {
		return err
	}
	signals := service.Listen()
	defer signals.Close()
	c.Context = signals.Starting(c.Context)
	if err = action(c, cfg, signals); c.Context.Err() != nil && signals.Asked() {
		return nil
	}
	return err
}

func serve(c *cli.Context, h *access.Cluster, signals *service.Signals, build func(context.Context, *cli.Context, Surroundings) (Role, error)) error {
	log, err := terminal.NewLog(h.Config, c.App.ErrWriter)
	if err != nil {
		return err
	}
	metrics := newMetrics(h)
	r, err := build(c.Context, c, Surroundings{Cluster: h, Log: log, Metrics: metrics})
	if err != nil {
		return err
	}
	ops, err := opsServices(h.Config, r.service.Name, r.checks, metrics, log)
	if err != nil {
		return errors.Join(err, r.end())
	}
	services := slices.Concat(r.services(), []service.Service{h.Ledger(), neighbours(h, log)}, ops)
	log.WithField("host", h.Config.Host).Info(r.service.Name + " is starting") // it reports its registration itself
	err = signals.Run(c.Context, h.Config.Drain, func(text string) { log.Info(text) }, services...)
	log.Info(r.service.Name + " has stopped")
	return errors.Join(err, r.end())
}

// opsServices returns the server of /healthz and /metrics of a role; none if the settings have no address.
func opsServices(cfg *config.Config, role string, checks map[string]service.Check, metrics *metric.Set, log logrus.FieldLogger) ([]service.Service, error) {
	address := cfg.MetricsAddress(role)
	if address == "" {
		return nil, nil
	}
	ops, err := service.NewOps(address, checks, metrics)
	if err != nil {
		return nil, err
	}
	log.WithField("address", ops.Addr()).Info("answering /healthz and /metrics")
	return []service.Service{ops.Service()}, nil
}

func (r Role) end() error {
	if r.close == nil {
		return nil
	}
	return r.close()
}

// newMetrics makes the metrics of a process, and whether an overseer is alive: an overseer cannot report its own
// absence. Its roles add theirs.
func newMetrics(h *access.Cluster) *metric.Set {
	metrics := &metric.Set{}
	metrics.Process()
	metrics.GaugeFunc("drover_overseer_missing", "1 while no overseer is at work in the cluster; one from cron counts for five minutes.", func(to metric.Reports) {
		ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
		defer cancel()
		if o, err := h.Redis.Overseen(ctx); err == nil {
			to(terminal.OneIf(o.Late))
		}
	})
	return metrics
}

// TestrunnerCommand is drover testrunner.
func TestrunnerCommand() *cli.Command {
	return &cli.Command{
		Name: "testrunner", Usage: "run requests in this host's VMs", OnUsageError: terminal.UsageError,
		Flags: terminal.WithSettings(nil, "testrunner"),
		Action: component(func(ctx context.Context, _ *cli.Context, s Surroundings) (Role, error) {
			return newTestrunner(ctx, s)
		}),
	}
}

// VmfactoryCommand is drover vmfactory.
func VmfactoryCommand() *cli.Command {
	return &cli.Command{
		Name: "vmfactory", Usage: "make and destroy this host's VMs", OnUsageError: terminal.UsageError,
		Description: "VMs outlive it; a restarted one adopts what is healthy and unused and destroys the rest.",
		Flags: terminal.WithSettings([]cli.Flag{
			&cli.BoolFlag{Name: "recover", Usage: "forget what Redis says of this host and rebuild it from what is there", DisableDefaultText: true},
			&cli.BoolFlag{Name: "force-unregister", Usage: "evict another vmfactory of this host", DisableDefaultText: true},
			&cli.BoolFlag{Name: "destroy-vms", Usage: "destroy every VM that drover made on this host, and exit", DisableDefaultText: true},
		}, "vmfactory"),
		Action: func(c *cli.Context) error {
			if c.Bool("destroy-vms") {
				return destroyVMs(c)
			}
			return component(func(ctx context.Context, c *cli.Context, s Surroundings) (Role, error) {
				if err := s.Cluster.FirstPool(ctx, s.Log); err != nil {
					return Role{}, err
				}
				_, r, err := newFactory(ctx, s, func(conf *vmfactory.Config) {
					conf.Recover, conf.ForceUnregister = c.Bool("recover"), c.Bool("force-unregister")
				})
				return r, err
			})(c)
		},
	}
}

// destroyVMs destroys every VM of this host, with a cluster or without one.
func destroyVMs(c *cli.Context) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	cfg, err := terminal.Load(c)
	if err != nil {
		return err
	}
	names, err := left(c.Context, cfg)
	if err != nil {
		return err
	}
	cfg.Provider = append(cfg.Provider, names...)
	h, err := access.OpenCluster(c.Context, cfg)
	if core.Is(err, core.CodeUnavailable) {
		return destroyAlone(c, cfg)
	}
	if err != nil {
		return err
	}
	log, err := terminal.NewLog(cfg, c.App.ErrWriter)
	if err != nil {
		return errors.Join(err, h.Close())
	}
	f, r, err := newFactory(c.Context, Surroundings{Cluster: h, Log: log}, func(conf *vmfactory.Config) {
		conf.ForceUnregister = c.Bool("force-unregister")
	})
	if err != nil {
		return errors.Join(err, h.Close())
	}
	n, err := f.DestroyAll(c.Context)
	return errors.Join(err, r.end(), h.Close(), sayDestroyed(c, n))
}

// destroyAlone does so without Redis: the VMs are found on the host.
func destroyAlone(c *cli.Context, cfg *config.Config) (err error) {
	lock, err := service.TakeLock(cfg.Run, "vmfactory")
	if err != nil {
		return err
	}
	defer lock.Release()
	made, err := NewProviders(cfg, nil, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, made.Close()) }()
	n := 0
	for _, provider := range made.All {
		vms, err := provider.List(c.Context)
		if err != nil {
			return err
		}
		for _, vm := range vms {
			if err := provider.Destroy(c.Context, vm.ID); err != nil {
				return err
			}
		}
		n += len(vms)
	}
	return sayDestroyed(c, n)
}

func sayDestroyed(c *cli.Context, n int) error {
	_, err := fmt.Fprintf(c.App.Writer, "destroyed %d VMs of this host\n", n)
	return err
}

// TaskrunnerCommand is drover taskrunner.
func TaskrunnerCommand() *cli.Command {
	return &cli.Command{
		Name: "taskrunner", Usage: "run background tasks", OnUsageError: terminal.UsageError,
		Flags: terminal.WithSettings(nil, "taskrunner"),
		Action: component(func(_ context.Context, _ *cli.Context, s Surroundings) (Role, error) {
			return newTaskrunner(s)
		}),
	}
}

// OverseerCommand is drover overseer.
func OverseerCommand() *cli.Command {
	return &cli.Command{
		Name: "overseer", Usage: "heal the cluster: requeue work of dead owners, sweep, trim", OnUsageError: terminal.UsageError,
		Description: "Any number may run at once, as daemons or, with --once, from cron.",
		Flags: terminal.WithSettings([]cli.Flag{
			&cli.BoolFlag{Name: "once", Usage: "do every chore once and exit; not 0 if one failed", DisableDefaultText: true},
			terminal.JSONFlag(),
		}, "overseer"),
		Action: func(c *cli.Context) error {
			if c.Bool("once") {
				return access.WithCluster(overseeOnce)(c)
			}
			return component(func(_ context.Context, _ *cli.Context, s Surroundings) (Role, error) {
				_, r, err := NewOverseer(s)
				return r, err
			})(c)
		},
	}
}

func overseeOnce(c *cli.Context, h *access.Cluster) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	log, err := terminal.NewLog(h.Config, c.App.ErrWriter)
	if err != nil {
		return err
	}
	if err := h.Join(c.Context); err != nil {
		return err
	}
	o, _, err := NewOverseer(Surroundings{Cluster: h, Log: log})
	if err != nil {
		return err
	}
	report, err := o.Once(c.Context)
	if c.Bool("json") {
		return errors.Join(err, terminal.PrintJSON(c.App.Writer, report))
	}
	return err
}
