package access

import (
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/terminal"
	"drover/core"
)

// ChangesCommand describes a subcommand that lists the changes of state of one thing.
func ChangesCommand(usage, args string, read func(c *cli.Context, h *Cluster, thing, before string, limit int) ([]core.StateChange, error)) *cli.Command {
	return ClusterCommand("history", usage, args, []cli.Flag{
		&cli.StringFlag{Name: "before", Usage: "the page after the one that ended with the change at `PLACE`"},
		&cli.IntFlag{Name: "limit", Usage: "most to list, 1 to 1000", Value: 50},
	}, func(c *cli.Context, h *Cluster) error {
		thing, err := terminal.OneArg(c, args)
		if err != nil {
			return err
		}
		all, err := read(c, h, thing, c.String("before"), c.Int("limit"))
		if err != nil {
			return err
		}
		return terminal.Page[core.StateChange]{
			Empty:  "nothing is known of " + terminal.Clean(thing) + ": it is too old, or its name is wrong",
			Header: table.Row{"when", "state", "what", "by", "with", "why"}, Row: changeRow,
			Cursor: "before", Last: func(s *core.StateChange) string { return s.Place() },
		}.Print(c, all)
	})
}

func changeRow(s *core.StateChange) table.Row {
	if s.Kind == core.EntityGap {
		return table.Row{moment(s.At), "gap", "changes may be missing until " + moment(s.Until), "", "", terminal.Clean(s.Why)}
	}
	return table.Row{moment(s.At), s.State, terminal.Clean(s.How), terminal.Clean(s.By), terminal.Clean(s.With), terminal.Clean(s.Why)}
}

func moment(ms int64) string { return time.UnixMilli(ms).Format("2006-01-02 15:04:05.000") }

// ChangesOf reads the changes of a VM or host.
func ChangesOf(kind core.Entity) func(c *cli.Context, h *Cluster, thing, before string, limit int) ([]core.StateChange, error) {
	return func(c *cli.Context, h *Cluster, thing, before string, limit int) ([]core.StateChange, error) {
		if err := core.CheckName(string(kind), thing); err != nil {
			return nil, err
		}
		return h.Operate().Changes(c.Context, Operator(), core.StateChangeFilter{Kind: kind, Thing: thing, Before: before, Limit: limit})
	}
}

// ChangesOfRequest reads the changes of all generations of a request.
func ChangesOfRequest(c *cli.Context, h *Cluster, id, before string, limit int) ([]core.StateChange, error) {
	return h.Operate().RequestChanges(c.Context, Operator(), id, before, limit)
}
