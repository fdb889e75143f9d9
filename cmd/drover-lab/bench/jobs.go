package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/config"
	"drover/core/service"
)

func jobsCommand(drover func() (string, error)) *cli.Command {
	return &cli.Command{
		Name: "jobs", Usage: "run real jobs from submit to result, on a running cluster or on one for this command alone", OnUsageError: terminal.UsageError,
		Description: "Submitters take turns of submit and wait for the result, each job in a VM of its own. The cluster is the\n" +
			"one that settings name, or that runs on this machine; without one, or with --own, it is a redis-server, a\n" +
			"vmfactory, a testrunner and an overseer in a temporary folder, which end with this command. On a running cluster\n" +
			"processor time is that of Redis and of this command; the requests stay in its result store.\n" +
			"With --load, jobs of each kind are also submitted at random moments, at a part of the rate that the cluster\n" +
			"had before with two submitters for each slot. With --pause the cluster is idle before a job: VMs have been made\n" +
			"again. With --api, submitters use the API of a site of that cluster.\n" +
			"Kinds of jobs: " + strings.Join(kindNames(), ", ") + ".\n" +
			"Example: drover-lab bench jobs --own --only true --at-once 4 --jobs 500",
		Flags: terminal.WithSettings([]cli.Flag{
			&cli.StringFlag{Name: "pool", Usage: "run the jobs in VMs of `POOL`", Value: access.DefaultPool},
			&cli.IntFlag{Name: "jobs", Usage: "jobs of each kind", Value: 200},
			&cli.IntFlag{Name: "at-once", Usage: "submitters, each with one job at a time", Value: 16},
			&cli.DurationFlag{Name: "pause", Usage: "a submitter waits for this `TIME` before each job", DefaultText: "not"},
			&cli.IntFlag{Name: "warm", Usage: "clean VMs that a cluster of its own keeps", DefaultText: "one for each slot"},
			&cli.StringSliceFlag{Name: "only", Usage: "jobs of this `KIND` only; repeatable"},
			&cli.BoolFlag{Name: "own", Usage: "use a cluster of its own, even if another one runs here", DisableDefaultText: true},
			&cli.BoolFlag{Name: "api", Usage: "start a site, too, in a cluster of its own, and use its API", DisableDefaultText: true},
			&cli.IntFlag{Name: "load", Usage: "measure each kind also at `PERCENT` of the most jobs a second", DefaultText: "not"},
			access.AsFlag(), terminal.JSONFlag(),
		}, "client", "testrunner"),
		Action: func(c *cli.Context) error { return benchJobsAction(c, drover) },
	}
}

// jobsBench is one measurement of jobs.
type jobsBench struct {
	Pool   string
	Jobs   int
	AtOnce int
	Warm   int // of a cluster of its own
	Slots  int
	Only   []string
	API    bool // of a site of a cluster of its own
	Load   int  // percent of the most jobs a second; 0: not measured
	Pause  time.Duration
}

// longestPause is far below what run takes for a standstill.
const longestPause = 10 * time.Second

// ownSlots is how many slots the testrunner of a cluster of its own has, unless a setting says otherwise.
const ownSlots = 8

func benchJobsAction(c *cli.Context, drover func() (string, error)) (err error) {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	cfg, err := terminal.Load(c)
	if err != nil {
		return err
	}
	b := jobsBench{Pool: c.String("pool"), Jobs: c.Int("jobs"), AtOnce: c.Int("at-once"), Slots: ownSlots, Only: c.StringSlice("only"), API: c.Bool("api"), Load: c.Int("load"), Pause: c.Duration("pause")}
	if cfg.Source("slots") != config.Default {
		b.Slots = cfg.Slots
	}
	b.Warm = b.Slots
	if c.IsSet("warm") {
		b.Warm = c.Int("warm")
	}
	if err := b.check(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	c.Context = ctx
	report, err := b.onSomeCluster(c, cfg, drover)
	if ctx.Err() != nil {
		fmt.Fprintln(c.App.ErrWriter, "drover-lab: stopped before it ended")
		return terminal.ExitCode(terminal.ExitStopped)
	}
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = terminal.PrintJSON(c.App.Writer, report)
	} else {
		err = report.print(c.App.Writer)
	}
	if why := report.failure(); err == nil && why != "" {
		fmt.Fprintln(c.App.ErrWriter, "drover-lab: "+terminal.Clean(why))
		return terminal.ExitCode(terminal.ExitFault)
	}
	return err
}

