package main

import (
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/core"
)

func vmCommand() *cli.Command {
	return &cli.Command{
		Name: "vm", Usage: "look at VMs", OnUsageError: usageError,
		Subcommands: []*cli.Command{
			clientCommand("list", "list VMs", "", []cli.Flag{
				&cli.StringFlag{Name: "on", Usage: "only those of host `HOST`"},
			}, listVMs),
		},
	}
}

func listVMs(c *cli.Context, h *cluster) error {
	if err := noArgs(c); err != nil {
		return err
	}
	host, none := c.String("on"), "no VMs: is a vmfactory running? see drover host list"
	if host != "" {
		if err := core.CheckName("host", host); err != nil {
			return err
		}
		none = "no VMs on host " + host + ": is its vmfactory running? see drover host list"
	}
	vms, err := h.redis.ListVMs(c.Context, host)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(c.App.Writer, orEmpty(vms))
	}
	rows := make([]table.Row, len(vms))
	for i, vm := range vms {
		rows[i] = table.Row{vm.ID, vm.Host, vm.Pool, vm.State, since(vm.Since), vm.Owner, firstLine(vm.Note)}
	}
	return printTable(c.App.Writer, none,
		table.Row{"vm", "host", "pool", "state", "made", "held by", "note"}, rows)
}

// orEmpty makes JSON of an empty list [] instead of null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
