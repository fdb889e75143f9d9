package operator

import (
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
)

// LeaseCommand is drover lease.
func LeaseCommand() *cli.Command {
	limit := &cli.IntFlag{Name: "limit", Usage: "most to list, 1 to 500", Value: 50}
	const example = `--name exam --class cs101 --start "2026-12-01 14:00" --for 2h --units python=30`
	return &cli.Command{
		Name: "lease", Usage: "reserve VMs or whole hosts for a time: create, list, show, change and delete leases", OnUsageError: terminal.UsageError,
		Subcommands: []*cli.Command{
			access.BackendCommand("create", "reserve units of pools, or whole hosts", "", "drover lease create "+example, leaseFlags(), createLease),
			access.BackendCommand("preview", "show which hosts a lease would get, or what is free when; nothing is reserved", "", "drover lease preview "+example, leaseFlags(), previewLease),
			access.BackendCommand("list", "list leases that are not over, newest first", "", "drover lease list --class cs101", []cli.Flag{
				&cli.BoolFlag{Name: "all", Usage: "also those that are over or failed"},
				&cli.StringFlag{Name: "class", Usage: "only those of `CLASS`"},
				&cli.StringFlag{Name: "before", Usage: "the page after the one that ended with lease `ID`"},
				limit, utcFlag(),
			}, listLeases),
			access.BackendCommand("show", "show a lease: state, hosts, events and what happened to it", "ID", "drover lease show 01j8x3k4", []cli.Flag{utcFlag()}, showLease),
			access.BackendCommand("update", "change what the flags name; --units of a pool that it has is their new number", "ID", "drover lease update --end +1h 01j8x3k4", leaseFlags(), updateLease),
			access.BackendCommand("delete", "delete a lease; an active one ends first", "ID", "drover lease delete 01j8x3k4", nil, deleteLease),
			access.BackendCommand("calendar", "show what is reserved on which host when, and what is free", "", "drover lease calendar --days 3 --pool python", []cli.Flag{
				&cli.IntFlag{Name: "days", Value: 7, Usage: "show `N` days, 1 to 28"},
				&cli.StringFlag{Name: "from", Value: "now", Usage: "begin at `TIME`"},
				&cli.StringFlag{Name: "pool", Usage: "also how many units of `POOL` are free when"},
				utcFlag(),
			}, leaseCalendar),
		},
	}
}

func createLease(c *cli.Context, d access.Backend) error {
	draft, err := leaseDraft(c)
	if err != nil {
		return err
	}
	l, err := d.CreateLease(c.Context, draft)
	if err != nil {
		return err
	}
	return terminal.Say(c, l, "lease %s is made: %s; drover lease show %s", l.ID, heldText(&l), l.ID)
}

func previewLease(c *cli.Context, d access.Backend) error {
	draft, err := leaseDraft(c)
	if err != nil {
		return err
	}
	l, err := d.PreviewLease(c.Context, draft)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, l)
	}
	return terminal.PrintTable(c.App.Writer, "it would get nothing", table.Row{"it would get", "on host", "units"}, allocationRows(&l, false))
}

func listLeases(c *cli.Context, d access.Backend) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	at, err := terminal.Zone(c)
	if err != nil {
		return err
	}
	f := core.LeaseFilter{Class: c.String("class"), Before: c.String("before"), Limit: c.Int("limit")}
	if f.Limit < 1 || f.Limit > 500 {
		return core.Errorf(core.CodeInvalid, "limit", "--limit is 1 to 500")
	}
	if !c.Bool("all") {
		f.States = []core.LeaseState{core.LeasePending, core.LeaseStarting, core.LeaseActive, core.LeaseTerminating, core.LeaseDeleting}
	}
	all, err := d.ListLeases(c.Context, f)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, terminal.OrEmpty(all))
	}
	rows := make([]table.Row, len(all))
	for i := range all {
		l := &all[i]
		rows[i] = table.Row{l.ID, terminal.Clean(l.Name), stateText(l), terminal.ShortMoment(l.Start, at), terminal.ShortMoment(l.End, at), heldText(l), holders(l)}
	}
	if len(all) > 0 {
		terminal.SayMore(c, len(all), f.Limit, "before", all[len(all)-1].ID)
	}
	return terminal.PrintTable(c.App.Writer, "no leases: make one with drover lease create", table.Row{"lease", "name", "state", "start", "end", "holds", "for"}, rows)
}

func showLease(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "lease's id")
	if err != nil {
		return err
	}
	at, err := terminal.Zone(c)
	if err != nil {
		return err
	}
	l, err := d.ViewLease(c.Context, id)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, l)
	}
	return printLease(c.App.Writer, &l, at)
}

func updateLease(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "lease's id")
	if err != nil {
		return err
	}
	l, err := d.ViewLease(c.Context, id)
	if err != nil {
		return err
	}
	change, err := leaseChange(c, &l)
	if err != nil {
		return err
	}
	if l, err = d.ChangeLease(c.Context, id, change); err != nil {
		return err
	}
	return terminal.Say(c, l, "lease %s is changed: %s", l.ID, heldText(&l))
}

func deleteLease(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "lease's id")
	if err != nil {
		return err
	}
	if err := d.DeleteLease(c.Context, id); err != nil {
		return err
	}
	return terminal.Say(c, map[string]any{"lease": id}, "lease %s is deleted, or ends now if it was active", id)
}

// holders are who uses a lease, for people.
func holders(l *core.Lease) string {
	all := slices.Clone(l.Submitters)
	if l.Class != "" {
		all = append([]string{"class " + l.Class}, all...)
	}
	return terminal.Clean(strings.Join(all, ", "))
}

// stateText is a lease's state with its flag.
func stateText(l *core.Lease) string {
	if l.Degraded() {
		return string(l.State) + ", degraded"
	}
	return string(l.State)
}

// utcFlag is that of the zone of a lease's times, which are the same for all who look.
func utcFlag() cli.Flag {
	return &cli.StringFlag{Name: "time-zone", Value: "UTC", Usage: "times are read and shown in `ZONE`, such as Europe/Berlin"}
}

// wholeMinute rounds up to a minute: the times of leases have no seconds.
func wholeMinute(ms int64) int64 {
	const minute = int64(time.Minute / time.Millisecond)
	return (ms + minute - 1) / minute * minute
}
