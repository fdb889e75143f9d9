package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover-lab/drill"
	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/config"
)

func drillCommand() *cli.Command {
	return &cli.Command{
		Name: "drill", Usage: "inject random faults into a cluster of real processes, and show that nothing is lost or doubled", OnUsageError: terminal.UsageError,
		Description: "The cluster lives on this machine only: several hosts, a redis-server of its own, jobs of many submitters.\n" +
			"As root every host has a network and a disk of its own, and all of it ends with this command, however\n" +
			"that ends. Exits with 0 if nothing was lost, doubled or left behind, and the consistency check is clean. The same\n" +
			"--seed makes the same plan of faults. Kinds of faults: " + strings.Join(drill.Kinds(), ", ") + ".",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "faults", Usage: "how many to inject", Value: 50},
			&cli.DurationFlag{Name: "for", Usage: "inject no more after this `TIME`, and heal", DefaultText: "until all were injected"},
			&cli.Uint64Flag{Name: "seed", Usage: "of the plan", DefaultText: "another each time"},
			&cli.StringSliceFlag{Name: "only", Usage: "inject faults of this `KIND` only; may be given again"},
			&cli.IntFlag{Name: "at-once", Usage: "most faults at the same time", Value: 4},
			&cli.DurationFlag{Name: "hold", Usage: "`TIME` until each is healed", DefaultText: "some shorter, some longer than it takes to notice"},
			&cli.IntFlag{Name: "hosts", Usage: "of the cluster", Value: 3},
			&cli.IntFlag{Name: "slots", Usage: "requests that each host runs at once", Value: 4},
			&cli.IntFlag{Name: "load", Usage: "number of unfinished requests kept in the cluster", Value: 18},
			&cli.DurationFlag{Name: "beat", Usage: "`TIME` between heartbeats; an owner that is late by 5 of them is fenced", DefaultText: "1s"},
			&cli.StringFlag{Name: "logs", Usage: "keep the logs of the components in this `FOLDER`"},
			&cli.BoolFlag{Name: "plain", Usage: "no namespaces, also as root", DisableDefaultText: true},
			terminal.JSONFlag(),
		},
		Action: drillAction,
	}
}

func drillAction(c *cli.Context) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	cfg := drill.Config{
		For: c.Duration("for"), Faults: c.Int("faults"), Seed: c.Uint64("seed"), Only: c.StringSlice("only"), AtOnce: c.Int("at-once"),
		Hosts: c.Int("hosts"), Slots: c.Int("slots"), Load: c.Int("load"), Beat: c.Duration("beat"), Hold: c.Duration("hold"), Logs: c.String("logs"),
		Open: openDrilled, Progress: c.App.ErrWriter,
	}
	if !c.IsSet("seed") {
		cfg.Seed = uint64(rand.Uint32()) //nolint:gosec // a plan is to be repeated, not to be unknown
	}
	if err := cfg.Check(); err != nil {
		return err
	}
	var err error
	if cfg.Program, err = drover(); err != nil {
		return err
	}
	if os.Geteuid() == 0 && !c.Bool("plain") && !drill.Isolated() {
		code, err := drill.Isolate(c.Context, os.Args[1:], c.App.Writer, c.App.ErrWriter)
		if err == nil && code != 0 {
			err = terminal.ExitCode(code)
		}
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	report, err := drill.Run(ctx, cfg)
	if report == nil {
		return err
	}
	if c.Bool("json") {
		err = errors.Join(err, terminal.PrintJSON(c.App.Writer, report))
	} else {
		err = errors.Join(err, printDrill(c.App.Writer, report))
	}
	switch {
	case err != nil:
		return err
	case !report.Sound():
		return terminal.ExitCode(terminal.ExitFault)
	case ctx.Err() != nil:
		return terminal.ExitCode(terminal.ExitStopped)
	}
	return nil
}

