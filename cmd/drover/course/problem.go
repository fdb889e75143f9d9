package course

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/harness/problem"
)

// ProblemCommand is drover problem.
func ProblemCommand() *cli.Command {
	limitFlags := func(more ...cli.Flag) []cli.Flag {
		return append([]cli.Flag{
			&cli.DurationFlag{Name: "time", Usage: "the limit of a test's processor `TIME`, such as 2s", DefaultText: "the package's"},
			&cli.StringFlag{Name: "memory", Usage: "the limit of a test's memory, a `SIZE` such as 1G", DefaultText: "the package's"},
		}, more...)
	}
	return &cli.Command{
		Name: "problem", Usage: "problem packages of Kattis, ICPC and Polygon", OnUsageError: terminal.UsageError,
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list assignments that were made of packages", UsageText: "drover problem list [flags] [CLASS]", OnUsageError: terminal.UsageError,
				Description: "Of a class, or of all of yours.\n\nExample: drover problem list cs101",
				Flags: terminal.WithSettings([]cli.Flag{
					&cli.BoolFlag{Name: "all", Usage: "also assignments that ended more than a week ago"}, access.AsFlag(), terminal.JSONFlag(),
				}, "client"),
				Action: access.WithBackend(listProblems),
			},
			{
				Name: "show", Usage: "show what a package has, and what drover cannot judge of it", UsageText: "drover problem show [flags] DIR", OnUsageError: terminal.UsageError,
				Flags:  terminal.WithSettings(limitFlags(terminal.JSONFlag())),
				Action: func(c *cli.Context) error { return withProblem(c, showProblem) },
			},
			{
				Name: "verify", Usage: "grade a package's own submissions, and compare with what it expects", UsageText: "drover problem verify [flags] DIR", OnUsageError: terminal.UsageError,
				Description: "Grades on a cluster that lives only for this command, or on the running one with --pool. Exits with 1 if a\n" +
					"submission ends otherwise than the package says.\n\nExample: drover problem verify problems/hello",
				Flags: terminal.WithSettings(limitFlags(access.AsFlag(), terminal.JSONFlag(),
					&cli.StringFlag{Name: "pool", Usage: "grade in VMs of `POOL` of the running cluster"},
				), "client"),
				Action: func(c *cli.Context) error { return withProblem(c, verifyProblem) },
			},
			{
				Name: "import", Usage: "make an assignment of a package, or update one", UsageText: "drover problem import [flags] DIR CLASS/HANDLE", OnUsageError: terminal.UsageError,
				Description: "Example: drover problem import problems/hello cs101/hello",
				Flags: terminal.WithSettings(limitFlags(access.AsFlag(), terminal.JSONFlag(),
					&cli.StringFlag{Name: "pool", Usage: "grade in VMs of `POOL`", DefaultText: "of a new assignment: " + access.DefaultPool},
				), "client"),
				Action: func(c *cli.Context) error { return withProblem(c, importProblem) },
			},
		},
	}
}

// withProblem opens the package that the first argument names, with the limits of --time and --memory.
func withProblem(c *cli.Context, action func(*cli.Context, *problem.Problem) error) (err error) {
	if c.NArg() == 0 {
		return core.Errorf(core.CodeInvalid, "", "which package? %s", c.Command.UsageText)
	}
	p, err := problem.Open(c.Args().First())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if c.IsSet("time") {
		if p.Limits.Time = c.Duration("time"); p.Limits.Time <= 0 || p.Limits.Time > time.Hour {
			return core.Errorf(core.CodeInvalid, "time", "--time %s must be above 0 and at most 1h", p.Limits.Time)
		}
	}
	if err := terminal.SizeFlag(c, "memory", &p.Limits.Memory); err != nil {
		return err
	}
	return action(c, p)
}

// shownProblem is a package in the output of --json.
type shownProblem struct {
	Title       string         `json:"title"`
	Format      string         `json:"format"`
	Type        string         `json:"type"`
	Judging     string         `json:"judging"`
	TimeMs      int64          `json:"time_ms"` // 0: to be measured
	Memory      int64          `json:"memory_bytes"`
	Output      int64          `json:"output_bytes"`
	Groups      []shownGroup   `json:"groups"`
	Submissions map[string]int `json:"submissions"` // by what is expected
	Refused     []string       `json:"refused"`
	Notes       []string       `json:"notes"`
}

