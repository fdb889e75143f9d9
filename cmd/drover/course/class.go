// Package course has the commands of teachers and students: users, classes, assignments, submissions, grades and
// experiments.
package course

import (
	"cmp"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/task"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/classes"
	"drover/core/school"
)

// ClassCommand is drover class.
func ClassCommand() *cli.Command {
	own := []cli.Flag{
		&cli.StringFlag{Name: "title", Usage: "its `TITLE`, as people read it", DefaultText: "its handle"},
		&cli.IntFlag{Name: "late-days", Usage: "`DAYS` of each student, which cover penalties for lateness"},
		&cli.StringFlag{Name: "term", Usage: "term in which it is taught: `TERM` such as 2026 autumn"},
	}
	role := &cli.StringFlag{Name: "role", Usage: "their role in the class: `ROLE` student, teaching_assistant or teacher", Value: string(core.RoleStudent)}
	dry := &cli.BoolFlag{Name: "dry-run", Usage: "say what would be done, and change nothing", DisableDefaultText: true}
	return &cli.Command{
		Name: "class", Usage: "list, create and change classes and their members", OnUsageError: terminal.UsageError,
		Description: "A CLASS is named by any part of its handle or title, as long as that is one class only; mine is the one that you are in.",
		Subcommands: []*cli.Command{
			access.BackendCommand("list", "list classes, by handle", "", "drover class list", terminal.PageFlags("after", "class `HANDLE`"), listClasses),
			access.BackendCommand("show", "show a class", "CLASS", "drover class show cs101", nil, showClass),
			access.UserCommand("add", "make a class; the handle is its name forever", "HANDLE", `drover class add --title "Programming I" cs101`, own, addClass),
			access.UserCommand("set", "change title, term and late days", "CLASS", `drover class set --term "2026 autumn" cs101`, own, setClass),
			access.UserCommand("remove", "delete a class with all its contents: assignments, submissions, grades", "HANDLE", "drover class remove cs101", task.WaitFlags(), removeClass),
			access.BackendCommand("members", "list the members of a class, by handle", "CLASS", "drover class members cs101", terminal.PageFlags("after", "user `HANDLE`"), listMembers),
			access.BackendCommand("enrol", "put users into a class, or give them another role there", "CLASS USER...", "drover class enrol --role teacher cs101 tom", []cli.Flag{role}, enrol),
			access.BackendCommand("drop", "remove users from a class; their submissions stay", "CLASS USER...", "drover class drop cs101 ann", nil, drop),
			access.BackendCommand("import", "enrol the people of a table (CSV, also of Canvas, Moodle and Excel), or undo the last import; - is the standard input", "CLASS [FILE]", "drover class import --dry-run cs101 roster.csv", []cli.Flag{
				dry,
				&cli.StringFlag{Name: "columns", Usage: "what each column is, such as `last_name,first_name,email,ignored`; otherwise the first line's names say it"},
				&cli.BoolFlag{Name: "names", Usage: "give existing users the names of the file, too; for admins"},
				&cli.BoolFlag{Name: "undo", Usage: "undo the last import: drop whom it enrolled, restore roles, sections and names, delete users that it made and nothing else uses"},
			}, importRoster),
			inviteCommand(),
		},
	}
}

// classArg returns the class that an argument names.
func classArg(c *cli.Context, d access.Backend) (school.Class, error) {
	query, err := terminal.OneArg(c, "class")
	if err != nil {
		return school.Class{}, err
	}
	return d.FindClass(c.Context, query)
}

func listClasses(c *cli.Context, d access.Backend) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	limit, err := terminal.LimitFlag(c)
	if err != nil {
		return err
	}
	all, err := d.ListClasses(c.Context, c.String("after"), limit)
	if err != nil {
		return err
	}
	return terminal.Page[classes.ClassEntry]{
		Empty:  "no classes: an admin makes one with drover class add HANDLE",
		Header: table.Row{"class", "title", "term", "you are", "", "made"},
		Row: func(one *classes.ClassEntry) table.Row {
			return table.Row{one.Handle, terminal.Clean(one.Title), terminal.Clean(one.Term), one.Role, deletingWord(one.Deleting), terminal.Since(one.Created)}
		},
		Cursor: "after", Last: func(one *classes.ClassEntry) string { return one.Handle },
	}.Print(c, all)
}

