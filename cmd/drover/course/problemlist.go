package course

import (
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/school"
)

// listedProblem is an assignment with the package of which it was made.
type listedProblem struct {
	Assignment string `json:"assignment"`
	school.Origin
}

func listProblems(c *cli.Context, d access.Backend) error {
	if c.NArg() > 1 {
		return core.Errorf(core.CodeInvalid, "", "%s takes at most one class: see its --help", c.Command.HelpName)
	}
	all, left, err := assignmentsOf(c, d)
	if err != nil {
		return err
	}
	if left > 0 && !c.Bool("json") {
		defer sayLeftOut(c, left)
	}
	var found []listedProblem
	for i := range all {
		if h := all[i].Harness; h != nil && h.Problem != nil {
			found = append(found, listedProblem{all[i].Name(), *h.Problem})
		}
	}
	return terminal.Page[listedProblem]{
		Empty: "no assignments that were made of problem packages", Header: table.Row{"assignment", "problem", "format", "type", "tests", "time", "memory", "digest"},
		Row: func(p *listedProblem) table.Row {
			memory := "the pool's"
			if p.Memory > 0 {
				memory = terminal.Size(p.Memory)
			}
			const short = 12
			return table.Row{
				p.Assignment, terminal.Clean(p.Title), terminal.Clean(p.Format), terminal.Clean(p.Type), p.Tests, terminal.Millis(p.TimeMs), memory,
				terminal.Clean(p.Digest[:min(len(p.Digest), short)]),
			}
		},
	}.Print(c, found)
}
