package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/core"
	"drover/core/coursework"
)

func submissionCommand() *cli.Command {
	return &cli.Command{
		Name: "submission", Usage: "look at what was handed in", OnUsageError: usageError,
		Subcommands: []*cli.Command{
			userCommand("list", "list submissions, newest first: your own, or all where you teach", "[CLASS | CLASS/ASSIGNMENT]", "drover submission list --user ann cs101",
				slices.Concat([]cli.Flag{&cli.StringFlag{Name: "user", Usage: "only those of the user `HANDLE`"}, zoneFlag()}, pageFlags("before", "submission `ID`")), listSubmissions),
			userCommand("show", "show a submission and its report", "ID", "drover submission show 01j8x3k4", []cli.Flag{zoneFlag()}, showSubmission),
			userCommand("files", "list its files, or write them to a folder or a zip", "ID", "drover submission files --to hw1-ann 01j8x3k4", []cli.Flag{
				&cli.StringFlag{Name: "to", Usage: "write them to the new folder `PATH`"},
				&cli.StringFlag{Name: "zip", Usage: "write them as the new zip file `PATH`"},
			}, submissionFiles),
			userCommand("resubmit", "have it tested once more, as it is", "ID", "drover submission resubmit 01j8x3k4", []cli.Flag{
				&cli.BoolFlag{Name: "no-wait", Usage: "do not wait for the report", DisableDefaultText: true},
			}, resubmit),
			userCommand("cancel", "stop its tests", "ID", "drover submission cancel 01j8x3k4", nil, cancelSubmission),
		},
	}
}

func listAssignmentSubmissions(c *cli.Context, s *session) error {
	if _, err := oneArg(c, "assignment, as CLASS/ASSIGNMENT"); err != nil {
		return err
	}
	return listSubmissions(c, s)
}

func listSubmissions(c *cli.Context, s *session) error {
	at, err := zone(c)
	if err != nil {
		return err
	}
	limit, err := limitFlag(c)
	if err != nil {
		return err
	}
	filters, err := s.submissionFilters(c)
	if err != nil {
		return err
	}
	all := []coursework.SubmissionEntry{}
	for _, f := range filters {
		f.User, f.Before, f.Limit = c.String("user"), c.String("before"), limit
		some, err := s.reg.ListSubmissions(c.Context, s.actor, f)
		if err != nil {
			return err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(x, y coursework.SubmissionEntry) int { return strings.Compare(y.Submission.ID, x.Submission.ID) })
	all = all[:min(len(all), limit)]
	return page[coursework.SubmissionEntry]{
		empty: "no submissions", header: table.Row{"id", "assignment", "user", "handed in", "", "status", "score"},
		row: func(e *coursework.SubmissionEntry) table.Row {
			sub := e.Submission
			return table.Row{sub.ID, sub.Class + "/" + sub.Assignment, sub.User, shortMoment(sub.At, at), particulars(sub), e.Status, standingScore(e.Standing)}
		},
		cursor: "before", last: func(e *coursework.SubmissionEntry) string { return e.Submission.ID },
	}.print(c, all)
}

// submissionFilters says where to look: in what an argument names, or in every class of the actor's.
func (s *session) submissionFilters(c *cli.Context) ([]core.SubmissionFilter, error) {
	if c.NArg() > 1 {
		return nil, core.Errorf(core.CodeInvalid, "", "%s takes at most one class or assignment: see its --help", c.Command.HelpName)
	}
	if strings.Contains(c.Args().First(), "/") {
		as, err := s.assignment(c)
		return []core.SubmissionFilter{{Class: as.Class, Assignment: as.Handle}}, err
	}
	if c.NArg() == 1 {
		class, err := s.class(c)
		return []core.SubmissionFilter{{Class: class.Handle}}, err
	}
	var all []core.SubmissionFilter
	classes, err := s.classes(c)
	for _, class := range classes {
		all = append(all, core.SubmissionFilter{Class: class})
	}
	return all, err
}

// particulars are what is not usual about a submission.
func particulars(sub core.Submission) string {
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

func showSubmission(c *cli.Context, s *session) error {
	at, err := zone(c)
	if err != nil {
		return err
	}
	v, err := s.viewSubmission(c)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(c.App.Writer, v)
	}
	sub := v.Submission
	rows := []table.Row{
		{"submission", sub.ID},
		{"assignment", sub.Class + "/" + sub.Assignment},
		{"user", sub.User},
		{"handed in", showMoment(sub.At, at)},
		{"status", v.Status},
		{"score", standingScore(v.Standing)},
	}
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, table.Row{name, value})
		}
	}
	add("", particulars(sub))
	add("reason", clean(v.Reason))
	add("", v.Explanation)
	if sub.Grade != nil {
		add("graded by "+sub.Grade.By, clean(sub.Grade.Reason))
	}
	if v.Resubmit {
		add("once more", "drover submission resubmit "+sub.ID)
	}
	if err := printTable(c.App.Writer, "", table.Row{"", ""}, rows); err != nil || v.Result == nil {
		return err
	}
	fmt.Fprintln(c.App.Writer)
	return printReport(c.App.Writer, v.Result)
}

func (s *session) viewSubmission(c *cli.Context) (coursework.SubmissionView, error) {
	id, err := oneArg(c, "submission id")
	if err != nil {
		return coursework.SubmissionView{}, err
	}
	return s.reg.ViewSubmission(c.Context, s.actor, id)
}

func submissionFiles(c *cli.Context, s *session) error {
	v, err := s.viewSubmission(c)
	if err != nil {
		return err
	}
	files := v.Submission.Files
	if to := c.String("to"); to != "" {
		if err := fetch(c.Context, s.blobs, files, to); err != nil {
			return err
		}
	}
	if to := c.String("zip"); to != "" {
		if err := s.writeZip(c, v.Submission.ID, to); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		return printJSON(c.App.Writer, orEmpty(files))
	}
	rows := make([]table.Row, len(files))
	for i, f := range files {
		rows[i] = table.Row{clean(f.Path), size(f.Size), f.Digest}
	}
	return printTable(c.App.Writer, "no files", table.Row{"file", "size", "digest"}, rows)
}

// writeZip writes a submission as a new zip file, whole or not at all.
func (s *session) writeZip(c *cli.Context, id, to string) (err error) {
	z, err := s.reg.OpenZip(c.Context, s.actor, id)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return core.Errorf(core.CodeConflict, to, "%s is there already: name another file", to)
	}
	if err != nil {
		return core.Wrap(err, core.CodeInvalid, to, "the file %s cannot be written", to)
	}
	if err = errors.Join(z.Write(c.Context, out), out.Close()); err != nil {
		err = errors.Join(err, os.Remove(to))
	}
	return err
}

func resubmit(c *cli.Context, s *session) error {
	id, err := oneArg(c, "submission id")
	if err != nil {
		return err
	}
	if err := s.reg.Resubmit(c.Context, s.actor, id); err != nil {
		return err
	}
	v, err := s.reg.ViewSubmission(c.Context, s.actor, id)
	if err != nil {
		return err
	}
	return s.awaitReport(c, v.Submission)
}

func cancelSubmission(c *cli.Context, s *session) error {
	id, err := oneArg(c, "submission id")
	if err != nil {
		return err
	}
	state, err := s.reg.CancelSubmission(c.Context, s.actor, id)
	if err != nil {
		return err
	}
	return say(c, map[string]any{"id": id, "state": state}, "the tests of submission %s are %s", id, state)
}
