package course

import (
	"encoding/csv"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/account"
)

func inviteCommand() *cli.Command {
	return access.BackendCommand("invite", "make links by which students who never signed in do so once, for all of a class or for some", "CLASS [USER...]",
		"drover class invite --csv cs101 > invitations.csv", []cli.Flag{
			&cli.IntFlag{Name: "days", Usage: "good for `N` days, at most 60", Value: int(account.InviteLife / (24 * time.Hour))},
			&cli.BoolFlag{Name: "mail", Usage: "send the links by mail instead of printing them", DisableDefaultText: true},
			&cli.StringFlag{Name: "language", Usage: "`LANGUAGE` of the mails, such as de; without it that of your account, else English"},
			&cli.BoolFlag{Name: "csv", Usage: "write CSV with the columns name, email, handle, link, expires", DisableDefaultText: true},
		}, invite)
}

// invite writes the links as they are made, so that a later error loses none.
func invite(c *cli.Context, d access.Backend) error {
	most := int(account.MaxInviteLife / (24 * time.Hour))
	days := c.Int("days")
	switch {
	case days < 1 || days > most:
		return core.Errorf(core.CodeInvalid, "", "--days %d is too few or too many: use 1 to %d", days, most)
	case c.NArg() == 0:
		return core.Errorf(core.CodeInvalid, "", "%s takes the class, and the handles of students if not all are meant", c.Command.HelpName)
	case c.Bool("csv") && c.Bool("json"):
		return core.Errorf(core.CodeInvalid, "", "--csv and --json exclude each other: use one")
	case c.IsSet("language") && !c.Bool("mail"):
		return core.Errorf(core.CodeInvalid, "", "--language is of mails: use it with --mail")
	case c.Bool("csv") && c.Bool("mail"):
		return core.Errorf(core.CodeInvalid, "", "--csv and --mail exclude each other: use one")
	}
	class, err := d.FindClass(c.Context, c.Args().First())
	if err != nil {
		return err
	}
	of := account.Invites{Class: class.Handle, Users: c.Args().Tail(), Life: time.Duration(days) * 24 * time.Hour, Language: c.String("language")}
	if c.Bool("mail") {
		t, err := d.MailInvitations(c.Context, of)
		if err != nil {
			return err
		}
		return terminal.Say(c, t, "task %s mails the invitations; drover task show %s says how far it is", t.ID, t.ID)
	}
	all, more, out := []account.Link{}, true, csv.NewWriter(c.App.Writer)
	for more {
		made, err := d.Invite(c.Context, of)
		if err != nil {
			return err
		}
		if err := sayInvited(c, out, made.Links, len(all) == 0); err != nil {
			return err
		}
		all, more = append(all, made.Links...), made.More && len(made.Links) > 0
	}
	switch {
	case c.Bool("json"):
		return terminal.PrintJSON(c.App.Writer, all)
	case len(all) == 0:
		fmt.Fprintf(c.App.ErrWriter, "drover: class %s: everybody who never signed in has an invitation already; name users to make theirs anew\n", class.Handle)
	}
	return nil
}

// sayInvited writes links as CSV, or as handle and link.
func sayInvited(c *cli.Context, out *csv.Writer, links []account.Link, first bool) error {
	if c.Bool("json") {
		return nil
	}
	if c.Bool("csv") {
		return writeLinks(out, links, first)
	}
	for _, l := range links {
		if _, err := fmt.Fprintf(c.App.Writer, "%s\t%s\n", terminal.Clean(l.User), terminal.Clean(l.URL)); err != nil {
			return err
		}
	}
	return nil
}
