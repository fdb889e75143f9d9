package main

import (
	"bytes"
	"fmt"

	"github.com/urfave/cli/v2"

	"drover/core"
	"drover/core/harness"
)

func setHarness(c *cli.Context, s *session) error {
	if c.Bool("none") {
		as, err := assignmentArg(c, s)
		if err != nil {
			return err
		}
		if as, err = s.reg.RemoveHarness(c.Context, s.actor, as.Class, as.Handle); err != nil {
			return err
		}
		return say(c, as, "assignment %s is not graded any more", as.Name())
	}
	args, err := exactArgs(c, "the assignment", "the harness's folder")
	if err != nil {
		return err
	}
	as, err := s.reg.FindAssignment(c.Context, s.actor, args[0])
	if err != nil {
		return err
	}
	pack, err := harness.Pack(args[1])
	if err != nil {
		return err
	}
	return s.withHarness(c, as, &pack, "is graded by "+args[1])
}

// withHarness gives an assignment its harness, if there is one, and says what was done
// and what the harness's author may have overlooked.
func (s *session) withHarness(c *cli.Context, as core.Assignment, pack *harness.Package, done string) error {
	var found checked
	if pack != nil {
		var err error
		if as, err = s.reg.SetHarness(c.Context, s.actor, as.Class, as.Handle, bytes.NewReader(pack.Tar)); err != nil {
			return err
		}
		if pack.Cases != nil {
			pool, err := s.redis.GetPool(c.Context, as.Pool)
			if err != nil {
				return err
			}
			found.look(pack.Cases, as.Limits.Or(pool.Limits))
		}
	}
	if !c.Bool("json") {
		for _, w := range found.Warnings {
			fmt.Fprintln(c.App.ErrWriter, "drover: note: "+w)
		}
		if len(found.Tests) > 0 {
			done += fmt.Sprintf(": %d tests, %s points", len(found.Tests), points(&found.Points))
		}
	}
	return say(c, as, "assignment %s %s", as.Name(), done)
}
