package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/cluster/simulate"
)

// maxGoals bounds the goals that are tried at once.
const maxGoals = 20

// simulatedGroup are the flags of a host group whose goal is to be found.
func simulatedGroup() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "goals", Usage: "replay it with a host group beside --hosts, once for each goal of the group, and recommend one: `TIMES` such as 15s,1m,5m"},
		&cli.IntFlag{Name: "group-min", Usage: "hosts of the group that are always there"},
		&cli.IntFlag{Name: "group-max", Value: 10, Usage: "most hosts of the group"},
		&cli.DurationFlag{Name: "boot", Value: 2 * time.Minute, Usage: "time from the order of a machine until its host takes work"},
		&cli.DurationFlag{Name: "idle-after", Value: core.DefaultIdleAfter, Usage: "the group ends a host that had nothing to do for a `TIME`"},
		&cli.DurationFlag{Name: "cooldown", Value: core.DefaultCooldown, Usage: "the group ends none for a `TIME` after one was made"},
		&cli.Float64Flag{Name: "machine-cost", Usage: "cost of one of the group's machines an hour, in your currency"},
		&cli.DurationFlag{Name: "within", Value: time.Minute, Usage: "recommend the cheapest goal with which 95 of 100 requests wait at most a `TIME`"},
	}
}

// groupOf is the group that flags describe: its machines are as large as the other hosts.
func groupOf(c *cli.Context) (*simulate.Group, error) {
	g := &simulate.Group{Boot: c.Duration("boot"), Slots: c.Int("slots"), HostGroup: core.HostGroup{
		Name: "group", Provider: core.CloudCommand, Min: c.Int("group-min"), Max: c.Int("group-max"), IdleAfter: c.Duration("idle-after"), Cooldown: c.Duration("cooldown"),
	}}
	size, err := simulatedSize(c)
	if err != nil {
		return nil, err
	}
	cost := c.Float64("machine-cost")
	if !(cost >= 0 && cost < 1e6) {
		return nil, core.Errorf(core.CodeInvalid, "machine-cost", "--machine-cost %g must be between 0 and a million", cost)
	}
	g.Types = []core.MachineType{{Name: "machine", Size: size, Cores: c.Int("cpus"), Cost: int64(math.Round(cost * 1e6))}}
	return g, nil
}

// readGoals reads the goals to be tried, in order.
func readGoals(text string) ([]time.Duration, error) {
	var goals []time.Duration
	for _, part := range strings.Split(text, ",") {
		goal, err := time.ParseDuration(strings.TrimSpace(part))
		if err != nil || goal < core.MinGroupTime || goal > core.MaxGroupTime {
			return nil, core.Errorf(core.CodeInvalid, "goals", "--goals: %.40q is no time between %s and %s; name some such as 15s,1m,5m", part, core.MinGroupTime, core.MaxGroupTime)
		}
		goals = append(goals, goal)
	}
	slices.Sort(goals)
	if goals = slices.Compact(goals); len(goals) > maxGoals {
		return nil, core.Errorf(core.CodeInvalid, "goals", "--goals: %d are too many to try at once, at most %d", len(goals), maxGoals)
	}
	return goals, nil
}

// tuneGoal replays a trace with each goal of a group, and recommends one.
func tuneGoal(c *cli.Context, name string, trace simulate.Trace, s simulate.Settings) error {
	if c.Bool("compare") || c.String("svg") != "" {
		return core.Errorf(core.CodeInvalid, "goals", "--goals goes with neither --compare nor --svg")
	}
	goals, err := readGoals(c.String("goals"))
	if err != nil {
		return err
	}
	if s.Group, err = groupOf(c); err != nil {
		return err
	}
	all, err := simulate.Goals(trace, s, goals)
	if err != nil {
		return err
	}
	best := all[simulate.Recommend(all, c.Duration("within"))]
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, map[string]any{"trace": name, "goals": all, "recommended_ns": best.Goal})
	}
	rows := make([]table.Row, len(all))
	for i, one := range all {
		r, m := &one.Report, one.Report.Machines
		rows[i] = table.Row{one.Goal, terminal.Rounded(r.Wait.P50), terminal.Rounded(r.Wait.P95), terminal.Rounded(r.Wait.P99), terminal.Rounded(r.Wait.Most), m.Made, m.Most, fmt.Sprintf("%.1f", m.Hours), fmt.Sprintf("%.2f", float64(m.Cost)/1e6)}
	}
	header := table.Row{"goal", "wait p50", "p95", "p99", "longest", "machines made", "at once", "machine-hours", "cost"}
	if err := terminal.PrintTable(c.App.Writer, "", header, rows); err != nil {
		return err
	}
	within := c.Duration("within")
	text := fmt.Sprintf("recommended: --goal %s, the cheapest with which 95 of 100 requests wait at most %s", best.Goal, within)
	if best.Report.Wait.P95 > within.Milliseconds() {
		text = fmt.Sprintf("with none do 95 of 100 requests wait at most %s; the shortest waits: --goal %s. More hosts that are always there (--group-min), or a shorter --boot, help", within, best.Goal)
	}
	_, err = fmt.Fprintf(c.App.Writer, "\n%s\n", text)
	return err
}
