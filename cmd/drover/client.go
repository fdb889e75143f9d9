package main

import (
	"errors"

	"github.com/urfave/cli/v2"
)

// jsonFlag is every client command's way to be read by programs.
func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON for programs", DisableDefaultText: true}
}

// client makes the action of a command that talks to a running cluster.
func client(action func(c *cli.Context, h *cluster) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		cfg, err := load(c)
		if err != nil {
			return err
		}
		h, err := openCluster(c.Context, cfg)
		if err != nil {
			return err
		}
		return errors.Join(action(c, h), h.close())
	}
}

// clientCommand describes a subcommand that talks to a running cluster.
func clientCommand(name, usage, args string, own []cli.Flag, action func(c *cli.Context, h *cluster) error) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, ArgsUsage: args, OnUsageError: usageError,
		Flags: withSettings(append(own, jsonFlag())), Action: client(action),
	}
}
