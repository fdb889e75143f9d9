package main

import (
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/core"
	"drover/core/account"
)

// accountCommands are those of how users sign in.
func accountCommands() []*cli.Command {
	return []*cli.Command{
		userCommand("password", "give a user a password, which it changes when it signs in next", "USER", "drover user password --stdin ann < password",
			[]cli.Flag{&cli.BoolFlag{Name: "stdin", Usage: "read the password from standard input, without asking", DisableDefaultText: true}}, givePassword),
		linkCommand(),
		userCommand("tokens", "list the tokens by which programs act as a user, or revoke one", "USER", "drover user tokens ann",
			[]cli.Flag{&cli.StringFlag{Name: "revoke", Usage: "revoke the token with this `ID`"}}, userTokens),
	}
}

// accounts makes the way by which users sign in.
func (h *cluster) accounts() (*account.Service, error) {
	hasher, err := account.NewHasher(account.DefaultCost)
	return &account.Service{Store: h.store, Limits: h.redis, Hasher: hasher}, err
}

func givePassword(c *cli.Context, s *session) error {
	handle, err := oneArg(c, "user's handle or e-mail address")
	if err != nil {
		return err
	}
	u, err := s.reg.ViewUser(c.Context, s.actor, handle)
	if err != nil {
		return err
	}
	backend, err := s.accounts()
	if err != nil {
		return err
	}
	password, err := readSecret(c, "New password of "+u.Handle, "stdin", "--stdin")
	if err != nil {
		return err
	}
	if !c.Bool("stdin") {
		again, err := readSecret(c, "The same again", "stdin", "--stdin")
		if err != nil {
			return err
		}
		if again != password {
			return core.Errorf(core.CodeInvalid, "", "the two passwords differ: type the same one twice")
		}
	}
	if err := backend.GivePassword(c.Context, s.actor, u.Handle, password); err != nil {
		return err
	}
	return say(c, map[string]string{"user": u.Handle}, "user %s has that password, and changes it at the next sign-in", u.Handle)
}

func userTokens(c *cli.Context, s *session) error {
	handle, err := oneArg(c, "user's handle or e-mail address")
	if err != nil {
		return err
	}
	backend, err := s.accounts()
	if err != nil {
		return err
	}
	if id := c.String("revoke"); id != "" {
		if err := backend.Revoke(c.Context, s.actor, handle, id); err != nil {
			return err
		}
		return say(c, map[string]string{"user": handle, "id": id}, "token %s is good for nothing any more", id)
	}
	sheet, err := backend.View(c.Context, s.actor, handle)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(c.App.Writer, orEmpty(sheet.Tokens))
	}
	rows := make([]table.Row, len(sheet.Tokens))
	for i, t := range sheet.Tokens {
		rows[i] = table.Row{t.ID, clean(t.Name), scopesWord(t.Scopes), since(t.Created), since(t.Used), time.UnixMilli(t.Expires).Format(time.DateOnly)}
	}
	return printTable(c.App.Writer, "no tokens", table.Row{"token", "name", "good for", "made", "used", "until"}, rows)
}
