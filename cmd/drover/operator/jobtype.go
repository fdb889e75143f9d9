package operator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/harness"
)

// TypeCommand is drover type.
func TypeCommand() *cli.Command {
	return &cli.Command{
		Name: "type", Usage: "list, create, change and delete job types, which requests may name", OnUsageError: terminal.UsageError,
		Subcommands: []*cli.Command{
			access.ClusterCommand("list", "list job types", "", nil, listTypes),
			access.ClusterCommand("show", "show all settings of a job type", "TYPE", nil, showType),
			access.ClusterCommand("set", "create a job type, or change its named settings", "TYPE [-- CMD ARG...]", typeFlags(), setType),
			access.ClusterCommand("delete", "delete a job type; requests that named it are not affected", "TYPE", nil, deleteType),
		},
	}
}

func typeFlags() []cli.Flag {
	return slices.Concat(terminal.LimitFlags(), []cli.Flag{
		&cli.StringFlag{Name: "pool", Usage: "run its requests in VMs of `POOL`"},
		&cli.StringFlag{Name: "harness", Usage: "grade by the harness in the folder, or the tar or zip of one, `DIR`, in place of a command"},
		&cli.StringSliceFlag{Name: "env", Usage: "set `NAME=VALUE` for its requests, which may replace it; repeatable; the list replaces the former one"},
		&cli.StringSliceFlag{Name: "collect", Usage: "keep the file or folder `PATH` of the command's folder with the result; repeatable"},
		&cli.StringFlag{Name: "priority", Usage: "their priority, and the highest that they can ask for: `PRIORITY` high, normal or low"},
		&cli.StringSliceFlag{Name: "submitter", Usage: "only the user `NAME` may name it; repeatable; --submitter '' lets everybody who may make requests"},
	})
}

func setType(c *cli.Context, h *access.Cluster) error {
	name, command := c.Args().First(), c.Args().Tail()
	if name == "" {
		return core.Errorf(core.CodeInvalid, "", "which job type? drover type set TYPE [flags] [-- CMD ARG...]")
	}
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	service := h.Requests()
	t, err := service.JobType(c.Context, access.Operator(), name)
	if core.Is(err, core.CodeNotFound) {
		t, err = core.JobType{Name: name, Pool: access.DefaultPool, Priority: core.PriorityNormal}, nil
	}
	if err != nil {
		return err
	}
	if err := applyTypeFlags(c, &t); err != nil {
		return err
	}
	if len(command) > 0 {
		t.Command, t.Harness, t.Input = command, nil, nil
	}
	if t, err = service.SetJobType(c.Context, access.Operator(), t); err != nil {
		return err
	}
	if dir := c.String("harness"); dir != "" {
		if len(command) > 0 {
			return core.Errorf(core.CodeInvalid, name, "a job type has either a command or a harness, not both")
		}
		p, err := harness.Pack(dir)
		if err != nil {
			return err
		}
		if t, err = service.SetTypeHarness(c.Context, access.Operator(), name, p.Tar()); err != nil {
			return err
		}
	}
	return terminal.Say(c, t, "job type %s is set; drover type show %s shows it", name, name)
}

func applyTypeFlags(c *cli.Context, t *core.JobType) error {
	if c.IsSet("pool") {
		t.Pool = c.String("pool")
	}
	if c.IsSet("priority") {
		t.Priority = core.Priority(c.String("priority"))
	}
	for name, into := range map[string]*[]string{"env": &t.Env, "collect": &t.Collect, "submitter": &t.Submitters} {
		if c.IsSet(name) {
			*into = slices.DeleteFunc(c.StringSlice(name), func(s string) bool { return s == "" })
		}
	}
	return terminal.ApplyLimitFlags(c, &t.Limits)
}

func listTypes(c *cli.Context, h *access.Cluster) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	all, err := h.Requests().JobTypes(c.Context, access.Operator())
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, all)
	}
	rows := make([]table.Row, len(all))
	for i, t := range all {
		rows[i] = table.Row{t.Name, t.Pool, t.Priority, runs(t), users(t)}
	}
	return terminal.PrintTable(c.App.Writer, "no job types: make one with drover type set NAME", table.Row{"type", "pool", "priority", "runs", "submitters"}, rows)
}

// runs is what a type's requests run, for people.
func runs(t core.JobType) string {
	switch {
	case t.Harness != nil:
		return "a harness, " + ShortDigest(t.Harness.Digest)
	case len(t.Command) > 0:
		return terminal.Clean(strings.Join(t.Command, " "))
	}
	return "what the request says"
}

// users are who may name a type, for people.
func users(t core.JobType) string {
	if len(t.Submitters) == 0 {
		return "all"
	}
	return strings.Join(t.Submitters, ", ")
}

func showType(c *cli.Context, h *access.Cluster) error {
	name, err := terminal.OneArg(c, "job type's name")
	if err != nil {
		return err
	}
	t, err := h.Requests().JobType(c.Context, access.Operator(), name)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, t)
	}
	rows := []table.Row{{"type", t.Name}, {"pool", t.Pool}, {"runs", runs(t)}, {"priority", t.Priority}, {"submitters", users(t)}}
	for _, v := range t.Env {
		rows = append(rows, table.Row{"variable", terminal.Clean(v)})
	}
	for _, p := range t.Collect {
		rows = append(rows, table.Row{"keeps", terminal.Clean(p)})
	}
	l := t.Limits
	for _, one := range []struct {
		name  string
		set   bool
		value string
	}{
		{"timeout", l.Timeout > 0, l.Timeout.String()},
		{"memory", l.Memory > 0, terminal.Size(l.Memory)},
		{"disk", l.Disk > 0, terminal.Size(l.Disk)},
		{"file size", l.FileSize > 0, terminal.Size(l.FileSize)},
		{"pids", l.Pids > 0, fmt.Sprint(l.Pids)},
		{"open files", l.OpenFiles > 0, fmt.Sprint(l.OpenFiles)},
		{"output", l.Output > 0, terminal.Size(l.Output)},
	} {
		if one.set {
			rows = append(rows, table.Row{one.name, one.value})
		}
	}
	return terminal.PrintTable(c.App.Writer, "", table.Row{"setting", "value"}, rows)
}

func deleteType(c *cli.Context, h *access.Cluster) error {
	name, err := terminal.OneArg(c, "job type's name")
	if err != nil {
		return err
	}
	if err := h.Requests().DeleteJobType(c.Context, access.Operator(), name); err != nil {
		return err
	}
	return terminal.Say(c, map[string]any{"type": name}, "job type %s is deleted", name)
}
