package main

import (
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/core"
	"drover/core/classes"
)

func assignmentCommand() *cli.Command {
	user := &cli.StringFlag{Name: "user", Usage: "only what is of the user `HANDLE`"}
	return &cli.Command{
		Name: "assignment", Usage: "look at assignments and what was submitted, and set them", OnUsageError: usageError,
		Description: "An assignment is named CLASS/ASSIGNMENT, each by any part of its handle or title, as long as that is one only; mine/ASSIGNMENT looks in your own classes.",
		Subcommands: []*cli.Command{
			backendCommand("list", "list assignments, those that end last first", "[CLASS]", "drover assignment list cs101", []cli.Flag{
				&cli.BoolFlag{Name: "all", Usage: "also those that ended more than a week ago", DisableDefaultText: true}, zoneFlag(),
			}, listAssignments),
			backendCommand("show", "show an assignment, its dates and those of single users", "CLASS/ASSIGNMENT", "drover assignment show cs101/hw1", []cli.Flag{zoneFlag()}, showAssignment),
			backendCommand("add", "make an assignment; the handle is its name for ever in its class", "CLASS/HANDLE",
				`drover assignment add --title "First steps" --due "2026-12-01 23:59" --cutoff "2026-12-03 23:59" --harness harness/hw1 cs101/hw1`, assignmentFlags(), addAssignment),
			backendCommand("set", "change those settings of an assignment that are named", "CLASS/ASSIGNMENT", "drover assignment set --due +7d cs101/hw1", assignmentFlags(), setAssignment),
			backendCommand("remove", "delete an assignment with all that was submitted", "CLASS/HANDLE", "drover assignment remove cs101/hw1", waitFlags(), removeAssignment),
			backendCommand("harness", "set the program that grades what is submitted from now on, and say what its check found", "CLASS/ASSIGNMENT [DIR]",
				"drover assignment harness cs101/hw1 harness/hw1", []cli.Flag{
					&cli.BoolFlag{Name: "none", Usage: "take it away: what is submitted is kept and not graded", DisableDefaultText: true},
				}, setHarness),
			backendCommand("deadline", "give a user other dates, or list those that users have", "CLASS/ASSIGNMENT",
				`drover assignment deadline --user ann --due +3d --reason "was ill" cs101/hw1`, deadlineFlags(), assignmentDeadline),
			backendCommand("progress", "say how many have submitted, and how the scores are spread", "CLASS/ASSIGNMENT", "drover assignment progress cs101/hw1", nil, assignmentProgress),
			backendCommand("submissions", "list what was submitted, newest first", "CLASS/ASSIGNMENT", "drover assignment submissions --user ann cs101/hw1",
				slices.Concat([]cli.Flag{user, zoneFlag()}, pageFlags("before", "submission `ID`")), listAssignmentSubmissions),
			backendCommand("grade", "give a submission another score than its tests did", "CLASS/ASSIGNMENT USER [SCORE]",
				`drover assignment grade --reason "tested by hand" cs101/hw1 ann 9.5`, gradeFlags(), changeGrade),
			backendCommand("archive", "write a zip of what was submitted", "CLASS/ASSIGNMENT", "drover assignment archive --to hw1.zip cs101/hw1", slices.Concat([]cli.Flag{
				user, &cli.BoolFlag{Name: "latest", Usage: "only the newest of each user", DisableDefaultText: true},
			}, fetchFlags(), waitFlags()), exportArchive),
			backendCommand("csv", "write the scores as CSV, a line a student", "CLASS/ASSIGNMENT", "drover assignment csv --to hw1.csv cs101/hw1", slices.Concat([]cli.Flag{
				&cli.BoolFlag{Name: "no-header", Usage: "without the line of column names", DisableDefaultText: true},
			}, fetchFlags(), waitFlags()), exportScores),
			rerunCommand(),
		},
	}
}

// assignment is the one that an argument names.
func assignmentArg(c *cli.Context, d backend) (core.Assignment, error) {
	query, err := oneArg(c, "assignment, as CLASS/ASSIGNMENT")
	if err != nil {
		return core.Assignment{}, err
	}
	return d.FindAssignment(c.Context, query)
}

func listAssignments(c *cli.Context, d backend) error {
	if c.NArg() > 1 {
		return core.Errorf(core.CodeInvalid, "", "%s takes at most one class: see its --help", c.Command.HelpName)
	}
	at, err := zone(c)
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
	return page[classes.AssignmentEntry]{
		empty: "no assignments", header: table.Row{"assignment", "title", "due", "cutoff", "yours", ""},
		row: func(e *classes.AssignmentEntry) table.Row {
			return table.Row{e.Name(), clean(e.Title), shortMoment(e.Due, at), shortMoment(e.Cutoff, at), e.Progress, stageOf(*e)}
		},
	}.print(c, all)
}

// assignments lists those of the class that an argument names, or of all that the actor is
// in; the operator, who is in none, sees those of every class.
func assignmentsOf(c *cli.Context, d backend) (all []classes.AssignmentEntry, left int, err error) {
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

// classes are the handles of those that the actor is in; of all for one who is in none.
func ownClasses(c *cli.Context, d backend) ([]string, error) {
	var own, all []string
	for after := ""; ; {
		some, err := d.ListClasses(c.Context, after, mostRows)
		if err != nil {
			return nil, err
		}
		for _, one := range some {
			if after = one.Handle; one.Role != "" {
				own = append(own, after)
			}
			all = append(all, after)
		}
		if len(some) < mostRows {
			break
		}
	}
	if len(own) > 0 {
		return own, nil
	}
	return all, nil
}

// stageOf is what is particular about an assignment.
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
