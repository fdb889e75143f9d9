package main

import (
	"cmp"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/core"
	"drover/core/classes"
)

func classCommand() *cli.Command {
	own := []cli.Flag{
		&cli.StringFlag{Name: "title", Usage: "its `TITLE`, as people read it", DefaultText: "its handle"},
		&cli.StringFlag{Name: "term", Usage: "when it is taught: `TERM` such as 2026 autumn"},
	}
	role := &cli.StringFlag{Name: "role", Usage: "what they are there: `ROLE` student, teaching_assistant or teacher", Value: string(core.RoleStudent)}
	dry := &cli.BoolFlag{Name: "dry-run", Usage: "say what would be done and do nothing", DisableDefaultText: true}
	return &cli.Command{
		Name: "class", Usage: "look at classes and who is in them, and set them", OnUsageError: usageError,
		Description: "A CLASS is named by any part of its handle or title, as long as that is one class only; mine is the one that you are in.",
		Subcommands: []*cli.Command{
			backendCommand("list", "list classes, by handle", "", "drover class list", pageFlags("after", "class `HANDLE`"), listClasses),
			backendCommand("show", "show a class", "CLASS", "drover class show cs101", nil, showClass),
			userCommand("add", "make a class; the handle is its name for ever", "HANDLE", `drover class add --title "Programming I" cs101`, own, addClass),
			userCommand("set", "change title and term", "CLASS", `drover class set --term "2026 autumn" cs101`, own, setClass),
			userCommand("remove", "delete a class with all that hangs on it: assignments, submissions, grades", "HANDLE", "drover class remove cs101", waitFlags(), removeClass),
			backendCommand("members", "list who is in a class, by handle", "CLASS", "drover class members cs101", pageFlags("after", "user `HANDLE`"), listMembers),
			backendCommand("enrol", "put users into a class, or give them another role there", "CLASS USER...", "drover class enrol --role teacher cs101 tom", []cli.Flag{role}, enrol),
			backendCommand("drop", "take users out of a class; what they submitted stays", "CLASS USER...", "drover class drop cs101 ann", nil, drop),
			backendCommand("import", "enrol who is in a CSV file with the columns handle, name, email, role; - is the standard input", "CLASS FILE", "drover class import --dry-run cs101 roster.csv", []cli.Flag{dry}, importRoster),
		},
	}
}

// class is the one that an argument names.
func classArg(c *cli.Context, d backend) (core.Class, error) {
	query, err := oneArg(c, "class")
	if err != nil {
		return core.Class{}, err
	}
	return d.FindClass(c.Context, query)
}

func listClasses(c *cli.Context, d backend) error {
	if err := noArgs(c); err != nil {
		return err
	}
	limit, err := limitFlag(c)
	if err != nil {
		return err
	}
	all, err := d.ListClasses(c.Context, c.String("after"), limit)
	if err != nil {
		return err
	}
	return page[classes.ClassEntry]{
		empty:  "no classes: an admin makes one with drover class add HANDLE",
		header: table.Row{"class", "title", "term", "you are", "", "made"},
		row: func(one *classes.ClassEntry) table.Row {
			return table.Row{one.Handle, clean(one.Title), clean(one.Term), one.Role, deletingWord(one.Deleting), since(one.Created)}
		},
		cursor: "after", last: func(one *classes.ClassEntry) string { return one.Handle },
	}.print(c, all)
}

func deletingWord(deleting bool) string {
	if deleting {
		return "is being deleted"
	}
	return ""
}

func showClass(c *cli.Context, d backend) error {
	found, err := classArg(c, d)
	if err != nil {
		return err
	}
	one, err := d.ViewClass(c.Context, found.Handle)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(c.App.Writer, one)
	}
	return printTable(c.App.Writer, "", table.Row{"", ""}, []table.Row{
		{"class", strings.TrimSpace(one.Handle + " " + deletingWord(one.Deleting))},
		{"title", clean(one.Title)},
		{"term", clean(one.Term)},
		{"you are", one.Role},
		{"made", since(one.Created)},
	})
}

func addClass(c *cli.Context, s *session) error {
	handle, err := oneArg(c, "class's handle")
	if err != nil {
		return err
	}
	one, err := s.reg.CreateClass(c.Context, s.actor, core.Class{Handle: handle, Title: cmp.Or(c.String("title"), handle), Term: c.String("term")})
	if err != nil {
		return err
	}
	return say(c, one, "class %s is made; drover class enrol %s USER puts users into it", handle, handle)
}

func setClass(c *cli.Context, s *session) error {
	one, err := classArg(c, s)
	if err != nil {
		return err
	}
	if c.IsSet("title") {
		one.Title = c.String("title")
	}
	if c.IsSet("term") {
		one.Term = c.String("term")
	}
	if one, err = s.reg.EditClass(c.Context, s.actor, one); err != nil {
		return err
	}
	return say(c, one, "class %s is set", one.Handle)
}

func removeClass(c *cli.Context, s *session) error {
	handle, err := oneArg(c, "class's whole handle")
	if err != nil {
		return err
	}
	t, err := s.reg.DeleteClass(c.Context, s.actor, handle)
	if err != nil {
		return err
	}
	return deletion(c, s, t, "class "+handle)
}

func listMembers(c *cli.Context, d backend) error {
	limit, err := limitFlag(c)
	if err != nil {
		return err
	}
	of, err := classArg(c, d)
	if err != nil {
		return err
	}
	all, err := d.Roster(c.Context, of.Handle, c.String("after"), limit)
	if err != nil {
		return err
	}
	return page[classes.Member]{
		empty:  "nobody is in class " + of.Handle + ": drover class enrol " + of.Handle + " USER",
		header: table.Row{"user", "name", "e-mail", "role", "since"},
		row: func(m *classes.Member) table.Row {
			return table.Row{m.User, clean(m.Name), clean(m.Email), m.Role, since(m.Since)}
		},
		cursor: "after", last: func(m *classes.Member) string { return m.User },
	}.print(c, all)
}

// classAndUsers are the arguments of who changes a roster.
func classAndUsers(c *cli.Context, d backend) (class string, users []string, err error) {
	if c.NArg() < 2 {
		return "", nil, core.Errorf(core.CodeInvalid, "", "which users? %s CLASS USER...", c.Command.HelpName)
	}
	found, err := d.FindClass(c.Context, c.Args().First())
	return found.Handle, c.Args().Tail(), err
}

func enrol(c *cli.Context, d backend) error {
	class, users, err := classAndUsers(c, d)
	if err != nil {
		return err
	}
	role := core.UserRole(c.String("role"))
	if !role.InClass() {
		return core.Errorf(core.CodeInvalid, string(role), "--role %q is none in a class: use student, teaching_assistant or teacher", role)
	}
	for _, user := range users {
		if err := d.Enrol(c.Context, class, user, role); err != nil {
			return err
		}
	}
	return say(c, map[string]any{"class": class, "users": users, "role": role}, "%s: %s of class %s", strings.Join(users, ", "), role, class)
}

func drop(c *cli.Context, d backend) error {
	class, users, err := classAndUsers(c, d)
	if err != nil {
		return err
	}
	for _, user := range users {
		if err := d.Drop(c.Context, class, user); err != nil {
			return err
		}
	}
	return say(c, map[string]any{"class": class, "users": users}, "%s: not in class %s any more", strings.Join(users, ", "), class)
}
