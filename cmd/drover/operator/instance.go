package operator

import (
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
)

func instanceCommand() *cli.Command {
	return &cli.Command{
		Name: "instance", Usage: "list and end machines that were made for host groups", OnUsageError: terminal.UsageError,
		Subcommands: []*cli.Command{
			access.BackendCommand("list", "list machines, newest first", "", "drover host instance list", []cli.Flag{
				&cli.StringFlag{Name: "group", Usage: "only those of `GROUP`"},
				&cli.StringSliceFlag{Name: "state", Usage: "only those in `STATE`; repeatable"},
				&cli.IntFlag{Name: "limit", Usage: "at most `N`", Value: 50},
			}, listInstances),
			access.BackendCommand("show", "show a machine", "ID", "drover host instance show burst-000012", nil, showInstance),
			access.BackendCommand("terminate", "end a machine; its host finishes what it has in hand", "ID", "drover host instance terminate burst-000012", []cli.Flag{
				&cli.BoolFlag{Name: "now", Usage: "move its work to other hosts instead", DisableDefaultText: true},
			}, terminateInstance),
		},
	}
}

func listInstances(c *cli.Context, d access.Backend) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	f := core.InstanceFilter{Group: c.String("group"), Limit: c.Int("limit")}
	for _, s := range c.StringSlice("state") {
		f.States = append(f.States, core.InstanceState(s))
	}
	if f.Limit < 1 || f.Limit > 1000 {
		return core.Errorf(core.CodeInvalid, "limit", "--limit is 1 to 1000")
	}
	all, err := d.ListInstances(c.Context, f)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, terminal.OrEmpty(all))
	}
	rows := make([]table.Row, len(all))
	for i, one := range all {
		rows[i] = table.Row{one.ID, one.State, terminal.Since(one.Since), one.Type, terminal.Clean(one.Foreign), terminal.Clean(one.Why)}
	}
	return terminal.PrintTable(c.App.Writer, "no machines", table.Row{"instance", "state", "since", "type", "provider's name", "why"}, rows)
}

func showInstance(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "instance's id")
	if err != nil {
		return err
	}
	i, err := d.ViewInstance(c.Context, id)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, i)
	}
	rows := []table.Row{
		{"instance", i.ID},
		{"group", i.Group},
		{"state", i.State},
		{"why", terminal.Clean(i.Why)},
		{"since", terminal.Since(i.Since)},
		{"made", terminal.Since(i.Created)},
		{"joined", terminal.Since(i.Joined)},
		{"idle", terminal.Since(i.Idle)},
		{"type", i.Type},
		{"region", i.Region},
		{"provider's name", terminal.Clean(i.Foreign)},
		{"failed tries", i.Tries},
	}
	return terminal.PrintTable(c.App.Writer, "", table.Row{"field", "value"}, rows)
}

func terminateInstance(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "instance's id")
	if err != nil {
		return err
	}
	i, err := d.TerminateInstance(c.Context, id, c.Bool("now"))
	if err != nil {
		return err
	}
	return terminal.Say(c, i, "instance %s is %s", id, i.State)
}
