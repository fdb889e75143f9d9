package course

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/request"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/classes"
	"drover/core/school"
)

// SubmissionCommand is drover submission.
func SubmissionCommand() *cli.Command {
	return &cli.Command{
		Name: "submission", Usage: "list and download submissions", OnUsageError: terminal.UsageError,
		Subcommands: append(commentCommands(),
			access.BackendCommand("list", "list submissions, newest first: your own, or all where you teach", "[CLASS | CLASS/ASSIGNMENT]", "drover submission list --user ann cs101",
				slices.Concat([]cli.Flag{&cli.StringFlag{Name: "user", Usage: "only those of the user `HANDLE`"}, askedFlag(), terminal.ZoneFlag()}, terminal.PageFlags("before", "submission `ID`")), listSubmissions),
			access.BackendCommand("missing", "list the students who have submitted nothing, with the dates that count for each", "CLASS/ASSIGNMENT", "drover submission missing cs101/hw1",
				slices.Concat([]cli.Flag{terminal.ZoneFlag()}, terminal.PageFlags("after", "user `HANDLE`")), listMissing),
			access.BackendCommand("show", "show a submission and its report", "ID", "drover submission show 01j8x3k4", []cli.Flag{terminal.ZoneFlag()}, showSubmission),
			access.BackendCommand("files", "list its files, or write them to a folder or a zip", "ID", "drover submission files --to hw1-ann 01j8x3k4", []cli.Flag{
				&cli.StringFlag{Name: "to", Usage: "write them to the new folder `PATH`"},
				&cli.StringFlag{Name: "zip", Usage: "write them as the new zip file `PATH`"},
			}, submissionFiles),
			access.BackendCommand("resubmit", "test it again, unchanged", "ID", "drover submission resubmit 01j8x3k4", []cli.Flag{
				&cli.BoolFlag{Name: "no-wait", Usage: "do not wait for the report", DisableDefaultText: true},
			}, resubmit),
			access.BackendCommand("cancel", "stop its tests", "ID", "drover submission cancel 01j8x3k4", nil, cancelSubmission),
		),
	}
}

func askedFlag() cli.Flag {
	return &cli.BoolFlag{Name: "asked", Usage: "only those with a question that has no answer", DisableDefaultText: true}
}

func listAssignmentSubmissions(c *cli.Context, d access.Backend) error {
	if _, err := terminal.OneArg(c, "assignment, as CLASS/ASSIGNMENT"); err != nil {
		return err
	}
	return listSubmissions(c, d)
}

