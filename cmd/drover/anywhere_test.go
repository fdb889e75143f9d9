package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"
)

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
