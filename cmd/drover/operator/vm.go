package operator

import (
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
)

// VMCommand is drover vm.
func VMCommand() *cli.Command {
	return &cli.Command{
		Name: "vm", Usage: "list VMs, and what happened to one", OnUsageError: terminal.UsageError,
		Subcommands: []*cli.Command{
			access.ClusterCommand("list", "list VMs", "", []cli.Flag{
				&cli.StringFlag{Name: "on", Usage: "only those of host `HOST`"},
			}, listVMs),
			access.ChangesCommand("list what happened to a VM, newest first, also after it is gone", "VM", access.ChangesOf(core.EntityVM)),
		},
	}
}

func listVMs(c *cli.Context, h *access.Cluster) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	host, none := c.String("on"), "no VMs: is a vmfactory running? see drover host list"
	if host != "" {
		if err := core.CheckName("host", host); err != nil {
			return err
		}
		none = "no VMs on host " + host + ": is its vmfactory running? see drover host list"
	}
	vms, err := h.Redis.ListVMs(c.Context, host)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, terminal.OrEmpty(vms))
	}
	rows := make([]table.Row, len(vms))
	for i, vm := range vms {
		rows[i] = table.Row{vm.ID, vm.Host, vm.Pool, vm.State, terminal.Since(vm.Since), vm.Owner, terminal.FirstLine(vm.Note)}
	}
	return terminal.PrintTable(c.App.Writer, none,
		table.Row{"vm", "host", "pool", "state", "made", "held by", "note"}, rows)
}
