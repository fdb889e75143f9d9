package course

import (
	"math"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/classes"
	"drover/core/school"
)

func gradeFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "reason", Usage: "why, for the record: `TEXT`; must be given"},
		&cli.StringFlag{Name: "max", Usage: "the maximum, in `POINTS`", DefaultText: "as the tests say"},
		&cli.StringFlag{Name: "submission", Usage: "of submission `ID`", DefaultText: "the user's newest"},
		&cli.BoolFlag{Name: "none", Usage: "remove the grade that a person gave: the tests' score counts again", DisableDefaultText: true},
	}
}

func changeGrade(c *cli.Context, d access.Backend) error {
	change := classes.GradeChange{Submission: c.String("submission"), Reason: c.String("reason")}
	what := []string{"the assignment", "the user", "the score"}
	if c.Bool("none") {
		what = what[:2]
	}
	args, err := terminal.ExactArgs(c, what...)
	if err != nil {
		return err
	}
	if !c.Bool("none") {
		if change.Score, err = pointsArg("the score", args[2]); err != nil {
			return err
		}
	}
	if c.IsSet("max") {
		if change.MaxScore, err = pointsArg("--max", c.String("max")); err != nil {
			return err
		}
	}
	as, err := d.FindAssignment(c.Context, args[0])
	if err != nil {
		return err
	}
	change.Class, change.Assignment, change.User = as.Class, as.Handle, args[1]
	now, err := d.ChangeGrade(c.Context, change)
	if err != nil {
		return err
	}
	return terminal.Say(c, now, "%s has %s for %s (submission %s)", args[1], standingScore(now), as.Name(), now.Submission.ID)
}

// pointsArg reads a number of points.
func pointsArg(what, text string) (*float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return nil, core.Errorf(core.CodeInvalid, text, "%s %.40q is no number of points: write one such as 9.5", what, text)
	}
	return &n, nil
}

// standingScore formats the score that counts, with its maximum.
func standingScore(s school.Standing) string {
	if s.Score == nil {
		return "no score"
	}
	if s.MaxScore == nil {
		return terminal.Points(s.Score)
	}
	return terminal.Points(s.Score) + " / " + terminal.Points(s.MaxScore)
}

// outcomeWord writes an outcome for people.
func outcomeWord(o core.ResultOutcome) string { return strings.ReplaceAll(string(o), "_", " ") }
