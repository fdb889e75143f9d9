package main

import (
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"drover/core"
	"drover/core/classes"
)

// session is a command of a user: the classes service, which checks every right, and who acts.
type session struct {
	*cluster
	reg   *classes.Service
	actor core.Actor
	notes io.Writer // what is said beside the answer
}

// asFlag names who acts.
func asFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "as", EnvVars: []string{"DROVER_AS"}, DefaultText: "the cluster's operator",
		Usage: "act as the user `HANDLE`, with the rights of that user",
	}
}

// localPrefix begins the handles of operators, which are no users.
const localPrefix = "local-"

// operator is whoever can reach store and Redis: all rights but what is a person's own.
func operator() core.Actor {
	name := submitterName()
	handle := localPrefix + name[:min(len(name), core.MaxNameLen-len(localPrefix))]
	return core.Actor{Handle: handle, Roles: []core.UserRole{core.RoleAdmin}}
}

// asOperator starts what this program does itself.
func (h *cluster) asOperator() *session {
	return &session{cluster: h, reg: h.classes(), actor: operator(), notes: io.Discard}
}

// session starts what a command does as the user that --as names, or else as the operator.
func (h *cluster) session(c *cli.Context) (*session, error) {
	s := h.asOperator()
	s.notes = c.App.ErrWriter
	handle := c.String("as")
	if handle == "" {
		return s, nil
	}
	if err := core.CheckName("user", handle); err != nil {
		return nil, err
	}
	var err error
	s.actor, err = s.reg.Actor(c.Context, handle)
	return s, err
}

// asUser makes the action of a command that a user gives.
func asUser(action func(c *cli.Context, s *session) error) func(c *cli.Context, h *cluster) error {
	return func(c *cli.Context, h *cluster) error {
		s, err := h.session(c)
		if err != nil {
			return err
		}
		return action(c, s)
	}
}

// userCommand describes a subcommand that a user gives, with an example of it.
func userCommand(name, usage, args, example string, own []cli.Flag, action func(c *cli.Context, s *session) error) *cli.Command {
	cmd := clientCommand(name, usage, args, slices.Concat(own, []cli.Flag{asFlag()}), asUser(action))
	cmd.Description = "Example: " + example
	return cmd
}
