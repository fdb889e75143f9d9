package main

import (
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/core"
)

func userCommands() *cli.Command {
	own := []cli.Flag{
		&cli.StringFlag{Name: "name", Usage: "the user's `NAME`, as people read it"},
		&cli.StringFlag{Name: "email", Usage: "the user's e-mail `ADDRESS`; no two users have the same"},
		&cli.StringSliceFlag{Name: "role", Usage: "a `ROLE` for the whole cluster: admin, operator, observer or runner; repeatable; none takes all away. Teachers and students get theirs with drover class enrol"},
	}
	return &cli.Command{
		Name: "user", Usage: "look at users and set them", OnUsageError: usageError,
		Subcommands: slices.Concat([]*cli.Command{
			userCommand("list", "list users, by handle", "", "drover user list --limit 1000", pageFlags("after", "user `HANDLE`"), listUsers),
			userCommand("show", "show a user and the classes it is in", "USER", "drover user show ann@example.org", nil, showUser),
			userCommand("add", "make a user; the handle is its name for ever", "HANDLE", `drover user add --name "Ann Lee" --email ann@example.org ann`, own, addUser),
			userCommand("set", "change those settings of a user that are named", "USER", "drover user set --role observer ann", own, setUser),
			userCommand("disable", "let a user do nothing any more; what it submitted stays", "USER", "drover user disable ann", nil, disableUser(true)),
			userCommand("enable", "let a disabled user act again", "USER", "drover user enable ann", nil, disableUser(false)),
			userCommand("remove", "remove a user that is in no class and has submitted nothing", "HANDLE", "drover user remove ann", nil, removeUser),
		}, accountCommands()),
	}
}

func listUsers(c *cli.Context, s *session) error {
	if err := noArgs(c); err != nil {
		return err
	}
	limit, err := limitFlag(c)
	if err != nil {
		return err
	}
	all, err := s.reg.ListUsers(c.Context, s.actor, c.String("after"), limit)
	if err != nil {
		return err
	}
	return page[core.User]{
		empty:  "no users: make one with drover user add HANDLE",
		header: table.Row{"user", "name", "e-mail", "roles", "", "made"},
		row: func(u *core.User) table.Row {
			return table.Row{u.Handle, clean(u.Name), clean(u.Email), roleWords(u.Roles), disabledWord(u.Disabled), since(u.Created)}
		},
		cursor: "after", last: func(u *core.User) string { return u.Handle },
	}.print(c, all)
}

func roleWords(roles []core.UserRole) string {
	words := make([]string, len(roles))
	for i, r := range roles {
		words[i] = string(r)
	}
	return strings.Join(words, ", ")
}

func showUser(c *cli.Context, s *session) error {
	handle, err := oneArg(c, "user's handle or e-mail address")
	if err != nil {
		return err
	}
	u, err := s.reg.ViewUser(c.Context, s.actor, handle)
	if err != nil {
		return err
	}
	u.Classes = orEmpty(u.Classes)
	if c.Bool("json") {
		return printJSON(c.App.Writer, u)
	}
	rows := []table.Row{
		{"user", u.Handle},
		{"name", clean(u.Name)},
		{"e-mail", clean(u.Email)},
		{"roles", roleWords(u.Roles)},
		{"made", since(u.Created)},
	}
	if u.Disabled {
		rows = append(rows, table.Row{"disabled", "may do nothing"})
	}
	for _, e := range u.Classes {
		rows = append(rows, table.Row{"in " + e.Class, e.Role})
	}
	return printTable(c.App.Writer, "", table.Row{"", ""}, rows)
}

// applyUserFlags changes what flags name.
func applyUserFlags(c *cli.Context, u *core.User) error {
	if c.IsSet("name") {
		u.Name = c.String("name")
	}
	if c.IsSet("email") {
		u.Email = c.String("email")
	}
	if !c.IsSet("role") {
		return nil
	}
	u.Roles = nil
	words := c.StringSlice("role")
	for _, word := range words {
		role := core.UserRole(word)
		switch {
		case word == "none" && len(words) == 1:
		case role.InClass():
			return core.Errorf(core.CodeInvalid, word, "--role %s is held in a class: drover class enrol --role %s CLASS USER", word, word)
		case !role.Valid():
			return core.Errorf(core.CodeInvalid, word, "--role %q is none: use admin, operator, observer or runner, or none alone", word)
		case !slices.Contains(u.Roles, role):
			u.Roles = append(u.Roles, role)
		}
	}
	return nil
}

func addUser(c *cli.Context, s *session) error {
	handle, err := oneArg(c, "user's handle")
	if err != nil {
		return err
	}
	u := core.User{Handle: handle}
	if err := applyUserFlags(c, &u); err != nil {
		return err
	}
	if u, err = s.reg.CreateUser(c.Context, s.actor, u); err != nil {
		return err
	}
	return say(c, u, "user %s is made", u.Handle)
}

func setUser(c *cli.Context, s *session) error {
	return s.editUser(c, "is set", func(u *core.User) error { return applyUserFlags(c, u) })
}

func disableUser(disabled bool) func(c *cli.Context, s *session) error {
	done := "is enabled"
	if disabled {
		done = "is disabled"
	}
	return func(c *cli.Context, s *session) error {
		return s.editUser(c, done, func(u *core.User) error { u.Disabled = disabled; return nil })
	}
}

func (s *session) editUser(c *cli.Context, done string, change func(u *core.User) error) error {
	handle, err := oneArg(c, "user's handle or e-mail address")
	if err != nil {
		return err
	}
	p, err := s.reg.ViewUser(c.Context, s.actor, handle)
	if err != nil {
		return err
	}
	if err := change(&p.User); err != nil {
		return err
	}
	u, err := s.reg.EditUser(c.Context, s.actor, p.User)
	if err != nil {
		return err
	}
	return say(c, u, "user %s %s", u.Handle, done)
}

func removeUser(c *cli.Context, s *session) error {
	handle, err := oneArg(c, "user's handle")
	if err != nil {
		return err
	}
	if err := s.reg.DeleteUser(c.Context, s.actor, handle); err != nil {
		return err
	}
	return say(c, map[string]string{"handle": handle}, "user %s is removed", handle)
}
