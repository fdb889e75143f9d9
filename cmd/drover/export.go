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
			userCommand("export", "write the gradebook of a class as CSV: a line a student, a column an assignment", "CLASS",
				"drover grades export --to cs101.csv --fill 0 cs101", slices.Concat([]cli.Flag{
					&cli.StringFlag{Name: "fill", Usage: "what stands where there is no score: `TEXT` such as 0"},
				}, fetchFlags(), waitFlags()), exportGrades),
		},
	}
}

func exportGrades(c *cli.Context, s *session) error {
	if err := freeTarget(c); err != nil {
		return err
	}
	class, err := s.class(c)
	if err != nil {
		return err
	}
	t, err := s.reg.StartGradebook(c.Context, s.actor, core.GradebookArgs{Class: class.Handle, Fill: c.String("fill")})
	return s.export(c, t, err)
}

func exportArchive(c *cli.Context, s *session) error {
	if err := freeTarget(c); err != nil {
		return err
	}
	as, err := s.assignment(c)
	if err != nil {
		return err
	}
	args := core.ArchiveArgs{Class: as.Class, Assignment: as.Handle, User: c.String("user"), Latest: c.Bool("latest")}
	t, err := s.reg.StartArchive(c.Context, s.actor, args)
	return s.export(c, t, err)
}

func exportScores(c *cli.Context, s *session) error {
	if err := freeTarget(c); err != nil {
		return err
	}
	as, err := s.assignment(c)
	if err != nil {
		return err
	}
	args := core.AssignmentCSVArgs{Class: as.Class, Assignment: as.Handle, Header: !c.Bool("no-header")}
	t, err := s.reg.StartAssignmentCSV(c.Context, s.actor, args)
	return s.export(c, t, err)
}

// export waits for a task and fetches the file that it made.
func (s *session) export(c *cli.Context, t core.Task, err error) error {
	if err != nil {
		return err
	}
	t, ended, err := s.started(c, t)
	if err != nil || !ended {
		return err
	}
	return s.fetchDownload(c, t.ID)
}
