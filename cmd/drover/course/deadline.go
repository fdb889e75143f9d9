package course

import (
	"time"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/school"
)

func deadlineFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "user", Usage: "whose they are: `HANDLE`"},
		&cli.StringFlag{Name: "due", Usage: "its own `TIME` instead of the assignment's: " + terminal.MomentHelp},
		&cli.StringFlag{Name: "cutoff", Usage: "its own `TIME` instead of the assignment's"},
		&cli.StringFlag{Name: "reason", Usage: "why, for the record: `TEXT`"},
		&cli.BoolFlag{Name: "none", Usage: "remove them: the assignment's dates apply again", DisableDefaultText: true},
		terminal.ZoneFlag(),
	}
}

func assignmentDeadline(c *cli.Context, d access.Backend) error {
	at, err := terminal.Zone(c)
	if err != nil {
		return err
	}
	as, err := assignmentArg(c, d)
	if err != nil {
		return err
	}
	change := c.IsSet("due") || c.IsSet("cutoff") || c.Bool("none")
	user := c.String("user")
	switch {
	case !change:
		return listDeadlines(c, d, as, at)
	case user == "":
		return core.Errorf(core.CodeInvalid, "", "whose dates? --user HANDLE; those of everybody are changed with drover assignment set")
	case c.Bool("none") && (c.IsSet("due") || c.IsSet("cutoff")):
		return core.Errorf(core.CodeInvalid, "", "--none takes the dates back: leave --due and --cutoff away")
	}
	own := school.Deadline{Class: as.Class, Assignment: as.Handle, User: user, Reason: c.String("reason")}
	if !c.Bool("none") {
		if own, err = newDeadline(c, d, as, own); err != nil {
			return err
		}
	}
	if err := d.SetDeadline(c.Context, own); err != nil {
		return err
	}
	if own.Due == 0 && own.Cutoff == 0 {
		return terminal.Say(c, own, "%s has the dates of %s again", user, as.Name())
	}
	dates := as.For(&own)
	return terminal.Say(c, own, "for %s %s is due %s, cutoff %s", user, as.Name(), terminal.ShowMoment(dates.Due, at), terminal.ShowMoment(dates.Cutoff, at))
}

// newDeadline returns a user's deadline with the dates changed whose flags are given.
func newDeadline(c *cli.Context, d access.Backend, as school.Assignment, own school.Deadline) (school.Deadline, error) {
	had, err := d.Deadlines(c.Context, as.Class, as.Handle, own.User)
	if err != nil {
		return own, err
	}
	if len(had) > 0 {
		own.Due, own.Cutoff = had[0].Due, had[0].Cutoff
	}
	for name, into := range map[string]*int64{"due": &own.Due, "cutoff": &own.Cutoff} {
		if err := terminal.MomentFlag(c, name, into); err != nil {
			return own, err
		}
	}
	return own, nil
}

func listDeadlines(c *cli.Context, d access.Backend, as school.Assignment, at *time.Location) error {
	all, err := d.Deadlines(c.Context, as.Class, as.Handle, c.String("user"))
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, terminal.OrEmpty(all))
	}
	return printDeadlines(c, all, at)
}
