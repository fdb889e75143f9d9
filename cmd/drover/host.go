package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/core"
)

func hostCommand() *cli.Command {
	return &cli.Command{
		Name: "host", Usage: "look at hosts, drain them, and say how they fare", OnUsageError: usageError,
		Subcommands: []*cli.Command{
			clientCommand("list", "list hosts and what runs on them", "", nil, listHosts),
			clientCommand("show", "show what is known of a host", "HOST", nil, showHost),
			drainCommand(),
			clientCommand("undrain", "let a drained host take work again", "HOST", nil, undrainHost),
			reportCommand(),
			clientCommand("trust", "end a host's probation", "HOST", nil, trustHost),
			clientCommand("evacuations", "list requests that moved or are to move off a host, those under way first", "[HOST]", nil, listEvacuations),
			clientCommand("forget", "remove a host that is down for good", "HOST", nil, forgetHost),
		},
	}
}

func listHosts(c *cli.Context, h *cluster) error {
	if err := noArgs(c); err != nil {
		return err
	}
	hosts, err := h.redis.ListHosts(c.Context)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(c.App.Writer, orEmpty(hosts))
	}
	rows := make([]table.Row, len(hosts))
	for i, host := range hosts {
		rows[i] = table.Row{
			host.Name, hostState(host), lateness(host.Deadline), host.CPU, size(host.Memory), counts(host.VMs), strings.Join(host.Owners, " "),
		}
	}
	return printTable(c.App.Writer, "no hosts: start components with drover up, or drover vmfactory and drover testrunner",
		table.Row{"host", "state", "heartbeat", "cpus", "memory", "vms", "owners"}, rows)
}

func hostState(h core.HostInfo) string {
	state := string(h.State)
	if h.Drain {
		state += ", drained" + drainDeadline(h.DrainUntil)
	}
	if h.Failed != nil {
		state += fmt.Sprintf(", reported failed by %s%s", clean(h.Failed.By), prefixed(": ", clean(h.Failed.Reason)))
	}
	if h.Probation != nil {
		state += fmt.Sprintf(", on probation (%d of %d)", h.Probation.Good, h.Probation.Needed)
	}
	if !h.Ready {
		state += ", not reconciled yet"
	}
	if len(h.Fetching) > 0 {
		state += ", downloading for " + strings.Join(slices.Sorted(maps.Keys(h.Fetching)), " ")
	}
	if len(h.Broken) > 0 {
		state += ", cannot make VMs of " + strings.Join(slices.Sorted(maps.Keys(h.Broken)), " ")
	}
	return state
}

// lateness says whether a heartbeat is due.
func lateness(deadline int64) string {
	late := time.Since(time.UnixMilli(deadline))
	if late <= 0 {
		return "in time"
	}
	return "late by " + late.Round(100*time.Millisecond).String()
}

// counts lists how many there are of each state; "" for none.
func counts[K ~string](m map[K]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%d %s", m[k], k))
	}
	return strings.Join(parts, ", ")
}

func forgetHost(c *cli.Context, h *cluster) error {
	host, err := oneArg(c, "host")
	if err != nil {
		return err
	}
	if err := h.operate().Forget(c.Context, operator(), host); err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(c.App.Writer, map[string]any{"host": host, "forgotten": true})
	}
	_, err = fmt.Fprintf(c.App.Writer, "host %s is forgotten\n", host)
	return err
}
