package course

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/request"
	"drover/cmd/drover/terminal"
	"drover/core/classes"
	"drover/core/harness"
	"drover/core/school"
)

func setHarness(c *cli.Context, d access.Backend) error {
	if c.Bool("none") {
		as, err := assignmentArg(c, d)
		if err != nil {
			return err
		}
		if as, err = d.RemoveHarness(c.Context, as.Class, as.Handle); err != nil {
			return err
		}
		return terminal.Say(c, as, "assignment %s is not graded any more", as.Name())
	}
	args, err := terminal.ExactArgs(c, "the assignment", "the harness's folder")
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

// withHarness sets an assignment's harness, if there is one, and prints what was done and warnings for the harness's
// author.
func withHarness(c *cli.Context, d access.Backend, as school.Assignment, pack *harness.Package, done string) error {
	var found request.Checked
	if pack != nil {
		var err error
		if as, err = d.SetHarness(c.Context, as.Class, as.Handle, pack.Tar()); err != nil {
			return err
		}
		if pack.Cases != nil {
			pools, err := d.PoolChoices(c.Context, as.Class)
			if err != nil {
				return err
			}
			if i := slices.IndexFunc(pools, func(p classes.PoolChoice) bool { return p.Name == as.Pool }); i >= 0 {
				found.Look(pack, as.Limits.Or(pools[i].Limits), pools[i].Peer)
			}
		}
	}
	if !c.Bool("json") {
		for _, w := range found.Warnings {
			fmt.Fprintln(c.App.ErrWriter, "drover: note: "+w)
		}
		if len(found.Tests) > 0 {
			done += fmt.Sprintf(": %d tests, %s points", len(found.Tests), terminal.Points(&found.Points))
		}
	}
	return terminal.Say(c, as, "assignment %s %s", as.Name(), done)
}