func deletingWord(deleting bool) string {
	if deleting {
		return "is being deleted"
	}
	return ""
}

func showClass(c *cli.Context, d access.Backend) error {
	found, err := classArg(c, d)
	if err != nil {
		return err
	}
	one, err := d.ViewClass(c.Context, found.Handle)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, one)
	}
	return terminal.PrintTable(c.App.Writer, "", table.Row{"", ""}, []table.Row{
		{"class", strings.TrimSpace(one.Handle + " " + deletingWord(one.Deleting))},
		{"title", terminal.Clean(one.Title)},
		{"term", terminal.Clean(one.Term)},
		{"you are", one.Role},
		{"made", terminal.Since(one.Created)},
	})
}

func addClass(c *cli.Context, s *access.Session) error {
	handle, err := terminal.OneArg(c, "class's handle")
	if err != nil {
		return err
	}
	one, err := s.Reg.CreateClass(c.Context, s.Actor, school.Class{Handle: handle, Title: cmp.Or(c.String("title"), handle), Term: c.String("term"), LateDays: c.Int("late-days")})
	if err != nil {
		return err
	}
	return terminal.Say(c, one, "class %s is made; drover class enrol %s USER puts users into it", handle, handle)
}

func setClass(c *cli.Context, s *access.Session) error {
	one, err := classArg(c, s)
	if err != nil {
		return err
	}
	if c.IsSet("title") {
		one.Title = c.String("title")
	}
	if c.IsSet("late-days") {
		one.LateDays = c.Int("late-days")
	}
	if c.IsSet("term") {
		one.Term = c.String("term")
	}
	if one, err = s.Reg.EditClass(c.Context, s.Actor, one); err != nil {
		return err
	}
	return terminal.Say(c, one, "class %s is set", one.Handle)
}

func removeClass(c *cli.Context, s *access.Session) error {
	handle, err := terminal.OneArg(c, "class's whole handle")
	if err != nil {
		return err
	}
	t, err := s.Reg.DeleteClass(c.Context, s.Actor, handle)
	if err != nil {
		return err
	}
	return task.Deletion(c, s, t, "class "+handle)
}

func listMembers(c *cli.Context, d access.Backend) error {
	limit, err := terminal.LimitFlag(c)
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
	return terminal.Page[classes.Member]{
		Empty:  "nobody is in class " + of.Handle + ": drover class enrol " + of.Handle + " USER",
		Header: table.Row{"user", "name", "e-mail", "role", "since"},
		Row: func(m *classes.Member) table.Row {
			return table.Row{m.User, terminal.Clean(m.Name), terminal.Clean(m.Email), m.Role, terminal.Since(m.Since)}
		},
		Cursor: "after", Last: func(m *classes.Member) string { return m.User },
	}.Print(c, all)
}

// classAndUsers returns the arguments of a change to a roster.
func classAndUsers(c *cli.Context, d access.Backend) (class string, users []string, err error) {
	if c.NArg() < 2 {
		return "", nil, core.Errorf(core.CodeInvalid, "", "which users? %s CLASS USER...", c.Command.HelpName)
	}
	found, err := d.FindClass(c.Context, c.Args().First())
	return found.Handle, c.Args().Tail(), err
}

func enrol(c *cli.Context, d access.Backend) error {
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
	return terminal.Say(c, map[string]any{"class": class, "users": users, "role": role}, "%s: %s of class %s", strings.Join(users, ", "), role, class)
}

func drop(c *cli.Context, d access.Backend) error {
	class, users, err := classAndUsers(c, d)
	if err != nil {
		return err
	}
	for _, user := range users {
		if err := d.Drop(c.Context, class, user); err != nil {
			return err
		}
	}
	return terminal.Say(c, map[string]any{"class": class, "users": users}, "%s: not in class %s any more", strings.Join(users, ", "), class)
}