func (b jobsBench) check() error {
	for _, n := range []struct {
		flag      string
		got, most int
	}{{"jobs", b.Jobs, 1_000_000}, {"at-once", b.AtOnce, 1024}, {"slots", b.Slots, 1024}, {"warm", b.Warm, 1024}} {
		if n.got < 1 || n.got > n.most {
			return core.Errorf(core.CodeInvalid, n.flag, "--%s %d must be between 1 and %d", n.flag, n.got, n.most)
		}
	}
	for _, name := range b.Only {
		if !slices.Contains(kindNames(), name) {
			return core.Errorf(core.CodeInvalid, "only", "there is no kind %q of jobs: --only takes %s", name, strings.Join(kindNames(), ", "))
		}
	}
	if b.Load < 0 || b.Load > mostLoad {
		return core.Errorf(core.CodeInvalid, "load", "--load %d must be between 0 and %d: more than all is never served", b.Load, mostLoad)
	}
	if b.Pause < 0 || b.Pause > longestPause {
		return core.Errorf(core.CodeInvalid, "pause", "--pause %s must be between 0 and %s", b.Pause, longestPause)
	}
	return core.CheckName("pool", b.Pool)
}

// onSomeCluster measures the cluster that is named or runs here, or one of its own.
func (b jobsBench) onSomeCluster(c *cli.Context, cfg *config.Config, drover func() (string, error)) (r *jobsReport, err error) {
	running := !c.Bool("own") && !b.API && (cfg.Server != "" || access.HasCluster(cfg))
	if !running && c.IsSet("server") {
		return nil, core.Errorf(core.CodeInvalid, "own", "--own and --api make a cluster for this command alone: leave --server away")
	}
	scratch, err := service.NewScratch(ownPrefix)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, scratch.Remove()) }()
	kinds, err := b.kinds(c.Context, scratch.Dir)
	if err != nil {
		return nil, err
	}
	if running {
		return r, access.WithBackend(func(c *cli.Context, d access.Backend) error {
			fmt.Fprintln(c.App.ErrWriter, "drover-lab: measures "+d.At())
			r = b.report(d.At())
			return b.run(c.Context, []access.Backend{d}, meterOf(d), kinds, r)
		})(c)
	}
	program, err := drover()
	if err != nil {
		return nil, err
	}
	sweepOwn(c.Context, program)
	return b.onOwnCluster(c, cfg, program, scratch.Dir, kinds)
}

// onOwnCluster starts a cluster in the folder, and ends it whatever happens.
func (b jobsBench) onOwnCluster(c *cli.Context, cfg *config.Config, program, dir string, kinds []kind) (r *jobsReport, err error) {
	ctx, fail := context.WithCancelCause(c.Context)
	defer fail(nil)
	own, err := startOwn(ctx, cfg, program, dir, b, fail)
	defer func() { err = errors.Join(err, own.stop(context.WithoutCancel(c.Context))) }()
	if err != nil {
		return nil, own.explain(err)
	}
	r = b.report("its own")
	r.Slots, r.Warm = b.Slots, b.Warm
	was := c.Context
	c.Context = ctx
	err = access.WithSession(func(c *cli.Context, s *access.Session) error {
		asked := []access.Backend{s}
		if b.API {
			var err error
			if asked, err = own.throughSite(c.Context, s, fail); err != nil {
				return err
			}
		}
		return b.run(c.Context, asked, own, kinds, r)
	})(c, own.cluster)
	c.Context = was
	return r, own.explain(cmp.Or(context.Cause(ctx), err))
}