func listSubmissions(c *cli.Context, d access.Backend) error {
	at, err := terminal.Zone(c)
	if err != nil {
		return err
	}
	limit, err := terminal.LimitFlag(c)
	if err != nil {
		return err
	}
	filters, err := submissionFilters(c, d)
	if err != nil {
		return err
	}
	all := []classes.SubmissionEntry{}
	for _, f := range filters {
		f.User, f.Asked, f.Before, f.Limit = c.String("user"), c.Bool("asked"), c.String("before"), limit
		some, err := d.ListSubmissions(c.Context, f)
		if err != nil {
			return err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(x, y classes.SubmissionEntry) int { return strings.Compare(y.Submission.ID, x.Submission.ID) })
	all = all[:min(len(all), limit)]
	return terminal.Page[classes.SubmissionEntry]{
		Empty: "no submissions", Header: table.Row{"id", "assignment", "user", "submitted", "", "outcome", "score"},
		Row: func(e *classes.SubmissionEntry) table.Row {
			sub := e.Submission
			return table.Row{sub.ID, sub.Class + "/" + sub.Assignment, sub.User, terminal.ShortMoment(sub.At, at), particulars(sub), outcomeWord(e.Outcome), standingScore(e.Standing)}
		},
		Cursor: "before", Last: func(e *classes.SubmissionEntry) string { return e.Submission.ID },
	}.Print(c, all)
}

func listMissing(c *cli.Context, d access.Backend) error {
	at, err := terminal.Zone(c)
	if err != nil {
		return err
	}
	limit, err := terminal.LimitFlag(c)
	if err != nil {
		return err
	}
	as, err := assignmentArg(c, d)
	if err != nil {
		return err
	}
	all, err := d.Missing(c.Context, as.Class, as.Handle, c.String("after"), limit)
	if err != nil {
		return err
	}
	return terminal.Page[classes.Absence]{
		Empty: "everybody has submitted something for " + as.Name(), Header: table.Row{"user", "name", "e-mail", "due", "cutoff"},
		Row: func(one *classes.Absence) table.Row {
			return table.Row{one.User, terminal.Clean(one.Name), terminal.Clean(one.Email), terminal.ShortMoment(one.Due, at), terminal.ShortMoment(one.Cutoff, at)}
		},
		Cursor: "after", Last: func(one *classes.Absence) string { return one.User },
	}.Print(c, all)
}

// submissionFilters returns where to search: in what an argument names, or in every class of the actor.
func submissionFilters(c *cli.Context, d access.Backend) ([]school.SubmissionFilter, error) {
	if c.NArg() > 1 {
		return nil, core.Errorf(core.CodeInvalid, "", "%s takes at most one class or assignment: see its --help", c.Command.HelpName)
	}
	if strings.Contains(c.Args().First(), "/") {
		as, err := assignmentArg(c, d)
		return []school.SubmissionFilter{{Class: as.Class, Assignment: as.Handle}}, err
	}
	if c.NArg() == 1 {
		class, err := classArg(c, d)
		return []school.SubmissionFilter{{Class: class.Handle}}, err
	}
	var all []school.SubmissionFilter
	classes, err := ownClasses(c, d)
	for _, class := range classes {
		all = append(all, school.SubmissionFilter{Class: class})
	}
	return all, err
}

// particulars describes what is unusual about a submission.
func particulars(sub school.Submission) string {
	var words []string
	if sub.Kind != "public" {
		words = append(words, sub.Kind)
	}
	if sub.Late {
		words = append(words, "late")
	}
	if sub.By != "" {
		words = append(words, "by "+sub.By)
	}
	if sub.Grade != nil {
		words = append(words, "graded by "+sub.Grade.By)
	}
	return strings.Join(words, ", ")
}

func showSubmission(c *cli.Context, d access.Backend) error {
	at, err := terminal.Zone(c)
	if err != nil {
		return err
	}
	v, err := submissionArg(c, d)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, v)
	}
	sub := v.Submission
	rows := []table.Row{
		{"submission", sub.ID},
		{"assignment", sub.Class + "/" + sub.Assignment},
		{"user", sub.User},
		{"submitted", terminal.ShowMoment(sub.At, at)},
		{"outcome", outcomeWord(v.Outcome)},
		{"status", v.Status},
		{"score", standingScore(v.Standing)},
	}
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, table.Row{name, value})
		}
	}
	add("", particulars(sub))
	if from := sub.Source; from != nil {
		add("fetched from", terminal.Clean(strings.TrimSpace(from.Address+" "+from.Ref)))
		add("commit", from.Commit)
	}
	add("reason", terminal.Clean(v.Reason))
	add("", v.Explanation)
	if sub.Grade != nil {
		add("graded by "+sub.Grade.By, terminal.Clean(sub.Grade.Reason))
	}
	if v.Resubmit {
		add("once more", "drover submission resubmit "+sub.ID)
	}
	if err := terminal.PrintTable(c.App.Writer, "", table.Row{"", ""}, rows); err != nil || v.Result == nil {
		return err
	}
	fmt.Fprintln(c.App.Writer)
	return request.PrintReport(c.App.Writer, v.Result)
}

func submissionArg(c *cli.Context, d access.Backend) (classes.SubmissionView, error) {
	id, err := terminal.OneArg(c, "submission id")
	if err != nil {
		return classes.SubmissionView{}, err
	}
	return d.ViewSubmission(c.Context, id)
}

func submissionFiles(c *cli.Context, d access.Backend) error {
	v, err := submissionArg(c, d)
	if err != nil {
		return err
	}
	files := v.Submission.Files
	if to := c.String("to"); to != "" {
		open := func(ctx context.Context, f core.File) (io.ReadCloser, error) {
			_, content, err := d.OpenFile(ctx, v.Submission.ID, f.Path)
			return content, err
		}
		if err := request.Fetch(c.Context, open, files, to); err != nil {
			return err
		}
	}
	if to := c.String("zip"); to != "" {
		if err := writeZip(c, d, v.Submission.ID, to); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, terminal.OrEmpty(files))
	}
	rows := make([]table.Row, len(files))
	for i, f := range files {
		rows[i] = table.Row{terminal.Clean(f.Path), terminal.Size(f.Size), f.Digest}
	}
	return terminal.PrintTable(c.App.Writer, "no files", table.Row{"file", "size", "digest"}, rows)
}

// writeZip writes a submission as a new zip file, atomically.
func writeZip(c *cli.Context, d access.Backend, id, to string) (err error) {
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return core.Errorf(core.CodeConflict, to, "%s is there already: name another file", to)
	}
	if err != nil {
		return core.Wrap(err, core.CodeInvalid, to, "the file %s cannot be written", to)
	}
	if err = errors.Join(d.WriteZip(c.Context, id, out), out.Close()); err != nil {
		err = errors.Join(err, os.Remove(to))
	}
	return err
}

func resubmit(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "submission id")
	if err != nil {
		return err
	}
	if err := d.Resubmit(c.Context, id); err != nil {
		return err
	}
	v, err := d.ViewSubmission(c.Context, id)
	if err != nil {
		return err
	}
	return request.AwaitReport(c, d, v.Submission)
}

func cancelSubmission(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "submission id")
	if err != nil {
		return err
	}
	state, err := d.CancelSubmission(c.Context, id)
	if err != nil {
		return err
	}
	return terminal.Say(c, map[string]any{"id": id, "state": state}, "the tests of submission %s are %s", id, state)
}