// openDrilled connects to the cluster of a drill, whose settings are in environ.
func openDrilled(ctx context.Context, environ []string) (*drill.Client, error) {
	cfg, err := config.Load(nil, environ)
	if err != nil {
		return nil, err
	}
	h, err := access.OpenCluster(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &drill.Client{Redis: h.Redis, Store: h.Store, Intake: h.Intake, Leases: h.Leases(), StoreID: h.StoreID, Close: h.Close}, nil
}

// printDrill prints a report for people.
func printDrill(w io.Writer, r *drill.Report) error {
	rows := []table.Row{
		{"lost", r.Lost, "must be 0"},
		{"doubled", r.Doubled, "must be 0"},
		{"leaked", r.Leaked, "must be 0"},
		{"broken invariants", len(r.Consistency) + len(r.Unknown), "must be 0"},
		{"dead without own fault", r.Innocent, "must be 0"},
		{"broken promises", r.Broken, "must be 0"},
		{"oversold", r.Oversold, "times that a host held more VMs than fit; must be 0"},
		{"leases wrong", r.LeaseFaults, "oversold, started or ended twice, left behind, or used by others; must be 0"},
		{"faults", r.Faults["total"], fmt.Sprintf("in %s, seed %d", (time.Duration(r.DurationMs) * time.Millisecond).Round(time.Second), r.Seed)},
		{"requests", r.Jobs, fmt.Sprintf("accepted; %d submits were refused", r.Refused)},
		{"tasks", r.Tasks, "accepted"},
		{"batches", r.Batches.Accepted, fmt.Sprintf("with %d jobs; %d were cancelled, %d are reruns", r.Batches.Jobs, r.Batches.Cancelled, r.Batches.Rerun)},
		{"leases", r.Leases.Made, leasedWords(r)},
		{"machines", r.Elastic.Made, fmt.Sprintf("of the host group, at most %d at once; %d became hosts, %d were killed, %d ended; %d overseers were killed while one was asked for or to end", r.Elastic.Most, r.Elastic.Joined, r.Elastic.Killed, r.Elastic.Terminated, r.Elastic.Cut)},
		{"rounds cut", r.Rounds, fmt.Sprintf("of placement, by stopping an overseer; %d of them were overtaken by another one's", r.Overtaken)},
		{"dead", r.Dead, "given up after too many faults of the platform, and told so"},
		{"run lost", r.RunLost, "failed, since they must not run twice and their run was lost"},
		{"crashed", r.Crashes, "components; must be 0"},
		{"ended", r.Exits, "components that gave up by themselves, and were started again"},
		{"zombies' writes refused", r.Zombies, ""},
		{"noticed after", r.DetectMs, ""},
		{"running again after", r.RedispatchMs, ""},
	}
	for i := range r.Pools {
		rows = append(rows, table.Row{"pool " + r.Pools[i].Name, "", keeps(&r.Pools[i])})
	}
	for _, v := range r.Consistency {
		rows = append(rows, table.Row{"consistency " + v.Rule, "", terminal.Clean(v.ID + ": " + v.Text)})
	}
	for _, text := range slices.Concat(r.Unknown, r.Details) {
		rows = append(rows, table.Row{"", "", terminal.Clean(text)})
	}
	if err := terminal.PrintTable(w, "", table.Row{"", "", ""}, rows); err != nil {
		return err
	}
	return terminal.PrintTable(w, "no fault was injected", table.Row{"fault", "times", "noticed after", "running again after"}, drillFaults(r))
}

// leasedWords says what became of the leases, for people.
func leasedWords(r *drill.Report) string {
	n := &r.Leases
	return fmt.Sprintf("made; %d changes, %d deleted, %d refused; %d started, %d ended, %d could not start; %d times degraded, %d times whole again, "+
		"oversold for %d ms at most; %d tries of holders",
		n.Changed, n.Deleted, n.Refused, n.Started, n.Ended, n.Failed, n.Degraded, n.Whole, n.OverMs, n.Held)
}

// keeps says how a pool's VMs are made, for people.
func keeps(p *core.Pool) string {
	words := []string{cmp.Or(string(p.Strategy), string(core.WorstFit)), cmp.Or(string(p.Order), string(core.Fifo))}
	for _, of := range []struct {
		n    int
		what string
	}{{p.Warm, "%d warm on each host"}, {p.WarmTotal, "%d warm in all"}, {p.WarmMost, "up to %d warm by its use"}, {p.Spread, "on %d hosts at least"}} {
		if of.n > 0 {
			words = append(words, fmt.Sprintf(of.what, of.n))
		}
	}
	return strings.Join(words, ", ")
}

// drillFaults is the table of the kinds of faults.
func drillFaults(r *drill.Report) []table.Row {
	var rows []table.Row
	for _, kind := range drill.Kinds() {
		if why := r.Skipped[kind]; why != "" {
			rows = append(rows, table.Row{kind, "skipped", why, ""})
		} else if n := r.Faults[kind]; n > 0 {
			rows = append(rows, table.Row{kind, n, r.Recovery[kind].Detect, r.Recovery[kind].Redispatch})
		}
	}
	return rows
}
