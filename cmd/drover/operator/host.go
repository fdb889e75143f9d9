// Package operator has the commands of operators: hosts, pools, VMs, images, webhooks and the audit log.
package operator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/cmd/drover/wiring"
	"drover/core"
)

// HostCommand is drover host.
func HostCommand() *cli.Command {
	return &cli.Command{
		Name: "host", Usage: "list and drain hosts, and report their failures", OnUsageError: terminal.UsageError,
		Subcommands: []*cli.Command{
			access.ClusterCommand("list", "list hosts and what runs on them", "", nil, listHosts),
			access.ClusterCommand("show", "show a host", "HOST", nil, showHost),
			access.ChangesCommand("list what happened to a host, newest first", "HOST", access.ChangesOf(core.EntityHost)),
			setHostCommand(),
			drainCommand(),
			access.ClusterCommand("undrain", "allow a drained host to take work again", "HOST", nil, undrainHost),
			reportCommand(),
			access.ClusterCommand("trust", "end a host's probation", "HOST", nil, trustHost),
			access.ClusterCommand("evacuations", "list requests that move or moved off a host, unfinished moves first", "[HOST]", nil, listEvacuations),
			hostTokenCommand(),
			hostGroupCommand(),
			instanceCommand(),
			wiring.RunHostCommand(),
			access.ClusterCommand("forget", "remove a host that is down for good", "HOST", nil, forgetHost),
		},
	}
}

func listHosts(c *cli.Context, h *access.Cluster) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	hosts, err := h.Redis.ListHosts(c.Context)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, terminal.OrEmpty(hosts))
	}
	rows := make([]table.Row, len(hosts))
	for i, host := range hosts {
		rows[i] = table.Row{
			host.Name, hostState(host), lateness(h.Now(), host.Deadline), host.CPU, terminal.Size(host.Memory), freeNow(host), Counts(host.VMs), strings.Join(host.Owners, " "),
		}
	}
	return terminal.PrintTable(c.App.Writer, "no hosts: start components with drover up, or drover vmfactory and drover testrunner",
		table.Row{"host", "state", "heartbeat", "cpus", "memory", "free now", "vms", "owners"}, rows)
}

func hostState(h core.HostInfo) string {
	state := string(h.State)
	if h.Drain {
		state += ", drained" + DrainDeadline(h.DrainUntil)
	}
	if h.Failed != nil {
		state += fmt.Sprintf(", reported failed by %s%s", terminal.Clean(h.Failed.By), terminal.Prefixed(": ", terminal.Clean(h.Failed.Reason)))
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

// freeNow formats what the host measured.
func freeNow(h core.HostInfo) string {
	if h.Load == nil {
		return "-"
	}
	return fmt.Sprintf("%s cpus, %s", cpuText(h.Load.Free.CPU), terminal.Size(h.Load.Free.Memory))
}

// lateness says whether a heartbeat is due, now by the clock of Redis, which set the time.
func lateness(now time.Time, deadline int64) string {
	late := now.Sub(time.UnixMilli(deadline))
	if late <= 0 {
		return "in time"
	}
	return "late by " + late.Round(100*time.Millisecond).String()
}

// Counts formats the number of each state; "" for none.
func Counts[K ~string](m map[K]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%d %s", m[k], k))
	}
	return strings.Join(parts, ", ")
}

func forgetHost(c *cli.Context, h *access.Cluster) error {
	host, err := terminal.OneArg(c, "host")
	if err != nil {
		return err
	}
	if err := h.Operate().Forget(c.Context, access.Operator(), host); err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, map[string]any{"host": host, "forgotten": true})
	}
	_, err = fmt.Fprintf(c.App.Writer, "host %s is forgotten\n", host)
	return err
}
