package terminal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"
)

func TestFlagsStandAnywhere(t *testing.T) {
	t.Parallel()
	flag := func(name string) cli.Flag { return &cli.StringFlag{Name: name} }
	given := func(name string) cli.Flag { return &cli.BoolFlag{Name: name} }
	command := func(name string, flags ...cli.Flag) *cli.Command {
		return &cli.Command{Name: name, Flags: WithSettings(append(flags, given("json")))}
	}
	app := &cli.App{Flags: SettingFlags(), Commands: []*cli.Command{
		{Name: "pool", Subcommands: []*cli.Command{command("set", flag("warm"), flag("max"), given("paused"))}},
		{Name: "image", Subcommands: []*cli.Command{command("build", flag("suite"), flag("packages")), command("import")}},
		{Name: "request", Subcommands: []*cli.Command{command("show")}},
		{Name: "schedule", Subcommands: []*cli.Command{command("run", given("no-wait"))}},
		command("run"),
	}}
	for line, want := range map[string]string{
		"pool set a --warm 1 --paused":            "pool set --warm 1 --paused a",
		"pool set --warm 1 a --max 2":             "pool set --warm 1 --max 2 a",
		"pool set a --warm=1":                     "pool set --warm=1 a",
		"pool set a --paused b":                   "pool set --paused a b",
		"pool set a -- --warm 1":                  "pool set a -- --warm 1",
		"pool set a --warm":                       "pool set --warm a",
		"pool set a --nosuch":                     "pool set --nosuch a",
		"--data x pool set a --warm 1":            "--data x pool set --warm 1 a",
		"--data pool pool set a --warm 1":         "--data pool pool set --warm 1 a",
		"image build a --suite b --packages c,d":  "image build --suite b --packages c,d a",
		"image import a - --json":                 "image import --json a -",
		"request show x --redis unix:///y --json": "request show --redis unix:///y --json x",
		"run ls --json":                           "run ls --json",
		"schedule run a --no-wait":                "schedule run --no-wait a",
		"run -- ls -l":                            "run -- ls -l",
		"nosuch a --b":                            "nosuch a --b",
		"pool nosuch --b":                         "pool nosuch --b",
		"pool":                                    "pool",
		"--data":                                  "--data",
		"":                                        "",
	} {
		got := flagsFirst(app, append([]string{"drover"}, strings.Fields(line)...))
		require.Equal(t, strings.Fields("drover "+want), got, line)
	}
}
