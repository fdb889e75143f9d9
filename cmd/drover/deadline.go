package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"drover/core"
)

func deadlineFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "user", Usage: "whose they are: `HANDLE`"},
		&cli.StringFlag{Name: "due", Usage: "its own `TIME` instead of the assignment's: " + momentHelp},
		&cli.StringFlag{Name: "cutoff", Usage: "its own `TIME` instead of the assignment's"},
		&cli.StringFlag{Name: "reason", Usage: "why, for the record: `TEXT`"},
		&cli.BoolFlag{Name: "none", Usage: "take them back: the assignment's dates count again", DisableDefaultText: true},
		zoneFlag(),
	}
}

func assignmentDeadline(c *cli.Context, s *session) error {
	at, err := zone(c)
	if err != nil {
		return err
	}
	as, err := assignmentArg(c, s)
	if err != nil {
		return err
	}
	change := c.IsSet("due") || c.IsSet("cutoff") || c.Bool("none")
	user := c.String("user")
	switch {
	case !change:
		return s.listDeadlines(c, as, at)
	case user == "":
		return core.Errorf(core.CodeInvalid, "", "whose dates? --user HANDLE; those of everybody are changed with drover assignment set")
	case c.Bool("none") && (c.IsSet("due") || c.IsSet("cutoff")):
		return core.Errorf(core.CodeInvalid, "", "--none takes the dates back: leave --due and --cutoff away")
	}
	d := core.Deadline{Class: as.Class, Assignment: as.Handle, User: user, Reason: c.String("reason")}
	if !c.Bool("none") {
		if d, err = s.newDeadline(c, as, d); err != nil {
			return err
		}
	}
	if err := s.reg.SetDeadline(c.Context, s.actor, d); err != nil {
		return err
	}
	if d.Due == 0 && d.Cutoff == 0 {
		return say(c, d, "%s has the dates of %s again", user, as.Name())
	}
	own := as.For(&d)
	return say(c, d, "for %s %s is due %s, cutoff %s", user, as.Name(), showMoment(own.Due, at), showMoment(own.Cutoff, at))
}

// newDeadline is what a user has, with those dates changed that flags name.
func (s *session) newDeadline(c *cli.Context, as core.Assignment, d core.Deadline) (core.Deadline, error) {
	had, err := s.reg.Deadlines(c.Context, s.actor, as.Class, as.Handle, d.User)
	if err != nil {
		return d, err
	}
	if len(had) > 0 {
		d.Due, d.Cutoff = had[0].Due, had[0].Cutoff
	}
	for name, into := range map[string]*int64{"due": &d.Due, "cutoff": &d.Cutoff} {
		if err := momentFlag(c, name, into); err != nil {
			return d, err
		}
	}
	return d, nil
}

func (s *session) listDeadlines(c *cli.Context, as core.Assignment, at *time.Location) error {
	all, err := s.reg.Deadlines(c.Context, s.actor, as.Class, as.Handle, c.String("user"))
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(c.App.Writer, orEmpty(all))
	}
	return printDeadlines(c, all, at)
}