type shownGroup struct {
	Name   string   `json:"name"`
	Tests  int      `json:"tests"`
	Points float64  `json:"points"`
	Whole  bool     `json:"whole"` // all of the points or none
	Needs  []string `json:"needs,omitempty"`
}

func shownOf(p *problem.Problem) shownProblem {
	s := shownProblem{
		Title: p.Title, Format: p.Format, Type: p.Type(), Judging: "the default output validator",
		TimeMs: p.Limits.Time.Milliseconds(), Memory: p.Limits.Memory, Output: p.Limits.Output,
		Submissions: map[string]int{}, Refused: notes(p.Refused), Notes: notes(p.Notes),
	}
	if p.Validator != "" {
		s.Judging = "output validator " + p.Validator
	}
	if p.Interactive {
		s.Judging = "interactive, by " + p.Validator
	}
	if p.Passes > 0 {
		s.Judging += fmt.Sprintf(", in up to %d passes", p.Passes)
	}
	if p.Static != "" {
		s.Judging += ", after " + p.Static
	}
	for i := range p.Groups {
		g := &p.Groups[i]
		one := shownGroup{Name: g.Name, Tests: len(g.Tests), Whole: g.Points != nil, Needs: g.Needs}
		for _, t := range g.Tests {
			one.Points += t.Points
		}
		if g.Points != nil {
			one.Points = *g.Points
		}
		s.Groups = append(s.Groups, one)
	}
	for i := range p.Submissions {
		s.Submissions[wanted(&p.Submissions[i])]++
	}
	return s
}

func notes(all []problem.Note) []string {
	texts := make([]string, len(all))
	for i, n := range all {
		texts[i] = n.String()
	}
	return texts
}

// wanted is what a submission's package expects, in words.
func wanted(s *problem.Submission) string {
	var all []string
	if len(s.Wanted) > 0 {
		all = append(all, problem.Either(s.Wanted))
	}
	for i := range s.Expected {
		if text := s.Expected[i].String(); text != "" {
			all = append(all, text)
		}
	}
	if len(all) == 0 {
		return "anything"
	}
	return strings.Join(all, "; ")
}

func showProblem(c *cli.Context, p *problem.Problem) error {
	p.Plan()
	s := shownOf(p)
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, s)
	}
	out := c.App.Writer
	limit := "to be measured"
	if s.TimeMs > 0 {
		limit = terminal.Millis(s.TimeMs)
	}
	memory := "the pool's"
	if s.Memory > 0 {
		memory = terminal.Size(s.Memory)
	}
	head := fmt.Sprintf("%s: %s, format %s; %s\ntime %s, memory %s, output %s; %d submissions\n",
		s.Title, s.Type, s.Format, s.Judging, limit, memory, terminal.Size(s.Output), len(p.Submissions))
	if _, err := fmt.Fprint(out, terminal.Clean(head)); err != nil {
		return err
	}
	rows := make([]table.Row, len(s.Groups))
	for i, g := range s.Groups {
		how := "by test"
		if g.Whole {
			how = "all or none"
		}
		rows[i] = table.Row{terminal.Clean(g.Name), g.Tests, terminal.Points(&g.Points), how, terminal.Clean(strings.Join(g.Needs, ", "))}
	}
	if err := terminal.PrintTable(out, "", table.Row{"group", "tests", "points", "awarded", "needs"}, rows); err != nil {
		return err
	}
	return printNotes(c, p)
}

// printNotes prints what is refused, and what does not carry over.
func printNotes(c *cli.Context, p *problem.Problem) error {
	for _, n := range p.Refused {
		if _, err := fmt.Fprintln(c.App.Writer, "refused: "+terminal.Clean(n.String())); err != nil {
			return err
		}
	}
	for _, n := range p.Notes {
		if _, err := fmt.Fprintln(c.App.Writer, "note: "+terminal.Clean(n.String())); err != nil {
			return err
		}
	}
	return nil
}
