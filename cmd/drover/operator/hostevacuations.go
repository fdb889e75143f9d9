package operator

import (
	"cmp"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
)

func listEvacuations(c *cli.Context, h *access.Cluster) error {
	if c.NArg() > 1 {
		return core.Errorf(core.CodeInvalid, "", "%s takes at most one argument, the host", c.Command.HelpName)
	}
	moves, err := h.Redis.Evacuations(c.Context)
	if err != nil {
		return err
	}
	if host := c.Args().First(); host != "" {
		if err := core.CheckName("host", host); err != nil {
			return err
		}
		moves = slices.DeleteFunc(moves, func(m core.Evacuation) bool { return m.From != host && m.To != host })
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, terminal.OrEmpty(moves))
	}
	rows := make([]table.Row, len(moves))
	for i, m := range moves {
		rows[i] = table.Row{m.Key, m.State, m.From, cmp.Or(m.To, "-"), terminal.Since(m.Scheduled), tookToMove(m), terminal.Clean(m.Why)}
	}
	return terminal.PrintTable(c.App.Writer, "no requests moved lately",
		table.Row{"request", "state", "from", "to", "began", "in hand again after", "why"}, rows)
}

// tookToMove formats how long a request was in no slot.
func tookToMove(m core.Evacuation) string {
	if m.Accepted == 0 {
		return "-"
	}
	return (time.Duration(m.Accepted-m.Scheduled) * time.Millisecond).String()
}
