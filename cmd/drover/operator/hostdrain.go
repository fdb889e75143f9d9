package operator

import (
	"fmt"
	"io"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/cmd/drover/wiring"
	"drover/core"
	"drover/core/cluster/operate"
	"drover/overseer"
)

func drainCommand() *cli.Command {
	drain := access.ClusterCommand("drain", "stop a host from taking new work", "HOST", []cli.Flag{
		&cli.DurationFlag{Name: "deadline", Usage: "requests still running after `TIME`, such as 10m, move to other hosts; without it, all finish here", DefaultText: "none"},
		&cli.BoolFlag{Name: "preview", Usage: "change nothing; say where its requests would go now", DisableDefaultText: true},
	}, drainHost)
	drain.Description = "What moves begins anew on another host and loses no attempt. Requests whose policy on the loss of a host is to fail\n" +
		"are not run twice, so they stay until they end. An overseer moves what is to move."
	return drain
}

func drainHost(c *cli.Context, h *access.Cluster) error {
	host, err := terminal.OneArg(c, "host")
	if err != nil {
		return err
	}
	deadline := c.Duration("deadline")
	if c.IsSet("deadline") && deadline < operate.AtOnce {
		return core.Errorf(core.CodeInvalid, "deadline", "--deadline %s must be at least %s; leave it out to let the host finish all", deadline, operate.AtOnce)
	}
	if c.Bool("preview") {
		return previewDrain(c, h, host)
	}
	if err := h.Operate().Drain(c.Context, access.Operator(), host, deadline); err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, map[string]any{"host": host, "drain": true, "deadline_ns": deadline})
	}
	text := "what it has in hand it finishes"
	if deadline > 0 {
		text = fmt.Sprintf("what it still has after %s, an overseer moves to other hosts", deadline)
	}
	_, err = fmt.Fprintf(c.App.Writer, "host %s takes no new work; %s\n", host, text)
	return err
}

func undrainHost(c *cli.Context, h *access.Cluster) error {
	host, err := terminal.OneArg(c, "host")
	if err != nil {
		return err
	}
	if err := h.Operate().Undrain(c.Context, access.Operator(), host); err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, map[string]any{"host": host, "drain": false})
	}
	_, err = fmt.Fprintf(c.App.Writer, "host %s takes work again\n", host)
	return err
}

// previewDrain prints where the work of a host would go.
func previewDrain(c *cli.Context, h *access.Cluster, host string) error {
	if _, err := h.Operate().Host(c.Context, access.Operator(), host); err != nil {
		return err
	}
	log, err := terminal.NewLog(h.Config, io.Discard)
	if err != nil {
		return err
	}
	o, _, err := wiring.NewOverseer(wiring.Surroundings{Cluster: h, Log: log})
	if err != nil {
		return err
	}
	plan, err := o.Preview(c.Context, host)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, terminal.OrEmpty(plan))
	}
	rows := make([]table.Row, len(plan))
	for i, p := range plan {
		rows[i] = table.Row{p.Request, p.Pool, p.Priority, needs(p), p.From, "→ " + destination(p)}
	}
	return terminal.PrintTable(c.App.Writer, fmt.Sprintf("host %s has nothing in hand", host),
		table.Row{"request", "pool", "priority", "needs", "from", "to"}, rows)
}

// needs formats what a planned request's VM takes of a host.
func needs(p overseer.Planned) string {
	text := terminal.Size(p.Memory) + " memory"
	if p.Disk > 0 {
		text += ", " + terminal.Size(p.Disk) + " disk"
	}
	if p.CPU > 0 {
		text = fmt.Sprintf("%g cpu, ", float64(p.CPU)/1000) + text
	}
	return text
}

func destination(p overseer.Planned) string {
	switch {
	case p.Stays:
		return "stays: it is not to run twice"
	case p.To == "":
		return "parked: nothing fits"
	}
	return p.To
}

// DrainDeadline formats when a drained host gives up its remaining work.
func DrainDeadline(until int64) string {
	if until == 0 {
		return ""
	}
	if left := time.Until(time.UnixMilli(until)); left > 0 {
		return fmt.Sprintf(", gives up what it has in %s", left.Round(time.Second))
	}
	return ", gives up what it has"
}
