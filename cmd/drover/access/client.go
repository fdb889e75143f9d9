package access

import (
	"errors"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/terminal"
)

// WithCluster makes the action of a command that needs a running cluster.
func WithCluster(action func(c *cli.Context, h *Cluster) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		cfg, err := terminal.Load(c)
		if err != nil {
			return err
		}
		h, err := OpenCluster(c.Context, cfg)
		if err != nil {
			return err
		}
		return errors.Join(action(c, h), h.Close())
	}
}

// ClusterCommand describes a subcommand that needs a running cluster.
func ClusterCommand(name, usage, args string, own []cli.Flag, action func(c *cli.Context, h *Cluster) error) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, ArgsUsage: args, OnUsageError: terminal.UsageError,
		Flags: terminal.WithSettings(append(own, terminal.JSONFlag())), Action: WithCluster(action),
	}
}
