package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"drover/core"
)

func gradesCommand() *cli.Command {
	return &cli.Command{
		Name: "grades", Usage: "take the grades of a class elsewhere", OnUsageError: usageError,
		Subcommands: []*cli.Command{
			backendCommand("export", "write the gradebook of a class as CSV: a line a student, a column an assignment", "CLASS",
				"drover grades export --to cs101.csv --fill 0 cs101", slices.Concat([]cli.Flag{
					&cli.StringFlag{Name: "fill", Usage: "what stands where there is no score: `TEXT` such as 0"},
				}, fetchFlags(), waitFlags()), exportGrades),
		},
	}
}

func exportGrades(c *cli.Context, d backend) error {
	if err := freeTarget(c); err != nil {
		return err
	}
	class, err := classArg(c, d)
	if err != nil {
		return err
	}
	t, err := d.StartGradebook(c.Context, core.GradebookArgs{Class: class.Handle, Fill: c.String("fill")})
	return exported(c, d, t, err)
}

func exportArchive(c *cli.Context, d backend) error {
	if err := freeTarget(c); err != nil {
		return err
	}
	as, err := assignmentArg(c, d)
	if err != nil {
		return err
	}
	args := core.ArchiveArgs{Class: as.Class, Assignment: as.Handle, User: c.String("user"), Latest: c.Bool("latest")}
	t, err := d.StartArchive(c.Context, args)
	return exported(c, d, t, err)
}

func exportScores(c *cli.Context, d backend) error {
	if err := freeTarget(c); err != nil {
		return err
	}
	as, err := assignmentArg(c, d)
	if err != nil {
		return err
	}
	args := core.AssignmentCSVArgs{Class: as.Class, Assignment: as.Handle, Header: !c.Bool("no-header")}
	t, err := d.StartAssignmentCSV(c.Context, args)
	return exported(c, d, t, err)
}

// export waits for a task and fetches the file that it made.
func exported(c *cli.Context, d backend, t core.Task, err error) error {
	if err != nil {
		return err
	}
	t, ended, err := started(c, d, t)
	if err != nil || !ended {
		return err
	}
	return fetchDownload(c, d, t.ID)
}
