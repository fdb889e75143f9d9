package operator

import (
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
)

// AuditCommand shows who did what.
func AuditCommand() *cli.Command {
	return access.UserCommand("audit", "show who did what: the audit log, newest first", "", "drover audit --class cs101 --actor tom", slices.Concat([]cli.Flag{
		&cli.StringFlag{Name: "class", Usage: "only what was done in the class `HANDLE`; its teachers may see that"},
		&cli.StringFlag{Name: "actor", Usage: "only what the user `HANDLE` did"},
		&cli.StringFlag{Name: "subject", Usage: "only what was done to `NAME`, such as cs101/hw1, cs101/hw1/ann, or a user"},
		terminal.ZoneFlag(),
	}, terminal.PageFlags("before", "entry `ID`")), listAuditEntries)
}

func listAuditEntries(c *cli.Context, s *access.Session) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	at, err := terminal.Zone(c)
	if err != nil {
		return err
	}
	limit, err := terminal.LimitFlag(c)
	if err != nil {
		return err
	}
	all, err := s.Reg.AuditEntries(c.Context, s.Actor, core.AuditFilter{
		Class: c.String("class"), Actor: c.String("actor"), Subject: c.String("subject"), Before: c.String("before"), Limit: limit,
	})
	if err != nil {
		return err
	}
	return terminal.Page[core.AuditEntry]{
		Empty: "nothing was done", Header: table.Row{"when", "who", "what"},
		Row: func(d *core.AuditEntry) table.Row {
			return table.Row{time.UnixMilli(d.At).In(at).Format("2006-01-02 15:04:05 MST"), d.Actor, terminal.Clean(d.Text)}
		},
		Cursor: "before", Last: func(d *core.AuditEntry) string { return d.ID },
	}.Print(c, all)
}
