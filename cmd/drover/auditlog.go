package main

import (
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/core"
)

// auditCommand shows who did what.
func auditCommand() *cli.Command {
	return userCommand("audit", "show who did what: the audit log, newest first", "", "drover audit --class cs101 --actor tom", slices.Concat([]cli.Flag{
		&cli.StringFlag{Name: "class", Usage: "only what was done in the class `HANDLE`; its teachers may see that"},
		&cli.StringFlag{Name: "actor", Usage: "only what the user `HANDLE` did"},
		&cli.StringFlag{Name: "subject", Usage: "only what was done to `NAME`, such as cs101/hw1, cs101/hw1/ann, or a user"},
		zoneFlag(),
	}, pageFlags("before", "entry `ID`")), listAuditEntries)
}

func listAuditEntries(c *cli.Context, s *session) error {
	if err := noArgs(c); err != nil {
		return err
	}
	at, err := zone(c)
	if err != nil {
		return err
	}
	limit, err := limitFlag(c)
	if err != nil {
		return err
	}
	all, err := s.reg.AuditEntries(c.Context, s.actor, core.AuditFilter{
		Class: c.String("class"), Actor: c.String("actor"), Subject: c.String("subject"), Before: c.String("before"), Limit: limit,
	})
	if err != nil {
		return err
	}
	return page[core.AuditEntry]{
		empty: "nothing was done", header: table.Row{"when", "who", "what"},
		row: func(d *core.AuditEntry) table.Row {
			return table.Row{time.UnixMilli(d.At).In(at).Format("2006-01-02 15:04:05 MST"), d.Actor, clean(d.Text)}
		},
		cursor: "before", last: func(d *core.AuditEntry) string { return d.ID },
	}.print(c, all)
}
