package course

import (
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
)

// accountCommands are the commands about how users sign in.
func accountCommands() []*cli.Command {
	return []*cli.Command{
		access.UserCommand("password", "give a user a password, which it changes when it signs in next", "USER", "drover user password --stdin ann < password",
			[]cli.Flag{&cli.BoolFlag{Name: "stdin", Usage: "read the password from standard input, without asking", DisableDefaultText: true}}, givePassword),
		linkCommand(),
		access.UserCommand("tokens", "list the tokens by which programs act as a user, or revoke one", "USER", "drover user tokens ann",
			[]cli.Flag{&cli.StringFlag{Name: "revoke", Usage: "revoke the token with this `ID`"}}, userTokens),
	}
}

func givePassword(c *cli.Context, s *access.Session) error {
	handle, err := terminal.OneArg(c, "user's handle or e-mail address")
	if err != nil {
		return err
	}
	u, err := s.Reg.ViewUser(c.Context, s.Actor, handle)
	if err != nil {
		return err
	}
	backend, err := s.Accounts()
	if err != nil {
		return err
	}
	password, err := terminal.ReadSecret(c, "New password of "+u.Handle, "stdin", "--stdin")
	if err != nil {
		return err
	}
	if !c.Bool("stdin") {
		again, err := terminal.ReadSecret(c, "The same again", "stdin", "--stdin")
		if err != nil {
			return err
		}
		if again != password {
			return core.Errorf(core.CodeInvalid, "", "the two passwords differ: type the same one twice")
		}
	}
	if err := backend.GivePassword(c.Context, s.Actor, u.Handle, password); err != nil {
		return err
	}
	return terminal.Say(c, map[string]string{"user": u.Handle}, "user %s has that password, and changes it at the next sign-in", u.Handle)
}

func userTokens(c *cli.Context, s *access.Session) error {
	handle, err := terminal.OneArg(c, "user's handle or e-mail address")
	if err != nil {
		return err
	}
	backend, err := s.Accounts()
	if err != nil {
		return err
	}
	if id := c.String("revoke"); id != "" {
		if err := backend.Revoke(c.Context, s.Actor, handle, id); err != nil {
			return err
		}
		return terminal.Say(c, map[string]string{"user": handle, "id": id}, "token %s is good for nothing any more", id)
	}
	sheet, err := backend.View(c.Context, s.Actor, handle)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, terminal.OrEmpty(sheet.Tokens))
	}
	rows := make([]table.Row, len(sheet.Tokens))
	for i, t := range sheet.Tokens {
		rows[i] = table.Row{t.ID, terminal.Clean(t.Name), access.ScopesWord(t.Scopes), terminal.Since(t.Created), terminal.Since(t.Used), time.UnixMilli(t.Expires).Format(time.DateOnly)}
	}
	return terminal.PrintTable(c.App.Writer, "no tokens", table.Row{"token", "name", "good for", "made", "used", "until"}, rows)
}
