package operator

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/cluster/operate"
)

func hostGroupCommand() *cli.Command {
	return &cli.Command{
		Name: "group", Usage: "list, make and change host groups, whose machines are made when work waits", OnUsageError: terminal.UsageError,
		Subcommands: []*cli.Command{
			access.BackendCommand("list", "list host groups and their machines", "", "drover host group list", nil, listGroups),
			access.BackendCommand("show", "show all settings of a host group", "GROUP", "drover host group show burst", nil, showGroup),
			access.BackendCommand("set", "make a host group, or change its named settings", "GROUP", "drover host group set --max 10 burst", groupFlags(), setGroup),
			access.BackendCommand("pause", "make and end no machines of a host group", "GROUP", "drover host group pause burst", nil, pauseGroup(true)),
			access.BackendCommand("resume", "make and end machines of a paused host group again", "GROUP", "drover host group resume burst", nil, pauseGroup(false)),
			access.BackendCommand("remove", "remove a host group that has no machines any more", "GROUP", "drover host group remove burst", nil, removeGroup),
		},
	}
}

func groupFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "provider", Usage: "who makes its machines: `PROVIDER` " + strings.Join(core.CloudProviders(), ", ")},
		&cli.StringFlag{Name: "profile", Usage: "what the provider needs to know: the JSON in `FILE`"},
		&cli.StringFlag{Name: "types", Usage: "machines to choose from: the JSON list in `FILE`; '' for those of --cpu, --host-memory and --host-disk"},
		&cli.Float64Flag{Name: "cpu", Usage: "processors of one of its hosts: `N`"},
		&cli.StringFlag{Name: "host-memory", Usage: "memory of one of its hosts: `SIZE`"},
		&cli.StringFlag{Name: "host-disk", Usage: "disk of one of its hosts: `SIZE`"},
		&cli.BoolFlag{Name: "spot", Usage: "take machines that their provider may take back; --spot=false for none", DisableDefaultText: true},
		&cli.StringFlag{Name: "label", Usage: "labels of its hosts, which pools may require: `NAME=VALUE,…`"},
		&cli.IntFlag{Name: "min", Usage: "hosts that are always there: `N`"},
		&cli.IntFlag{Name: "max", Usage: "most hosts: `N`"},
		&cli.IntFlag{Name: "max-cores", Usage: "most cores of all its hosts: `N`; 0 for any number"},
		&cli.DurationFlag{Name: "goal", Usage: "make hosts for pools whose requests are expected to wait longer than a `TIME`", DefaultText: core.DefaultGoal.String()},
		&cli.DurationFlag{Name: "idle-after", Usage: "drain a host that had nothing to do for a `TIME`", DefaultText: core.DefaultIdleAfter.String()},
		&cli.DurationFlag{Name: "cooldown", Usage: "drain none for a `TIME` after one was made", DefaultText: core.DefaultCooldown.String()},
		&cli.DurationFlag{Name: "join-within", Usage: "end a machine whose host has not registered after a `TIME`", DefaultText: core.DefaultJoinWithin.String()},
		&cli.DurationFlag{Name: "drain-for", Usage: "how long a host that is to end may finish its work: a `TIME`", DefaultText: core.DefaultDrainFor.String()},
	}
}

func setGroup(c *cli.Context, d access.Backend) error {
	name, err := terminal.OneArg(c, "host group's name")
	if err != nil {
		return err
	}
	had, err := d.ViewHostGroup(c.Context, name)
	g := had.HostGroup
	if core.Is(err, core.CodeNotFound) {
		g, err = core.HostGroup{Name: name, Max: 1}, nil
	}
	if err != nil {
		return err
	}
	if err := applyGroupFlags(c, &g); err != nil {
		return err
	}
	if g, err = d.SetHostGroup(c.Context, g); err != nil {
		return err
	}
	return terminal.Say(c, g, "host group %s is set; drover host group show %s shows it", name, name)
}

