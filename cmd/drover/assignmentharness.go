package main

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"drover/core"
	"drover/core/classes"
	"drover/core/harness"
)

func setHarness(c *cli.Context, d backend) error {
	if c.Bool("none") {
		as, err := assignmentArg(c, d)
		if err != nil {
			return err
		}
		if as, err = d.RemoveHarness(c.Context, as.Class, as.Handle); err != nil {
			return err
		}
		return say(c, as, "assignment %s is not graded any more", as.Name())
	}
	args, err := exactArgs(c, "the assignment", "the harness's folder")
	if err != nil {
		return err
	}
	as, err := d.FindAssignment(c.Context, args[0])
	if err != nil {
		return err
	}
	pack, err := harness.Pack(args[1])
	if err != nil {
		return err
	}
	return withHarness(c, d, as, &pack, "is graded by "+args[1])
}

// withHarness gives an assignment its harness, if there is one, and says what was done
// and what the harness's author may have overlooked.
func withHarness(c *cli.Context, d backend, as core.Assignment, pack *harness.Package, done string) error {
	var found checked
	if pack != nil {
		var err error
		if as, err = d.SetHarness(c.Context, as.Class, as.Handle, bytes.NewReader(pack.Tar)); err != nil {
			return err
		}
		if pack.Cases != nil {
			pools, err := d.PoolChoices(c.Context, as.Class)
			if err != nil {
				return err
			}
			if i := slices.IndexFunc(pools, func(p classes.PoolChoice) bool { return p.Name == as.Pool }); i >= 0 {
				found.look(pack.Cases, as.Limits.Or(pools[i].Limits))
			}
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
