package course

import (
	"encoding/csv"
	"time"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/account"
	"drover/core/classes/portable"
)

func linkCommand() *cli.Command {
	return access.BackendCommand("link", "make a link that lets a user in once, to set a new password, or one for each member of a class, as CSV", "[USER]",
		"drover user link --class cs101 --role student --days 14 > links.csv", []cli.Flag{
			&cli.StringFlag{Name: "class", Usage: "for each member of `CLASS`: a line each with name, e-mail address, handle, link and when it expires"},
			&cli.StringFlag{Name: "role", Usage: "only for those who are `ROLE` there: student, teaching_assistant or teacher"},
			&cli.IntFlag{Name: "days", Usage: "good for `N` days, at most 30", DefaultText: "an hour"},
		}, makeLink)
}

func makeLink(c *cli.Context, d access.Backend) error {
	life := time.Duration(c.Int("days")) * 24 * time.Hour
	if c.IsSet("days") && (life <= 0 || life > account.MaxLinkLife) {
		return core.Errorf(core.CodeInvalid, "", "--days %d is too few or too many: use 1 to %d", c.Int("days"), int(account.MaxLinkLife.Hours())/24)
	}
	if c.IsSet("class") {
		return makeLinks(c, d, life)
	}
	if c.IsSet("role") {
		return core.Errorf(core.CodeInvalid, "", "--role goes with --class: a user's own link needs no more than the user")
	}
	handle, err := terminal.OneArg(c, "user's handle or e-mail address; --class CLASS makes one for everybody there")
	if err != nil {
		return err
	}
	l, err := d.MakeLink(c.Context, handle, life)
	if err != nil {
		return err
	}
	return terminal.Say(c, l, "%s", l.URL)
}

// makeLinks writes the links of a class as they are made, so that a later error loses none.
func makeLinks(c *cli.Context, d access.Backend, life time.Duration) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	class, err := d.FindClass(c.Context, c.String("class"))
	if err != nil {
		return err
	}
	of := account.ClassLinks{Class: class.Handle, Role: core.UserRole(c.String("role")), Life: life, Limit: linksAtOnce}
	all := []account.Link{}
	out := csv.NewWriter(c.App.Writer)
	for first := true; first || of.After != ""; first = false {
		some, next, err := d.MakeLinks(c.Context, of)
		if err != nil {
			return err
		}
		all = append(all, some...)
		if !c.Bool("json") {
			if err := writeLinks(out, some, first); err != nil {
				return err
			}
		}
		of.After = next
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, all)
	}
	return nil
}

// linksAtOnce is how many links one call makes at most.
const linksAtOnce = 100

// writeLinks writes links as lines of CSV, after a line of names if they are the first ones.
func writeLinks(out *csv.Writer, links []account.Link, first bool) error {
	if first {
		_ = out.Write([]string{"name", "email", "handle", "link", "expires"}) // Error below has it
	}
	for _, l := range links {
		expires := time.UnixMilli(l.Expires).UTC().Format(time.RFC3339)
		_ = out.Write([]string{portable.Cell(l.Name), portable.Cell(l.Email), l.User, l.URL, expires})
	}
	out.Flush()
	return out.Error()
}
