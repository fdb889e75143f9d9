package main

import (
	"fmt"
	"io"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/urfave/cli/v2"

	"drover/core"
	"drover/core/cluster/operate"
	"drover/overseer"
)

func drainCommand() *cli.Command {
	drain := clientCommand("drain", "let a host take no new work", "HOST", []cli.Flag{
		&cli.DurationFlag{Name: "deadline", Usage: "what it still has in hand after `TIME`, such as 10m, goes to other hosts; without, it finishes all", DefaultText: "none"},
		&cli.BoolFlag{Name: "preview", Usage: "change nothing; say where what it has in hand would go now", DisableDefaultText: true},
	}, drainHost)
	drain.Description = "What moves begins anew on another host and loses no attempt. Requests whose policy on the loss of a host is to fail\n" +
		"are not run twice, so they stay until they end. An overseer moves what is to move."
	return drain
}

func drainHost(c *cli.Context, h *cluster) error {
	host, err := oneArg(c, "host")
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
	if err := h.operate().Drain(c.Context, operator(), host, deadline); err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(c.App.Writer, map[string]any{"host": host, "drain": true, "deadline_ns": deadline})
	}
	text := "what it has in hand it finishes"
	if deadline > 0 {
		text = fmt.Sprintf("what it still has in submit %s, an overseer moves to other hosts", deadline)
	}
	_, err = fmt.Fprintf(c.App.Writer, "host %s takes no new work; %s\n", host, text)
	return err
}

func undrainHost(c *cli.Context, h *cluster) error {
	host, err := oneArg(c, "host")
	if err != nil {
		return err
	}
	if err := h.operate().Undrain(c.Context, operator(), host); err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(c.App.Writer, map[string]any{"host": host, "drain": false})
	}
	_, err = fmt.Fprintf(c.App.Writer, "host %s takes work again\n", host)
	return err
}

// previewDrain says where what a host has in hand would go.
func previewDrain(c *cli.Context, h *cluster, host string) error {
	if _, err := h.operate().Host(c.Context, operator(), host); err != nil {
		return err
	}
	log, err := newLog(h.cfg, io.Discard)
	if err != nil {
		return err
	}
	o, _, err := newOverseer(surroundings{cluster: h, log: log, metrics: prometheus.NewRegistry()})
	if err != nil {
		return err
	}
	plan, err := o.Preview(c.Context, host)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(c.App.Writer, orEmpty(plan))
	}
	rows := make([]table.Row, len(plan))
	for i, p := range plan {
		rows[i] = table.Row{p.Request, p.Pool, p.Priority, needs(p), p.From, "→ " + destination(p)}
	}
	return printTable(c.App.Writer, fmt.Sprintf("host %s has nothing in hand", host),
		table.Row{"request", "pool", "priority", "needs", "from", "to"}, rows)
}

// needs says what a planned request's VM takes of a host.
func needs(p overseer.Planned) string {
	text := size(p.Memory) + " memory, " + size(p.Disk) + " disk"
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

// drainDeadline says when a drained host gives up what it has in hand.
func drainDeadline(until int64) string {
	if until == 0 {
		return ""
	}
	if left := time.Until(time.UnixMilli(until)); left > 0 {
		return fmt.Sprintf(", gives up what it has in %s", left.Round(time.Second))
	}
	return ", gives up what it has"
}
