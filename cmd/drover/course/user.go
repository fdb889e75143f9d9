package course

import (
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/school"
)

// UserCommands is drover user.
func UserCommands() *cli.Command {
	own := []cli.Flag{
		&cli.StringFlag{Name: "name", Usage: "the user's `NAME`, as people read it"},
		&cli.StringFlag{Name: "email", Usage: "the user's e-mail `ADDRESS`; no two users have the same"},
		&cli.StringSliceFlag{Name: "role", Usage: "a `ROLE` for the whole cluster: admin, operator, observer or runner; repeatable; none removes all. Teachers and students get theirs with drover class enrol"},
	}
	return &cli.Command{
		Name: "user", Usage: "list, create and change users", OnUsageError: terminal.UsageError,
		Subcommands: slices.Concat([]*cli.Command{
			access.UserCommand("list", "list users, by handle", "", "drover user list --limit 1000", terminal.PageFlags("after", "user `HANDLE`"), listUsers),
			access.UserCommand("show", "show a user and the classes it is in", "USER", "drover user show ann@example.org", nil, showUser),
			access.UserCommand("add", "make a user; the handle is its name forever", "HANDLE", `drover user add --name "Ann Lee" --email ann@example.org ann`, own, addUser),
			access.UserCommand("set", "change the named settings of a user", "USER", "drover user set --role observer ann", own, setUser),
			access.UserCommand("disable", "lock a user out; its submissions stay", "USER", "drover user disable ann", nil, disableUser(true)),
			access.UserCommand("enable", "unlock a disabled user", "USER", "drover user enable ann", nil, disableUser(false)),
			access.UserCommand("remove", "remove a user that is in no class and has submitted nothing", "HANDLE", "drover user remove ann", nil, removeUser),
		}, accountCommands()),
	}
}

func listUsers(c *cli.Context, s *access.Session) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	limit, err := terminal.LimitFlag(c)
	if err != nil {
		return err
	}
	all, err := s.Reg.ListUsers(c.Context, s.Actor, c.String("after"), limit)
	if err != nil {
		return err
	}
	return terminal.Page[school.User]{
		Empty:  "no users: make one with drover user add HANDLE",
		Header: table.Row{"user", "name", "e-mail", "roles", "", "made"},
		Row: func(u *school.User) table.Row {
			return table.Row{u.Handle, terminal.Clean(u.Name), terminal.Clean(u.Email), roleWords(u.Roles), terminal.DisabledWord(u.Disabled), terminal.Since(u.Created)}
		},
		Cursor: "after", Last: func(u *school.User) string { return u.Handle },
	}.Print(c, all)
}

func roleWords(roles []core.UserRole) string {
	words := make([]string, len(roles))
	for i, r := range roles {
		words[i] = string(r)
	}
	return strings.Join(words, ", ")
}

func showUser(c *cli.Context, s *access.Session) error {
	handle, err := terminal.OneArg(c, "user's handle or e-mail address")
	if err != nil {
		return err
	}
	u, err := s.Reg.ViewUser(c.Context, s.Actor, handle)
	if err != nil {
		return err
	}
	u.Classes = terminal.OrEmpty(u.Classes)
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, u)
	}
	rows := []table.Row{
		{"user", u.Handle},
		{"name", terminal.Clean(u.Name)},
		{"e-mail", terminal.Clean(u.Email)},
		{"roles", roleWords(u.Roles)},
		{"made", terminal.Since(u.Created)},
	}
	if u.Disabled {
		rows = append(rows, table.Row{"disabled", "may do nothing"})
	}
	for _, e := range u.Classes {
		rows = append(rows, table.Row{"in " + e.Class, e.Role})
	}
	return terminal.PrintTable(c.App.Writer, "", table.Row{"", ""}, rows)
}

// applyUserFlags changes the fields whose flags are given.
func applyUserFlags(c *cli.Context, u *school.User) error {
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

func addUser(c *cli.Context, s *access.Session) error {
	handle, err := terminal.OneArg(c, "user's handle")
	if err != nil {
		return err
	}
	u := school.User{Handle: handle}
	if err := applyUserFlags(c, &u); err != nil {
		return err
	}
	if u, err = s.Reg.CreateUser(c.Context, s.Actor, u); err != nil {
		return err
	}
	return terminal.Say(c, u, "user %s is made", u.Handle)
}

func setUser(c *cli.Context, s *access.Session) error {
	return editUser(c, s, "is set", func(u *school.User) error { return applyUserFlags(c, u) })
}

func disableUser(disabled bool) func(c *cli.Context, s *access.Session) error {
	done := "is enabled"
	if disabled {
		done = "is disabled"
	}
	return func(c *cli.Context, s *access.Session) error {
		return editUser(c, s, done, func(u *school.User) error { u.Disabled = disabled; return nil })
	}
}

func editUser(c *cli.Context, s *access.Session, done string, change func(u *school.User) error) error {
	handle, err := terminal.OneArg(c, "user's handle or e-mail address")
	if err != nil {
		return err
	}
	p, err := s.Reg.ViewUser(c.Context, s.Actor, handle)
	if err != nil {
		return err
	}
	if err := change(&p.User); err != nil {
		return err
	}
	u, err := s.Reg.EditUser(c.Context, s.Actor, p.User)
	if err != nil {
		return err
	}
	return terminal.Say(c, u, "user %s %s", u.Handle, done)
}

func removeUser(c *cli.Context, s *access.Session) error {
	handle, err := terminal.OneArg(c, "user's handle")
	if err != nil {
		return err
	}
	if err := s.Reg.DeleteUser(c.Context, s.Actor, handle); err != nil {
		return err
	}
	return terminal.Say(c, map[string]string{"handle": handle}, "user %s is removed", handle)
}
