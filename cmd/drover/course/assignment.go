package course

import (
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/task"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/classes"
	"drover/core/school"
)

// AssignmentCommand is drover assignment.
func AssignmentCommand() *cli.Command {
	user := &cli.StringFlag{Name: "user", Usage: "only those of the user `HANDLE`"}
	return &cli.Command{
		Name: "assignment", Usage: "list, create and change assignments", OnUsageError: terminal.UsageError,
		Description: "An assignment is named CLASS/ASSIGNMENT, each by any part of its handle or title, as long as that is one only; mine/ASSIGNMENT looks in your own classes.",
		Subcommands: append([]*cli.Command{
			access.BackendCommand("list", "list assignments, what is due next first", "[CLASS]", "drover assignment list cs101", []cli.Flag{
				&cli.BoolFlag{Name: "all", Usage: "also those that ended more than a week ago", DisableDefaultText: true}, terminal.ZoneFlag(),
			}, listAssignments),
			access.BackendCommand("show", "show an assignment, its dates and those of single users", "CLASS/ASSIGNMENT", "drover assignment show cs101/hw1", []cli.Flag{terminal.ZoneFlag()}, showAssignment),
			access.BackendCommand("add", "make an assignment; the handle is its name forever in its class", "CLASS/HANDLE",
				`drover assignment add --title "First steps" --due "2026-12-01 23:59" --cutoff "2026-12-03 23:59" --harness harness/hw1 cs101/hw1`, assignmentFlags(), addAssignment),
			access.BackendCommand("set", "change the named settings of an assignment", "CLASS/ASSIGNMENT", "drover assignment set --due +7d cs101/hw1", assignmentFlags(), setAssignment),
			access.BackendCommand("remove", "delete an assignment with all that was submitted", "CLASS/HANDLE", "drover assignment remove cs101/hw1", task.WaitFlags(), removeAssignment),
			access.BackendCommand("harness", "set the program that grades submissions from now on, and show the result of its check", "CLASS/ASSIGNMENT [DIR]",
				"drover assignment harness cs101/hw1 harness/hw1", []cli.Flag{
					&cli.BoolFlag{Name: "none", Usage: "remove it: submissions are kept and not graded", DisableDefaultText: true},
				}, setHarness),
			access.BackendCommand("files", "list the statements, samples and attachments, or write them to a folder", "CLASS/ASSIGNMENT",
				"drover assignment files --to sum cs101/sum", []cli.Flag{
					&cli.StringFlag{Name: "to", Usage: "write them to this new `FOLDER`"},
				}, assignmentFiles),
			access.BackendCommand("deadline", "give a user other dates, or list those that users have", "CLASS/ASSIGNMENT",
				`drover assignment deadline --user ann --due +3d --reason "was ill" cs101/hw1`, deadlineFlags(), assignmentDeadline),
			access.BackendCommand("progress", "show how many students have submitted, and the distribution of scores", "CLASS/ASSIGNMENT", "drover assignment progress cs101/hw1", nil, assignmentProgress),
			access.BackendCommand("submissions", "list what was submitted, newest first", "CLASS/ASSIGNMENT", "drover assignment submissions --user ann cs101/hw1",
				slices.Concat([]cli.Flag{user, askedFlag(), terminal.ZoneFlag()}, terminal.PageFlags("before", "submission `ID`")), listAssignmentSubmissions),
			access.BackendCommand("grade", "override the score of a submission", "CLASS/ASSIGNMENT USER [SCORE]",
				`drover assignment grade --reason "tested by hand" cs101/hw1 ann 9.5`, gradeFlags(), changeGrade),
			rerunCommand(),
		}, startCommands("assignment")...),
	}
}

// assignmentArg returns the assignment that an argument names.
func assignmentArg(c *cli.Context, d access.Backend) (school.Assignment, error) {
	query, err := terminal.OneArg(c, "assignment, as CLASS/ASSIGNMENT")
	if err != nil {
		return school.Assignment{}, err
	}
	return d.FindAssignment(c.Context, query)
}

func listAssignments(c *cli.Context, d access.Backend) error {
	if c.NArg() > 1 {
		return core.Errorf(core.CodeInvalid, "", "%s takes at most one class: see its --help", c.Command.HelpName)
	}
	at, err := terminal.Zone(c)
	if err != nil {
		return err
	}
	all, left, err := assignmentsOf(c, d)
	if err != nil {
		return err
	}
	if left > 0 && !c.Bool("json") {
		defer sayLeftOut(c, left)
	}
	return terminal.Page[classes.AssignmentEntry]{
		Empty: "no assignments", Header: table.Row{"assignment", "title", "due", "cutoff", "yours", ""},
		Row: func(e *classes.AssignmentEntry) table.Row {
			return table.Row{e.Name(), terminal.Clean(e.Title), terminal.ShortMoment(e.Due, at), terminal.ShortMoment(e.Cutoff, at), e.Progress, stageOf(*e)}
		},
	}.Print(c, all)
}

// assignmentsOf lists assignments of the class that an argument names, or of all classes of the actor; the operator,
// who is in none, sees those of every class.
func assignmentsOf(c *cli.Context, d access.Backend) (all []classes.AssignmentEntry, left int, err error) {
	f := classes.AssignmentFilter{All: c.Bool("all")}
	if c.NArg() == 1 {
		class, err := classArg(c, d)
		if err != nil {
			return nil, 0, err
		}
		f.Class = class.Handle
		return d.ListAssignments(c.Context, f)
	}
	own, err := ownClasses(c, d)
	for i := 0; err == nil && i < len(own); i++ {
		var some []classes.AssignmentEntry
		var out int
		f.Class = own[i]
		some, out, err = d.ListAssignments(c.Context, f)
		all, left = append(all, some...), left+out
	}
	return all, left, err
}

// ownClasses returns the handles of the actor's classes; of all classes for an actor who is in none.
func ownClasses(c *cli.Context, d access.Backend) ([]string, error) {
	var own, all []string
	for after := ""; ; {
		some, err := d.ListClasses(c.Context, after, terminal.MostRows)
		if err != nil {
			return nil, err
		}
		for _, one := range some {
			if after = one.Handle; one.Role != "" {
				own = append(own, after)
			}
			all = append(all, after)
		}
		if len(some) < terminal.MostRows {
			break
		}
	}
	if len(own) > 0 {
		return own, nil
	}
	return all, nil
}

// stageOf describes what is special about an assignment.
func stageOf(e classes.AssignmentEntry) string {
	switch {
	case e.Deleting:
		return deletingWord(true)
	case e.Hidden:
		return "hidden"
	case e.Extended:
		return "your own dates"
	case !e.Graded:
		return "not graded"
	}
	return ""
}
