package operator

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
)

func reportCommand() *cli.Command {
	report := access.ClusterCommand("report", "report that a host has failed or recovered", "HOST failed|recovered", []cli.Flag{
		&cli.StringFlag{Name: "reason", Usage: "why: a `TEXT` for operators"},
		&cli.StringFlag{Name: "by", Usage: "`WHO` says so", DefaultText: "who you are"},
	}, reportHost)
	report.Description = "A host that failed gets no work, and what it has in hand goes elsewhere at once, though its owners may still prove\n" +
		"their lives. It stays so until it is reported recovered. The report waits in Redis for an overseer whose monitors have report."
	return report
}

func reportHost(c *cli.Context, h *access.Cluster) error {
	if c.NArg() != 2 {
		return core.Errorf(core.CodeInvalid, "", "%s takes two arguments, the host and failed or recovered", c.Command.HelpName)
	}
	r := core.HostReport{Host: c.Args().Get(0), Event: core.HostEvent(c.Args().Get(1)), Reason: c.String("reason"), By: c.String("by")}
	if r.By == "" {
		r.By = access.Person()
	}
	if err := h.Operate().Report(c.Context, access.Operator(), r); err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, r)
	}
	_, err := fmt.Fprintf(c.App.Writer, "it is reported that host %s %s; an overseer acts on it\n", r.Host, map[core.HostEvent]string{
		core.HostFailed: "failed", core.HostRecovered: "has recovered",
	}[r.Event])
	return err
}

func trustHost(c *cli.Context, h *access.Cluster) error {
	host, err := terminal.OneArg(c, "host")
	if err != nil {
		return err
	}
	if err := h.Operate().Trust(c.Context, access.Operator(), host); err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, map[string]any{"host": host, "trusted": true})
	}
	_, err = fmt.Fprintf(c.App.Writer, "host %s is trusted\n", host)
	return err
}