func applyGroupFlags(c *cli.Context, g *core.HostGroup) error {
	for name, into := range map[string]*string{"provider": &g.Provider, "label": &g.Labels} {
		if c.IsSet(name) {
			*into = c.String(name)
		}
	}
	for name, into := range map[string]*int{"min": &g.Min, "max": &g.Max, "max-cores": &g.MaxCores} {
		if c.IsSet(name) {
			*into = c.Int(name)
		}
	}
	for name, into := range map[string]*time.Duration{
		"goal": &g.Goal, "idle-after": &g.IdleAfter, "cooldown": &g.Cooldown, "join-within": &g.JoinWithin, "drain-for": &g.DrainFor,
	} {
		if c.IsSet(name) {
			*into = c.Duration(name)
		}
	}
	if c.IsSet("spot") {
		g.Spot = c.Bool("spot")
	}
	if c.IsSet("cpu") {
		g.Size.CPU = int64(c.Float64("cpu") * 1000)
	}
	for name, into := range map[string]*int64{"host-memory": &g.Size.Memory, "host-disk": &g.Size.Disk} {
		if err := terminal.SizeFlag(c, name, into); err != nil {
			return err
		}
	}
	if c.IsSet("profile") {
		text, err := readJSONFile(c.String("profile"))
		if err != nil {
			return err
		}
		g.Profile = text
	}
	if c.IsSet("types") {
		g.Types = nil
		if path := c.String("types"); path != "" {
			text, err := readJSONFile(path)
			if err != nil {
				return err
			}
			if err := json.Unmarshal(text, &g.Types); err != nil {
				return core.Wrap(err, core.CodeInvalid, path, "%s is no list of machine types", path)
			}
		}
	}
	return nil
}

// readJSONFile reads a small file that must be JSON.
func readJSONFile(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, path, "%s cannot be read", path)
	}
	if len(text) > core.MaxProfileBytes || !json.Valid(text) {
		return nil, core.Errorf(core.CodeInvalid, path, "%s is no JSON of at most %d bytes", path, core.MaxProfileBytes)
	}
	return text, nil
}

func listGroups(c *cli.Context, d access.Backend) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	all, err := d.ListHostGroups(c.Context)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, terminal.OrEmpty(all))
	}
	rows := make([]table.Row, len(all))
	for i, g := range all {
		rows[i] = table.Row{g.Name, g.Provider, fmt.Sprintf("%d to %d", g.Min, g.Max), Counts(g.Counts), g.Labels, terminal.PausedWord(g.Paused)}
	}
	return terminal.PrintTable(c.App.Writer, "no host groups: make one with drover host group set NAME", table.Row{"group", "provider", "hosts", "machines", "labels", ""}, rows)
}

func showGroup(c *cli.Context, d access.Backend) error {
	name, err := terminal.OneArg(c, "host group's name")
	if err != nil {
		return err
	}
	g, err := d.ViewHostGroup(c.Context, name)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, g)
	}
	return terminal.PrintTable(c.App.Writer, "", table.Row{"setting", "value"}, groupRows(g))
}

func groupRows(g operate.Group) []table.Row {
	full := g.Filled()
	rows := []table.Row{
		{"group", g.Name},
		{"provider", g.Provider},
		{"hosts", fmt.Sprintf("%d to %d", g.Min, g.Max)},
		{"machines", Counts(g.Counts)},
		{"labels", g.Labels},
		{"spot", g.Spot},
		{"paused", g.Paused},
	}
	for _, m := range g.Kinds() {
		rows = append(rows, table.Row{strings.TrimSpace("machine " + m.Name), fmt.Sprintf("%s cpus, %s, disk %s", cpuText(m.Size.CPU), terminal.Size(m.Size.Memory), terminal.Size(m.Size.Disk))})
	}
	if g.MaxCores > 0 {
		rows = append(rows, table.Row{"most cores", g.MaxCores})
	}
	return append(rows, table.Row{"goal", full.Goal}, table.Row{"idle after", full.IdleAfter}, table.Row{"cooldown", full.Cooldown},
		table.Row{"join within", full.JoinWithin}, table.Row{"drain for", full.DrainFor}, table.Row{"profile", terminal.Clean(string(g.Profile))})
}

func pauseGroup(paused bool) func(c *cli.Context, d access.Backend) error {
	return func(c *cli.Context, d access.Backend) error {
		name, err := terminal.OneArg(c, "host group's name")
		if err != nil {
			return err
		}
		if err := d.PauseHostGroup(c.Context, name, paused); err != nil {
			return err
		}
		is := "makes and ends machines again"
		if paused {
			is = "is paused"
		}
		return terminal.Say(c, map[string]any{"group": name, "paused": paused}, "host group %s %s", name, is)
	}
}

func removeGroup(c *cli.Context, d access.Backend) error {
	name, err := terminal.OneArg(c, "host group's name")
	if err != nil {
		return err
	}
	if err := d.RemoveHostGroup(c.Context, name); err != nil {
		return err
	}
	return terminal.Say(c, map[string]any{"group": name, "removed": true}, "host group %s is removed", name)
}
