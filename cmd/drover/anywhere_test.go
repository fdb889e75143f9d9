package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/terminal"
)

func TestFlagsStandAnywhere(t *testing.T) {
	t.Parallel()
	app := &cli.App{Commands: commands(), Flags: terminal.SettingFlags()}
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

// Who reads a help finds an example there that names the command.
func TestEveryUserCommandHasAnExample(t *testing.T) {
	t.Parallel()
	n := 0
	var look func(name string, cmd *cli.Command)
	look = func(name string, cmd *cli.Command) {
		for _, sub := range cmd.Subcommands {
			look(name+" "+sub.Name, sub)
		}
		for _, f := range cmd.Flags {
			if len(cmd.Subcommands) == 0 && f.Names()[0] == "as" && cmd.Name != "submit" {
				n++
				require.Contains(t, cmd.Description+" ", "Example: "+name+" ", name)
			}
		}
	}
	for _, cmd := range commands() {
		look("drover "+cmd.Name, cmd)
	}
	require.Greater(t, n, 50)
}
